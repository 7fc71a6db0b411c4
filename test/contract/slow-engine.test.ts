import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { copyToMeilisearch } from '../../src/projections/search/copy.ts'
import { Late, openBreaker } from '../../src/search/breaker.ts'
import { type MeiliSearchOptions, replicaState } from '../../src/search/meilisearch/client.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { type MeiliSearch, openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { toStored } from '../../src/search/meilisearch/settings.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'
import { openSearch } from '../../src/search/open-search.ts'
import { openReadModel } from '../../src/search/postgres/search.ts'
import { useOpened } from '../support/closing.ts'
import { startCutOff } from '../support/cut-off.ts'
import { ask as frameQuery } from '../support/frame-query.ts'
import { listenOn } from '../support/listening.ts'
import { MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
import { openCountedApi } from './counted-api.ts'

/** A Meilisearch whose answers a proxy holds back. */

type Engine = Pick<MeiliSearchOptions, 'url' | 'key' | 'prefix' | 'state'> & AsyncDisposable

const api = useOpened(openCountedApi)

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
  return { ...(await listenOn(server)), key: 'any', state: async () => ({ version: '1', ready: true }) }
}

async function realEngine(): Promise<Engine> {
  const { db } = api.service.stores
  const meili = theMeili()
  const place = { url: meili.url, key: meili.key, prefix: `t_${randomBytes(6).toString('hex')}` }
  await copyToMeilisearch({ db, sink: openMeiliSink(place) }, { whole: true })
  return {
    ...place,
    key: await searchOnlyKey(place),
    state: () => replicaState(db),
    async [Symbol.asyncDispose]() {
      const headers = { authorization: `Bearer ${meili.key}` }
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
    const reads = openReadModel(api.service.stores.db.$client)
    const { framesByIds } = reads
    const replica = openMeiliSearch({ ...engine, url: proxy.url, framesByIds, timeoutMs: 30_000 })
    const clock = { ms: 0 }
    // Longer than in production: a busy machine must not make an answer late that the proxy lets through.
    const ask = openBreaker({ patienceMs: 10_000, now: () => clock.ms, onLeft() {}, onBack() {} })
    const search = openSearch({ reads, replica, ask })
    return {
      proxy,
      clock,
      /** Asks in words. Tells whose answer it is, and that there is one. */
      async ask(): Promise<string> {
        const { engine: name, frames } = await search.frames(frameQuery({ q: 'kite sea' }))
        expect(frames.length).toBeGreaterThan(0)
        return name
      },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]()
        await engine[Symbol.asyncDispose]()
      },
    }
  }

  test.skipIf(reason !== undefined)('a dead engine costs each reader one wait at most, and comes back', async () => {
    await using behind = await behindProxy()
    const { proxy, ask, clock } = behind
    expect(await ask()).toBe('meilisearch')
    proxy.hold('all')
    const waiting = Array.from({ length: 4 }, () => ask())
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['postgres']))
    const asked = proxy.held()
    for (let n = 0; n < 8; n++) expect(await ask()).toBe('postgres')
    expect(proxy.held()).toBe(asked)
    proxy.release()
    clock.ms += 5_000
    expect([await ask(), await ask()]).toEqual(['meilisearch', 'meilisearch'])
  })

  test.skipIf(reason !== undefined)(
    'a reset of a kept connection makes nobody leave the engine; resets of all do',
    async () => {
      await using behind = await behindProxy()
      const { proxy, ask } = behind
      expect(await ask()).toBe('meilisearch')
      for (let n = 0; n < 3; n++) {
        proxy.reset('next')
        expect(await ask()).toBe('meilisearch')
      }
      // Of new connections too.
      proxy.reset('all')
      expect([await ask(), await ask()]).toEqual(['postgres', 'postgres'])
    },
  )
})

/* What is kept of one engine while another one answers, because the first is late or away. */

/** A search whose replica can be late; `asked` counts its questions. */
async function lateReplica() {
  const { db } = api.service.stores
  const state = { late: false, copied: 7, asked: 0 }
  const reads = openReadModel(db.$client)
  const [frame] = await reads.framesByIds([api.frameId])
  const replica = {
    version: async () => String(state.copied),
    async frames() {
      state.asked++
      if (state.late) throw new Late('late')
      return { engine: 'meilisearch' as const, frames: [{ document: frame!, score: 1, matched: {} }] }
    },
    counts: async () => ({ facets: {}, total: 0 }),
  } as unknown as MeiliSearch
  const ask = openBreaker({ patienceMs: 60_000, onLeft() {}, onBack() {} })
  const url = await api.apiOver(openSearch({ reads, replica, ask }), { versionTtlMs: 50 })
  /** The number of frames tells the engine: the replica finds one, the read model more. */
  const read = async (q: string) => {
    const answer = await fetch(`${url}/api/frames?q=${q}`)
    const { frames } = (await answer.json()) as { frames: unknown[] }
    return { by: frames.length === 1 ? 'meilisearch' : 'postgres', etag: answer.headers.get('etag') }
  }
  return { state, read }
}

test('what either engine answered is kept for the version of the library, until either changes', async () => {
  const { state, read } = await lateReplica()
  const first = await read('kite')
  expect(first.by).toBe('meilisearch')
  state.late = true
  expect((await read('sea')).by).toBe('postgres')
  expect(await read('kite')).toEqual(first)
  state.late = false
  const { asked } = state
  for (let n = 0; n < 3; n++) {
    expect(await read('kite')).toEqual(first)
    expect((await read('sea')).by).toBe('postgres')
  }
  expect(state.asked).toBe(asked)
  state.copied++
  await expect.poll(async () => (await read('sea')).by).toBe('meilisearch')
  expect((await read('kite')).etag).not.toBe(first.etag)
})
