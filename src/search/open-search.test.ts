import { pino } from 'pino'
import { expect, test } from 'vitest'
import { AppError } from '../errors.ts'
import type { FrameQuery, LibrarySearch } from './library-search.ts'
import { type ResilientOptions, resilientSearch } from './open-search.ts'

const logger = pino({ level: 'silent' })
const query: FrameQuery = {
  filters: {},
  q: 'kite',
  sort: 'relevance',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
}

function engine(name: 'postgres' | 'meilisearch', frames: LibrarySearch['frames'], probe = async () => {}) {
  const handles = { search: () => true, frames: ({ sort }: FrameQuery) => sort === 'relevance' }
  return {
    engine: name,
    frames,
    probe,
    handles,
    version: async () => '7',
  } as unknown as ResilientOptions['primary']
}

function setUp() {
  const state = { time: 0, down: false, hang: false, probes: 0, asked: 0 }
  const primary = engine(
    'meilisearch',
    async () => {
      state.asked++
      if (state.hang) await new Promise(() => {})
      if (state.down) throw new Error('connection refused')
      return { frames: [], total: 1 }
    },
    async () => {
      state.probes++
      if (state.down || state.hang) throw new Error('still down')
    },
  )
  const search = resilientSearch({
    primary,
    fallback: engine('postgres', async () => ({ frames: [], total: 2 })),
    logger,
    patienceMs: 20,
    now: () => state.time,
  })
  return { state, search, total: async () => (await search.frames(query)).total }
}

test('the first engine answers while it can; the second at once when it fails, and the version tells', async () => {
  const { state, search, total } = setUp()
  expect(await total()).toBe(1)
  expect([search.engine, await search.version()]).toEqual(['meilisearch', 'm7'])
  state.down = true
  expect(await total()).toBe(2)
  expect([search.engine, await search.version()]).toEqual(['postgres', 'p7'])
  for (let n = 0; n < 5; n++) expect(await total()).toBe(2)
  expect(state.asked).toBe(2)
})

test('it comes back on its own, after rests that grow, and no request waits for the trial', async () => {
  const { state, search, total } = setUp()
  state.down = true
  await total()
  state.time = 999
  await total()
  expect(state.probes).toBe(0)
  state.time = 1_001
  expect(await total()).toBe(2)
  await new Promise(setImmediate)
  expect(state.probes).toBe(1)
  state.down = false
  state.time = 1_500
  await total()
  expect(state.probes).toBe(1)
  state.time = 4_000
  expect(await total()).toBe(2)
  await new Promise(setImmediate)
  expect(search.engine).toBe('meilisearch')
  expect(await total()).toBe(1)
})

test('a bad request is no failure', async () => {
  const primary = engine('meilisearch', async () => {
    throw new AppError('invalid_request', 'too deep')
  })
  const search = resilientSearch({ primary, fallback: engine('postgres', async () => ({ frames: [] })), logger })
  await expect(search.frames(query)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(search.engine).toBe('meilisearch')
})

test('many that fail at once are one failure: it is back after the first rest', async () => {
  const { state, search, total } = setUp()
  state.hang = true
  await Promise.all(Array.from({ length: 10 }, () => total()))
  state.hang = false
  state.time = 1_001
  await total()
  await new Promise(setImmediate)
  expect(search.engine).toBe('meilisearch')
  expect(search.engineEpoch!()).toBe(2)
})

test('what the engine is not asked for may take its time and tells nothing of the engine', async () => {
  const { state, search } = setUp()
  state.hang = true
  expect((await search.frames({ ...query, sort: 'newest' })).total).toBe(2)
  expect([search.engine, state.asked]).toEqual(['meilisearch', 0])
})

/** A first engine whose next `late` questions are never answered, while it answers probes. */
function slowEngine() {
  const state = { late: 0, asked: 0 }
  const primary = engine('meilisearch', async () => {
    state.asked++
    if (state.late > 0) {
      state.late--
      await new Promise(() => {})
    }
    return { frames: [], total: 1 }
  })
  const fallback = engine('postgres', async () => ({ frames: [], total: 2 }))
  const clock = { time: 0 }
  const search = resilientSearch({ primary, fallback, logger, patienceMs: 20, now: () => clock.time })
  return { state, clock, search, total: async () => (await search.frames(query)).total }
}

test('one late answer costs only its own question, whose result fits no version', async () => {
  const { state, search, total } = slowEngine()
  const before = search.engineEpoch!()
  state.late = 1
  expect(await total()).toBe(2)
  expect(search.engine).toBe('meilisearch')
  expect(search.engineEpoch!()).toBeGreaterThan(before)
  for (let n = 0; n < 5; n++) expect(await total()).toBe(1)
})

test('an engine late three times in ten is left though it answers probes, and then by one late answer', async () => {
  const { state, clock, search, total } = slowEngine()
  for (const late of [1, 0, 1, 0, 0, 1]) {
    state.late = late
    expect(await total()).toBe(late + 1)
  }
  expect(search.engine).toBe('postgres')
  clock.time = 1_001
  await total()
  await expect.poll(() => search.engine).toBe('meilisearch')
  state.late = 1
  expect(await total()).toBe(2)
  expect(search.engine).toBe('postgres')
  clock.time += 1_500
  await total()
  expect(search.engine).toBe('postgres')
  clock.time += 1_000
  await total()
  await expect.poll(() => search.engine).toBe('meilisearch')
  for (let n = 0; n < 10; n++) expect(await total()).toBe(1)
  state.late = 1
  expect(await total()).toBe(2)
  expect(search.engine).toBe('meilisearch')
})
