import { expect, test } from 'vitest'
import { openSharedLookup } from './shared-lookup.ts'

/** A look-up whose answers the test gives. */
function lookupByHand() {
  const asked: PromiseWithResolvers<string>[] = []
  const look = () => {
    const one = Promise.withResolvers<string>()
    asked.push(one)
    return one.promise
  }
  return { asked, look }
}

test('callers who come while a look-up runs share the next one, never the one that began before them', async () => {
  const lookup = openSharedLookup<string>()
  const { asked, look } = lookupByHand()
  const first = lookup('a', look)
  const late = Array.from({ length: 100 }, () => lookup('a', look))
  const other = lookup('b', look)
  expect(asked).toHaveLength(2)
  asked[0]!.resolve('old')
  expect(await first).toBe('old')
  await expect.poll(() => asked.length).toBe(3)
  const later = lookup('a', look)
  asked[2]!.resolve('new')
  expect(new Set(await Promise.all(late))).toEqual(new Set(['new']))
  await expect.poll(() => asked.length).toBe(4)
  asked[3]!.resolve('newest')
  asked[1]!.resolve('b')
  expect([await later, await other]).toEqual(['newest', 'b'])
})

test('a look-up that fails, fails for those who share it only, and the next one runs', async () => {
  const lookup = openSharedLookup<string>()
  const { asked, look } = lookupByHand()
  const first = lookup('a', look)
  const second = lookup('a', look)
  asked[0]!.reject(new Error('gone'))
  await expect(first).rejects.toThrow('gone')
  await expect.poll(() => asked.length).toBe(2)
  asked[1]!.resolve('there')
  expect(await second).toBe('there')
  const third = lookup('a', look)
  expect(asked).toHaveLength(3)
  asked[2]!.resolve('again')
  expect(await third).toBe('again')
})
