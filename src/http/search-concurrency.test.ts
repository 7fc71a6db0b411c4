import { expect, test } from 'vitest'
import { keptOrInTurn, openTurns } from './search-concurrency.ts'
import { openReadModelVersion, openVersionedCache } from './versioned-cache.ts'

test('one address runs a few searches at a time, and another is next however many of the first wait', async () => {
  const takeTurn = openTurns({ ofOne: 2 })
  const running: string[] = []
  const order: string[] = []
  const ends = new Map<string, () => void>()
  const search = (address: string, name: string) =>
    takeTurn(address, async () => {
      running.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
      order.push(name)
    })
  const all = Array.from({ length: 6 }, (_, n) => search('192.0.2.1', `a${n}`))
  const other = search('192.0.2.2', 'b')
  await expect.poll(() => running).toEqual(['a0', 'a1', 'b'])
  ends.get('b')!()
  await other
  for (let n = 0; n < 6; n++) {
    await expect.poll(() => ends.has(`a${n}`)).toBe(true)
    expect(running.length - order.length).toBeLessThanOrEqual(2)
    ends.get(`a${n}`)!()
  }
  await Promise.all(all)
  expect(order).toEqual(['b', 'a0', 'a1', 'a2', 'a3', 'a4', 'a5'])
})

test('who asks for what another address has asked for does not wait behind its queue', async () => {
  const takeTurn = openTurns({ ofOne: 1 })
  const kept = openVersionedCache<object>({
    readModel: openReadModelVersion({ version: async () => '1' }),
    maxBytes: 1_000_000,
  })
  const slow = Promise.withResolvers<object>()
  let loads = 0
  const ask = (subject: string, key: string, load: () => Promise<object>) =>
    keptOrInTurn({ kept, takeTurn }, { key, subject }, load)
  const load = async () => ({ n: ++loads })
  const first = ask('192.0.2.1', 'slow', () => slow.promise)
  const queued = ask('192.0.2.1', 'terminal', load)
  const other = await ask('192.0.2.2', 'terminal', load)
  expect(other.value).toEqual({ n: 1 })
  // Who joins a load that runs takes no turn from its own searches.
  const joined = ask('192.0.2.2', 'slow', async () => ({ n: 'never' }))
  await ask('192.0.2.2', 'editor', load)
  slow.resolve({ n: 'slow' })
  expect([await first, await joined].map(({ value }) => value)).toEqual([{ n: 'slow' }, { n: 'slow' }])
  expect((await queued).value).toEqual({ n: 1 })
})
