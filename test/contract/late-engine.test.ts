import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/logger.ts'
import { type ResilientOptions, resilientSearch } from '../../src/search/open-search.ts'
import { type CountedApi, openCountedApi } from './counted-api.ts'

/** What is kept of one engine while another one answers, because the first is late or away. */

let api: CountedApi
beforeAll(async () => {
  api = await openCountedApi()
})
afterAll(() => api[Symbol.asyncDispose]())

/** Two engines behind a breaker. The first can be late; `asked` counts searches of each. */
function twoEngines() {
  const state = { late: false, time: 0, read: 7, asked: { meilisearch: 0, postgres: 0 } }
  const fake = (engine: 'meilisearch' | 'postgres', title: string) => {
    const answer = async () => {
      if (state.late && engine === 'meilisearch') await new Promise(() => {})
    }
    return {
      engine,
      version: async () => String(state.read),
      handles: { search: () => true, frames: () => true },
      probe: answer,
      search: async () => {
        state.asked[engine]++
        await answer()
        return { videos: [{ document: { title }, score: 1, matched: {} }], frames: [], brands: [], techniques: [] }
      },
    } as unknown as ResilientOptions['primary']
  }
  const search = resilientSearch({
    primary: fake('meilisearch', 'first'),
    fallback: fake('postgres', 'second'),
    logger: createLogger({ level: 'silent' }),
    patienceMs: 20,
    now: () => state.time,
  })
  const back = async () => {
    state.late = false
    state.time += 60_000
    await search.version()
    await expect.poll(() => search.engine).toBe('meilisearch')
  }
  return { state, search, back }
}

/** Reads searches of an API: the title found, and the engine in the ETag. */
const titleReader = (url: string) => async (q: string) => {
  const answer = await fetch(`${url}/api/search?q=${q}`)
  const { videos } = (await answer.json()) as { videos: { title: string }[] }
  return [videos[0]!.title, answer.headers.get('etag')?.slice(3, 4) ?? answer.headers.get('cache-control')]
}

test('what the other engine answered is never kept under the first one’s version', async () => {
  const { state, search, back } = twoEngines()
  const read = titleReader(await api.apiOver(search, { versionTtlMs: 1_000 }))
  expect(await read('a')).toEqual(['first', 'm'])
  state.late = true
  expect(await read('b')).toEqual(['second', 'no-store'])
  expect(await read('b')).toEqual(['second', 'p'])
  await back()
  for (const q of ['a', 'b']) expect(await read(q)).toEqual(['first', 'm'])
})

test('an engine that is late makes no kept answer cold, neither when it goes nor when it is back', async () => {
  const { state, search, back } = twoEngines()
  const read = titleReader(await api.apiOver(search, { versionTtlMs: 50 }))
  expect(await read('warm')).toEqual(['first', 'm'])
  state.late = true
  await read('other')
  expect(search.engine).toBe('postgres')
  const asked = { ...state.asked }
  for (let n = 0; n < 3; n++) expect(await read('warm')).toEqual(['first', 'm'])
  await back()
  expect(await read('warm')).toEqual(['first', 'm'])
  expect(state.asked).toEqual(asked)
})

test('a change of the library ends what is kept of an engine that is away', async () => {
  const { state, search } = twoEngines()
  const read = titleReader(await api.apiOver(search, { versionTtlMs: 50 }))
  await read('warm')
  state.late = true
  await read('other')
  state.read++
  await expect.poll(() => read('warm')).toEqual(['second', 'p'])
})
