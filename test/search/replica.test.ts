import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Meilisearch } from 'meilisearch'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startConsumer } from '../../src/events/consume.ts'
import { listOutages } from '../../src/events/waiting.ts'
import { copyToMeilisearch, startCopying } from '../../src/projections/search/copy.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { replicaState } from '../../src/search/meilisearch/client.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'
import { openSearch } from '../../src/search/open-search.ts'
import { openReadModel } from '../../src/search/postgres/search.ts'
import { sql } from '../../src/sql/orm.ts'
import { ask as frameQuery } from '../support/frame-query.ts'
import { framesIn, MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores, type Stores } from '../support/stores.ts'

// Making and swapping indexes takes seconds each on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const logger = pino({ level: 'silent' })
const ask = (q: string) => frameQuery({ q, sort: 'relevance' })

describe.skipIf(MEILI_MISSING)(`Meilisearch as a replica (${MEILI_MISSING ?? 'real'})`, () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let stores: Stores
  const meili = theMeili()
  let client: Meilisearch
  let sink: ReturnType<typeof openMeiliSink>
  beforeAll(async () => {
    stores = await openStores()
    client = new Meilisearch({ host: meili.url, apiKey: meili.key })
    sink = openMeiliSink({ ...meili, prefix })
  })
  afterAll(async () => {
    for (const suffix of ['', '_next']) await client.deleteIndexIfExists(`${prefix}_frames${suffix}`)
    await stores[Symbol.asyncDispose]()
  })

  const deps = () => ({ db: stores.db, sink })
  const deepLink = () => null

  /** A search whose replica is asked without a breaker: what fails there fails. */
  async function open(given: { url?: string; key?: () => Promise<string> } = {}) {
    const reads = openReadModel(stores.db.$client)
    const { framesByIds } = reads
    const access = { url: meili.url, prefix, key: await searchOnlyKey({ ...meili, prefix }), ...given }
    const options = { ...access, framesByIds, state: () => replicaState(stores.db), timeoutMs: 10_000 }
    return openSearch({ reads, replica: openMeiliSearch(options) })
  }

  async function drain() {
    const context = { db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }
    const running = startConsumer(context, searchProjection({ db: stores.db, deepLink }))
    await running.drain()
    await running[Symbol.asyncDispose]()
    await copyToMeilisearch(deps())
  }

  /** Ids and revisions of the frames on each side. */
  async function both() {
    const { rows } = await stores.db.$client.query(
      `select id || ' ' || revision as line from library_search.documents where kind = 'frames' and doc is not null`,
    )
    return { held: await framesIn(prefix), wanted: rows.map(({ line }) => String(line)).toSorted() }
  }

  test('before it is filled it is not asked; the copy fills and follows it', async () => {
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
      () => client.deleteIndex(`${prefix}_frames`).waitTask({ timeout: 300_000 }),
      () => client.index(`${prefix}_frames`).deleteAllDocuments().waitTask({ timeout: 300_000 }),
      () => client.index(`${prefix}_frames`).updateSearchableAttributes(['key']).waitTask({ timeout: 300_000 }),
      () => stores.db.$client.query(`update read_models set words = 1 where engine = 'meilisearch'`),
    ]
    for (const harm of harms) {
      await harm()
      expect(await copyToMeilisearch(deps())).toEqual({ whole: true })
      expect((await (await open()).frames(ask('kite'))).frames).toHaveLength(2)
      expect(await copyToMeilisearch(deps())).toEqual({ whole: false })
    }
  })

  test('an index that was emptied hides nothing: what it does not find is asked of the read model', async () => {
    const search = await open()
    await client.index(`${prefix}_frames`).deleteAllDocuments().waitTask({ timeout: 300_000 })
    for (const query of [ask('kite'), { ...ask('kite'), facets: true }, { ...ask('kite'), variety: true }])
      expect(await search.frames(query)).toMatchObject({ engine: 'postgres', frames: [{}, {}] })
    const everything = await search.frames({ ...ask(''), sort: 'newest', facets: true })
    expect(everything.total).toBe(everything.frames.length)
    expect((await search.search({ q: 'kite', limit: 6 })).frames).toHaveLength(2)
    expect(await copyToMeilisearch(deps())).toEqual({ whole: true })
    expect((await search.frames(ask('kite'))).engine).toBe('meilisearch')
  })

  test('a wrong number of frames is copied whole; a changed one is mended by reindex', async () => {
    const index = client.index(`${prefix}_frames`)
    const { held } = await both()
    const [first, second] = held.map((line) => line.split(' ')[0]!)
    const harms = [
      () => index.deleteDocuments([first!]),
      () => index.addDocuments([{ key: 'ghost', revision: 'r', doc: '{}', caption: 'kite' }]),
    ]
    for (const harm of harms) {
      const version = await (await open()).version()
      await harm().waitTask({ timeout: 300_000 })
      expect(await copyToMeilisearch(deps())).toEqual({ whole: true })
      const search = await open()
      expect((await search.frames(ask('kite'))).frames).toHaveLength(2)
      // What was answered meanwhile is answered anew, and right documents are not written again.
      const settled = await search.version()
      expect(settled).not.toBe(version)
      expect(await copyToMeilisearch(deps())).toEqual({ whole: false })
      expect(await search.version()).toBe(settled)
    }
    await index.updateDocuments([{ key: second!, revision: 'wrong' }]).waitTask({ timeout: 300_000 })
    expect(await copyToMeilisearch(deps(), { whole: true })).toEqual({ whole: true })
    const after = await both()
    expect(after.held).toEqual(after.wanted)
  })

  test('a read model built anew is followed without a whole copy', async () => {
    await rebuildSearch({ db: stores.db, deepLink })
    expect(await copyToMeilisearch(deps())).toEqual({ whole: false })
    await seedVideo(stores.db, { title: 'Third', frames: [{ caption: 'a third kite' }] })
    await drain()
    const { held, wanted } = await both()
    expect(held).toEqual(wanted)
    expect((await (await open()).frames(ask('kite'))).frames).toHaveLength(3)
  })

  test('the key of the API can search its indexes and nothing else', async () => {
    const key = await searchOnlyKey({ ...meili, prefix })
    expect(await searchOnlyKey({ ...meili, prefix })).toBe(key)
    const limited = new Meilisearch({ host: meili.url, apiKey: key })
    await expect(limited.index(`${prefix}_frames`).addDocuments([{ key: 'x' }])).rejects.toThrow(/API key/)
    await expect(limited.index('somebody_elses').search('x')).rejects.toThrow(/API key/)
    await expect(limited.getKeys()).rejects.toThrow(/API key/)
  })

  test('a key that was taken away is asked for again', async () => {
    const keys = ['wrong', await searchOnlyKey({ ...meili, prefix })]
    const search = await open({ key: async () => keys.shift()! })
    await expect(search.frames(ask('kite'))).rejects.toThrow(/API key/)
    expect((await search.frames(ask('kite'))).frames).toHaveLength(3)
  })

  test('kills during a copy lose nothing', async () => {
    const captions = Array.from({ length: 1_000 }, (_, n) => ({ caption: `a killed kite ${n}` }))
    const { frameIds } = await seedVideo(stores.db, { title: 'Killed', frames: captions })
    await rebuildSearch({ db: stores.db, deepLink })
    const copier = fileURLToPath(new URL('./copy-process.ts', import.meta.url))
    for (let kill = 0; kill < 20; kill++) {
      await stores.db.transaction(async (tx) => {
        await tx.execute(sql`update read_models set version = version + 1 where engine = 'postgres'`)
        const version = sql`(select version from read_models where engine = 'postgres')`
        const changed = sql.param(frameIds.filter((_, n) => n % 20 === kill))
        await tx.execute(sql`
          update library_search.documents set version = ${version}, revision = ${`r${kill}`},
                 doc = jsonb_set(doc::jsonb, '{revision}', to_jsonb(${`r${kill}`}::text))::json
           where id = any(${changed})`)
        await tx.execute(sql`delete from library_search.frames where id = ${frameIds[kill]}`)
        await tx.execute(sql`
          update library_search.documents set version = ${version}, revision = '', doc = null
           where id = ${frameIds[kill]}`)
      })
      const given = JSON.stringify({ url: stores.databaseUrl, place: { ...meili, prefix }, whole: kill < 4 })
      const child = spawn(process.execPath, [copier, given], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      await Promise.race([once(child.stdout, 'data'), ended])
      await Promise.race([sleep(kill * 100), ended])
      child.kill('SIGKILL')
      await ended
    }
    // A whole copy would mend what the kills have lost.
    expect(await copyToMeilisearch(deps())).toEqual({ whole: false })
    const { held, wanted } = await both()
    expect(held).toEqual(wanted)
    expect(held.length).toBeGreaterThan(900)
  })

  test('the loop copies what comes, and tells of an engine that is away', async () => {
    const started = { db: stores.db, logger }
    {
      await using _copying = startCopying({ ...started, sink })
      await seedVideo(stores.db, { title: 'Looped', frames: [{ caption: 'a looped zeppelin' }] })
      await rebuildSearch({ db: stores.db, deepLink })
      await expect.poll(async () => (await framesIn(prefix)).length).toBe((await both()).wanted.length)
    }
    const nowhere = openMeiliSink({ url: 'http://127.0.0.1:9', key: 'any', prefix })
    await using _away = startCopying({ ...started, sink: nowhere })
    await expect
      .poll(() => listOutages(stores.db))
      .toMatchObject([{ consumer: 'copy to meilisearch', of: 'Meilisearch' }])
  })
})
