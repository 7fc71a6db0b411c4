import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/logger.ts'
import { rebuildMirror } from '../../src/projections/search/mirror.ts'
import { type MeiliSearchOptions, mirrorState } from '../../src/search/meilisearch/client.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { toStored } from '../../src/search/meilisearch/settings.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'
import { type ResilientOptions, resilientSearch } from '../../src/search/open-search.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { startCutOff } from '../support/cut-off.ts'
import { MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { type CountedApi, openCountedApi } from './counted-api.ts'

/** A Meilisearch whose answers a proxy holds back, seen through the HTTP API. */

type Engine = Pick<MeiliSearchOptions, 'url' | 'key' | 'prefix' | 'mirror'> & AsyncDisposable

let api: CountedApi
beforeAll(async () => {
  api = await openCountedApi()
})
afterAll(() => api[Symbol.asyncDispose]())

/** Answers every question with the same frame, in the form that Meilisearch does. */
async function standInEngine(): Promise<Engine> {
  const [frame] = await openPostgresSearch(api.service.stores.db.$client).framesByIds([api.frameId])
  const hit = { ...toStored(frame!), _rankingScore: 0.9 }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { queries } = JSON.parse(body) as { queries: unknown[] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ results: queries.map(() => ({ hits: [hit], estimatedTotalHits: 1 })) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: undefined,
    mirror: async () => ({ version: '1', ready: true }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function realEngine(): Promise<Engine> {
  const { db } = api.service.stores
  const meili = theMeili()
  const place = { url: meili.url, key: meili.key, prefix: `t_${randomBytes(6).toString('hex')}` }
  await rebuildMirror({ db, sink: openMeiliSink(place) })
  return {
    ...place,
    key: await searchOnlyKey(place),
    mirror: () => mirrorState(db),
    async [Symbol.asyncDispose]() {
      const headers: Record<string, string> = meili.key ? { authorization: `Bearer ${meili.key}` } : {}
      for (const index of ['frames', 'names'])
        await fetch(`${meili.url}/indexes/${place.prefix}_${index}`, { method: 'DELETE', headers })
    },
  }
}

describe.each([
  { name: 'a stand-in engine', open: standInEngine, reason: undefined },
  { name: `Meilisearch (${MEILI_MISSING ?? 'real'})`, open: realEngine, reason: MEILI_MISSING },
])('$name behind a proxy', ({ open, reason }) => {
  async function behindProxy() {
    const engine = await open()
    const proxy = await startCutOff(engine.url)
    const reads = openPostgresSearch(api.service.stores.db.$client)
    const primary = openMeiliSearch({ ...engine, url: proxy.url, reads, timeoutMs: 30_000 })
    // Longer than in production: a busy machine must not make an answer late that the proxy lets through.
    const breaker = { logger: createLogger({ level: 'silent' }), patienceMs: 10_000 }
    const search = resilientSearch({ primary, fallback: reads, ...breaker })
    const url = await api.apiOver(search)
    let asked = 0
    return {
      proxy,
      /** Asks what was not asked before. Tells whose answer it is; `late`: it fits no engine's version. */
      async ask(): Promise<string> {
        const answer = await fetch(`${url}/api/frames?q=${encodeURIComponent(`kite sea ${'over '.repeat(++asked)}`)}`)
        expect(answer.status).toBe(200)
        expect(((await answer.json()) as { frames: unknown[] }).frames.length).toBeGreaterThan(0)
        const etag = answer.headers.get('etag')
        return etag === null ? 'late' : { m: 'meilisearch', p: 'postgres' }[etag.slice(3, 4)]!
      },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]()
        await engine[Symbol.asyncDispose]()
      },
    }
  }

  test.skipIf(reason !== undefined)('a dead engine costs each reader one wait at most, and comes back', async () => {
    await using behind = await behindProxy()
    const { proxy, ask } = behind
    expect(await ask()).toBe('meilisearch')
    proxy.hold('all')
    const readers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const seen: string[] = []
        for (let n = 0; n < 3; n++) seen.push(await ask())
        return seen
      }),
    )
    for (const seen of readers) {
      expect(seen.filter((one) => one === 'late').length).toBeLessThanOrEqual(1)
      expect(seen.slice(1)).toEqual(['postgres', 'postgres'])
    }
    proxy.release()
    await expect.poll(ask, { interval: 200 }).toBe('meilisearch')
  })

  test.skipIf(reason !== undefined)('a reset of a kept connection makes nobody leave the engine', async () => {
    await using behind = await behindProxy()
    const { proxy, ask } = behind
    expect(await ask()).toBe('meilisearch')
    for (let n = 0; n < 3; n++) {
      proxy.reset('next')
      expect(await ask()).toBe('meilisearch')
    }
  })

  test.skipIf(reason !== undefined)('an engine that resets new connections too is left', async () => {
    await using behind = await behindProxy()
    const { proxy, ask } = behind
    expect(await ask()).toBe('meilisearch')
    proxy.reset('all')
    await ask()
    expect(await ask()).toBe('postgres')
  })
})

/* What is kept of one engine while another one answers, because the first is late or away. */

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
