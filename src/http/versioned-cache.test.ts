import { expect, test } from 'vitest'
import { keptOrInTurn, openReadModelVersion, openTurns, openVersionedCache } from './cached-reads.ts'

/** A read model whose version and engine a test turns by hand. */
function open(options: { maxBytes?: number; keeps?: (value: { text: string }) => boolean } = {}) {
  const state = { version: 'v1', looks: 0 }
  const source = {
    version: async () => {
      state.looks++
      return state.version
    },
  }
  const cache = openVersionedCache<{ text: string }>({
    readModel: openReadModelVersion(source, { ttlMs: 0 }),
    maxBytes: 1024 * 1024,
    sizeOf: ({ text }) => text.length,
    ...options,
  })
  let loads = 0
  const load = (text: string) => async () => {
    loads++
    return { text }
  }
  return { state, source, cache, load, loads: () => loads }
}

test('a value is loaded once for its version, and again for the next', async () => {
  const { state, cache, load, loads } = open()
  expect(await cache.getOrLoad('a', load('one'))).toEqual({ value: { text: 'one' }, version: 'v1' })
  expect(await cache.getOrLoad('a', load('two'))).toEqual({ value: { text: 'one' }, version: 'v1' })
  expect(loads()).toBe(1)
  state.version = 'v2'
  expect(await cache.getOrLoad('a', load('three'))).toEqual({ value: { text: 'three' }, version: 'v2' })
})

test('those who wait for one key share a load, unless they ask not to', async () => {
  const { cache, load, loads } = open()
  await Promise.all([cache.getOrLoad('a', load('x')), cache.getOrLoad('a', load('x'))])
  expect(loads()).toBe(1)
  const alone = { shared: false }
  await Promise.all([cache.getOrLoad('b', load('x'), alone), cache.getOrLoad('b', load('x'), alone)])
  expect(loads()).toBe(3)
})

test('the memory is bounded, and a value that may not be kept is loaded each time', async () => {
  const small = open({ maxBytes: 4_096 })
  for (let n = 0; n < 50; n++) await small.cache.getOrLoad(`key ${n}`, small.load('x'.repeat(500)))
  await small.cache.getOrLoad('key 0', small.load('x'))
  expect(small.loads()).toBe(51)
  const unkept = open({ keeps: ({ text }) => text !== 'once' })
  for (let n = 0; n < 3; n++) await unkept.cache.getOrLoad('a', unkept.load('once'))
  expect(unkept.loads()).toBe(3)
})

test('a version is believed for its lifetime', async () => {
  const { state, source } = open()
  const version = openReadModelVersion(source, { ttlMs: 60_000 })
  expect(await version()).toBe('v1')
  state.version = 'v2'
  expect(version()).toBe('v1')
  expect(state.looks).toBe(1)
})

test('many who wait for the version cause one look-up', async () => {
  const { state, source } = open()
  const version = openReadModelVersion(source)
  expect(await Promise.all([version(), version(), version()])).toEqual(['v1', 'v1', 'v1'])
  expect(state.looks).toBe(1)
})

test('a reader never waits for a look-up that runs, and gets its result from then on', async () => {
  const looks: ((version: string) => void)[] = []
  const source = { version: () => new Promise<string>((resolve) => looks.push(resolve)) }
  let now = 0
  const readModel = openReadModelVersion(source, { ttlMs: 1_000, clock: () => now })
  const first = readModel()
  looks[0]!('v1')
  expect(await first).toBe('v1')
  now = 1_000
  // The look-up hangs: the database is busy.
  expect([readModel(), readModel(), looks.length]).toEqual(['v1', 'v1', 2])
  looks[1]!('v2')
  await expect.poll(() => readModel()).toBe('v2')
})

test('a version that is six lifetimes old is not returned', async () => {
  let now = 0
  const readModel = openReadModelVersion({ version: async () => 'v1' }, { ttlMs: 1_000, clock: () => now })
  await readModel()
  now = 5_999
  expect(readModel()).toBe('v1')
  now = 6_000
  expect(readModel()).toBeInstanceOf(Promise)
})

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
