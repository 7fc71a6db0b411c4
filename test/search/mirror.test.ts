import { randomBytes } from 'node:crypto'
import { Meilisearch } from 'meilisearch'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { checkpointOf, startConsumer } from '../../src/events/consume.ts'
import { readEvents } from '../../src/events/read.ts'
import { SEARCH_EVENTS } from '../../src/projections/search/affected.ts'
import { meiliProjection, reconcileMirror, syncMirror } from '../../src/projections/search/mirror.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { openBreaker } from '../../src/search/breaker.ts'
import type { FrameQuery } from '../../src/search/library-search.ts'
import { mirrorState } from '../../src/search/meilisearch/client.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'
import { openSearch } from '../../src/search/open-search.ts'
import { openReadModel } from '../../src/search/postgres/search.ts'
import { MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores, type Stores, untilReadable } from '../support/stores.ts'

// Making and swapping indexes takes seconds each on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const logger = pino({ level: 'silent' })
const ask = (q: string): FrameQuery => ({
  filters: {},
  q,
  sort: 'relevance',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
})

describe.skipIf(MEILI_MISSING)(`Meilisearch as a mirror (${MEILI_MISSING ?? 'real'})`, () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let stores: Stores
  const meili = theMeili()
  let client: Meilisearch
  let sink: ReturnType<typeof openMeiliSink>
  beforeAll(async () => {
    stores = await openStores()
    client = new Meilisearch({ host: meili.url, ...(meili.key ? { apiKey: meili.key } : {}) })
    sink = openMeiliSink({ ...meili, prefix })
  })
  afterAll(async () => {
    for (const suffix of ['', '_next']) await client.deleteIndexIfExists(`${prefix}_frames${suffix}`)
    await stores[Symbol.asyncDispose]()
  })

  const deps = () => ({ db: stores.db, sink })
  const deepLink = () => null

  /** A search whose replica is asked without a breaker: what fails there fails. */
  async function open(given: { url?: string; key?: () => Promise<string | undefined> } = {}) {
    const reads = openReadModel(stores.db.$client)
    const { framesByIds } = reads
    const access = { url: meili.url, prefix, key: await searchOnlyKey({ ...meili, prefix }), ...given }
    const options = { ...access, framesByIds, mirror: () => mirrorState(stores.db), timeoutMs: 10_000 }
    return openSearch({ reads, replica: openMeiliSearch(options) })
  }

  async function drain() {
    const context = { db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }
    const running = [
      startConsumer(context, searchProjection({ db: stores.db, deepLink })),
      startConsumer(context, meiliProjection(deps())),
    ]
    for (const consumer of running) await consumer.drain()
    for (const consumer of running) await consumer[Symbol.asyncDispose]()
  }

  /** Ids and revisions of the frames on each side. */
  async function both() {
    const held: string[] = []
    for await (const batch of sink.revisions()) held.push(...batch.map(({ id, revision }) => `${id} ${revision}`))
    const { rows } = await stores.db.$client.query(
      `select id || ' ' || revision as line from library_search.documents where kind = 'frames' and doc is not null`,
    )
    return { held: held.toSorted(), wanted: rows.map(({ line }) => String(line)).toSorted() }
  }

  test('before it is filled it is not asked; the consumer fills and follows it', async () => {
    await seedVideo(stores.db, { title: 'First', frames: [{ caption: 'a red kite' }, { caption: 'a lamp' }] })
    await rebuildSearch({ db: stores.db, deepLink })
    const search = await open()
    await expect(search.frames(ask('kite'))).rejects.toThrow(/not ready/)
    await drain()
    const filled = await open()
    expect((await filled.frames(ask('kite'))).frames).toHaveLength(1)
    await seedVideo(stores.db, { title: 'Second', frames: [{ caption: 'another kite' }] })
    const before = await filled.version()
    await drain()
    expect((await filled.frames(ask('kite'))).frames).toHaveLength(2)
    expect(await filled.version()).not.toBe(before)
    const { held, wanted } = await both()
    expect(held).toEqual(wanted)
  })

  test('an index deleted, emptied, or of other settings or words is rebuilt', async () => {
    const harms: (() => Promise<unknown>)[] = [
      () => client.deleteIndex(`${prefix}_frames`).waitTask({ timeout: 60_000 }),
      () => client.index(`${prefix}_frames`).deleteAllDocuments().waitTask({ timeout: 60_000 }),
      () => client.index(`${prefix}_frames`).updateSearchableAttributes(['key']).waitTask({ timeout: 60_000 }),
      () => stores.db.$client.query(`update read_models set words = 1 where engine = 'meilisearch'`),
    ]
    for (const harm of harms) {
      await harm()
      expect(await syncMirror(deps())).toEqual({ rebuilt: true })
      expect((await (await open()).frames(ask('kite'))).frames).toHaveLength(2)
      expect(await syncMirror(deps())).toEqual({ rebuilt: false })
    }
  })

  test('an engine that lost its index is not taken for one that is back', async () => {
    const search = await open()
    await client.deleteIndex(`${prefix}_frames`).waitTask({ timeout: 60_000 })
    await expect(search.frames(ask('kite'))).rejects.toThrow(/not found/)
    await syncMirror(deps())
    expect((await search.frames(ask('kite'))).engine).toBe('meilisearch')
  })

  test('an index that was emptied hides nothing: what it does not find is asked of the read model', async () => {
    const search = await open()
    await client.index(`${prefix}_frames`).deleteAllDocuments().waitTask({ timeout: 60_000 })
    for (const query of [ask('kite'), { ...ask('kite'), facets: true }, { ...ask('kite'), variety: true }])
      expect(await search.frames(query)).toMatchObject({ engine: 'postgres', frames: [{}, {}] })
    const everything = await search.frames({ ...ask(''), sort: 'newest', facets: true })
    expect(everything.total).toBe(everything.frames.length)
    expect((await search.search({ q: 'kite', limit: 6 })).frames).toHaveLength(2)
    expect(await syncMirror(deps())).toEqual({ rebuilt: true })
    expect((await search.frames(ask('kite'))).engine).toBe('meilisearch')
  })

  test('reconcile finds and heals what is missing, stale and extra, and nothing the second time', async () => {
    const { held } = await both()
    const [first, second] = held.map((line) => line.split(' ')[0]!)
    const index = client.index(`${prefix}_frames`)
    await index.deleteDocuments([first!]).waitTask({ timeout: 60_000 })
    await index.updateDocuments([{ key: second!, revision: 'wrong' }]).waitTask({ timeout: 60_000 })
    await index.addDocuments([{ key: 'ghost', revision: 'r', doc: '{}' }]).waitTask({ timeout: 60_000 })
    expect(await reconcileMirror(deps())).toMatchObject({ missing: 1, stale: 1, extra: 1 })
    expect(await reconcileMirror(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
    const after = await both()
    expect(after.held).toEqual(after.wanted)
  })

  test(
    'an index emptied in part, or with strangers in it, ' +
      'is healed by the next look, and what was answered meanwhile is answered anew',
    async () => {
      const index = client.index(`${prefix}_frames`)
      const { held } = await both()
      const harms = [
        () => index.deleteDocuments([held[0]!.split(' ')[0]!]),
        () => index.addDocuments([{ key: 'ghost', revision: 'r', doc: '{}', caption: 'kite' }]),
      ]
      for (const harm of harms) {
        const version = await (await open()).version()
        await harm().waitTask({ timeout: 60_000 })
        expect(await syncMirror(deps())).toEqual({ rebuilt: false })
        const search = await open()
        expect((await search.frames(ask('kite'))).frames).toHaveLength(2)
        expect(await search.version()).not.toBe(version)
        const after = await both()
        expect(after.held).toEqual(after.wanted)
        // Right documents are not written again.
        await syncMirror(deps())
        const settled = await search.version()
        await syncMirror(deps())
        expect(await search.version()).toBe(settled)
      }
    },
  )

  test('a read model built anew is followed', async () => {
    await rebuildSearch({ db: stores.db, deepLink })
    await seedVideo(stores.db, { title: 'Third', frames: [{ caption: 'a third kite' }] })
    await drain()
    const { held, wanted } = await both()
    expect(held).toEqual(wanted)
    expect((await (await open()).frames(ask('kite'))).frames).toHaveLength(3)
  })

  test('the key of the API can search its indexes and nothing else', async () => {
    const key = await searchOnlyKey({ ...meili, prefix })
    if (meili.key === undefined) return
    expect(await searchOnlyKey({ ...meili, prefix })).toBe(key)
    const limited = new Meilisearch({ host: meili.url, apiKey: key! })
    await expect(limited.index(`${prefix}_frames`).addDocuments([{ key: 'x' }])).rejects.toThrow(/API key/)
    await expect(limited.index('somebody_elses').search('x')).rejects.toThrow(/API key/)
    await expect(limited.getKeys()).rejects.toThrow(/API key/)
  })

  test('a key that was taken away is asked for again', async () => {
    const keys = ['wrong', await searchOnlyKey({ ...meili, prefix })]
    if (meili.key === undefined) return
    const search = await open({ key: async () => keys.shift() })
    await expect(search.frames(ask('kite'))).rejects.toThrow(/API key/)
    expect((await search.frames(ask('kite'))).frames).toHaveLength(3)
  })

  test('with the server away the read model answers within the time allowed', async () => {
    const reads = openReadModel(stores.db.$client)
    const away = { url: 'http://127.0.0.1:9', key: undefined, prefix }
    const replica = openMeiliSearch({ ...away, ...reads, mirror: () => mirrorState(stores.db) })
    const left: unknown[] = []
    const breaker = openBreaker({ patienceMs: 700, onLeft: (error) => left.push(error), onBack: () => {} })
    const search = openSearch({ reads, replica, ask: breaker })
    const page = await search.frames(ask('kite'))
    expect([page.frames.length, page.engine, left.length]).toEqual([3, 'postgres', 1])
    await expect(
      syncMirror({ db: stores.db, sink: openMeiliSink({ url: 'http://127.0.0.1:9', key: undefined, prefix }) }),
    ).rejects.toThrow()
    expect((await search.search({ q: 'third kite', limit: 6 })).frames[0]!.document.caption).toBe('a third kite')
  })

  /** Repeats while the read model is behind, as the consumer does. */
  async function untilSeen<T>(handle: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await handle()
      } catch (error) {
        if (!String(error).includes('has not seen')) throw error
      }
    }
  }

  test(
    'frames of a long batch are there before the batch has ended, ' +
      'and all that is there survives an index lost meanwhile',
    async () => {
      for (const isLost of [false, true]) {
        const after = await checkpointOf(stores.db, 'search')
        const before = await sink.count()
        const { version } = (await mirrorState(stores.db))!
        for (let n = 0; n < 22; n++)
          await seedVideo(stores.db, {
            title: `Long ${isLost} ${n}`,
            frames: Array.from({ length: 205 }, () => ({ caption: 'a long kite' })),
          })
        await untilReadable(stores.db)
        const { events } = await readEvents(stores.db, { after, types: SEARCH_EVENTS, limit: 500 })
        const stop = new AbortController()
        // The read model lacks the last piece, and the mirror waits for its checkpoint.
        await searchProjection({ db: stores.db, deepLink }).handle(events, stop.signal)
        if (isLost) await client.deleteIndex(`${prefix}_frames`).waitTask({ timeout: 60_000 })
        // A worker that has just started has a sink of its own.
        const fresh = openMeiliSink({ ...meili, prefix })
        const mirroring = untilSeen(() => meiliProjection({ db: stores.db, sink: fresh }).handle(events, stop.signal))
        mirroring.catch(() => undefined)
        if (!isLost) {
          await vi.waitFor(async () => expect(await sink.count()).toBe(before + 20 * 205), {
            timeout: 60_000,
            interval: 50,
          })
          expect((await mirrorState(stores.db))!.version).toBe(version)
        }
        await drain()
        await mirroring
        const { held, wanted } = await both()
        expect(held).toEqual(wanted)
        expect(held).toHaveLength(before + 22 * 205)
      }
    },
  )
})
