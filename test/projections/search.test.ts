import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { frames } from '../../src/db/schema/frames.ts'
import { videos } from '../../src/db/schema/videos.ts'
import { appendEvent } from '../../src/events/append.ts'
import { type Consumer, startConsumer } from '../../src/events/consume.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { reconcileSearch } from '../../src/projections/search/reconcile.ts'
import { refreshSaveCounts } from '../../src/projections/search/save-counts.ts'
import type { FrameQuery } from '../../src/search/library-search.ts'
import { mirrorState } from '../../src/search/meilisearch/mirror-state.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { WORDS_VERSION } from '../../src/search/text/tokens.ts'
import { openProjection } from '../../src/workers/projection.ts'
import { type SeedVideo, seedVideo } from '../support/seed.ts'
import { holdTransaction, openStores, type Stores } from '../support/stores.ts'

const logger = pino({ level: 'silent' })
const deepLink = (_platform: string, url: string, tSec: number) => `${url}#t=${Math.floor(tSec)}`
let stores: Stores
let search: ReturnType<typeof openPostgresSearch>
beforeAll(async () => {
  stores = await openStores()
  search = openPostgresSearch(stores.db.$client)
})
afterAll(() => stores[Symbol.asyncDispose]())

const deps = () => ({ db: stores.db, deepLink })
const ask = (query: Partial<FrameQuery> = {}): FrameQuery => ({
  filters: {},
  q: '',
  sort: query.q ? 'relevance' : 'newest',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
  ...query,
})

function start(consumer: Consumer = searchProjection(deps())) {
  return startConsumer({ db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }, consumer)
}

async function drain(consumer?: Consumer) {
  const running = start(consumer)
  await running.drain()
  await running[Symbol.asyncDispose]()
}

/** Everything readers can get, but for the versions. */
async function readModel() {
  const { rows } = await stores.db.$client.query(
    `select kind, id, revision, doc::text as doc from library_search.documents where doc is not null order by 1, 2`,
  )
  const narrow = await stores.db.$client.query('select * from library_search.frames order by id')
  const entries = await stores.db.$client.query('select * from library_search.entries order by kind, id')
  return { documents: rows, frames: narrow.rows, entries: entries.rows }
}

async function deleteVideo(id: string) {
  await stores.db.transaction(async (tx) => {
    await tx.delete(videos).where(sql`id = ${id}`)
    await appendEvent(tx, {
      type: 'video.deleted',
      subject: id,
      accountId: null,
      data: { video_id: id, title: 'gone', author: null, platform: 'web', frame_count: 0, upload_key: null },
    })
  })
}

async function correct(frameId: string, values: Partial<typeof frames.$inferInsert>) {
  await stores.db.transaction(async (tx) => {
    const [row] = await tx.update(frames).set(values).where(sql`id = ${frameId}`).returning()
    await appendEvent(tx, {
      type: 'frame.corrected',
      subject: frameId,
      accountId: null,
      data: {
        frame_id: frameId,
        video_id: row!.videoId,
        author: null,
        technique: row!.technique,
        subject: row!.subject,
        changes: {},
        unlocked: [],
      },
    })
  })
}

async function save(frameId: string, saveStrength = 690) {
  await stores.db.transaction(async (tx) => {
    const [row] = await tx
      .update(frames)
      .set({ saveCount: sql`save_count + 1`, saveStrength })
      .where(sql`id = ${frameId}`)
      .returning()
    await appendEvent(tx, {
      type: 'frame.saved',
      subject: frameId,
      accountId: 'a1',
      data: { frame_id: frameId, video_id: row!.videoId, author: null, technique: null, subject: null },
    })
  })
}

const clip = (title: string, more: Partial<SeedVideo> = {}): SeedVideo => ({
  title,
  author: 'Acme',
  sourceUrl: 'https://example.com/clip',
  frames: [
    { caption: `${title} opens on a red kite`, subject: 'b-roll', technique: 'slow-push' },
    { caption: `${title} ends on a logo`, subject: 'logo', technique: 'logo-reveal', onScreenText: 'hyperdrive' },
  ],
  ...more,
})

test('a ready video can be searched, one that is not ready cannot', async () => {
  const video = await seedVideo(stores.db, clip('Relay'))
  await seedVideo(stores.db, { ...clip('Hidden'), author: 'Nobody', ready: false })
  await drain()
  const wall = await search.frames(ask())
  expect(wall.frames.map(({ document }) => document.id)).toEqual(video.frameIds)
  expect(wall.frames[1]!.document).toMatchObject({
    source_url: 'https://example.com/clip#t=1',
    video: { title: 'Relay', author: 'Acme' },
    annotation: { model: 'seed', reviewed: false },
  })
  expect(await search.video(video.id)).toMatchObject({
    title: 'Relay',
    frame_count: 2,
    image_path: expect.stringMatching(/^\/media\/.+\.webp$/),
  })
  expect(
    (await search.brands({ after: undefined, limit: 10 })).items.map(({ name, frame_count }) => [name, frame_count]),
  ).toEqual([['Acme', 2]])
  expect((await search.techniques()).map(({ slug, frame_count }) => [slug, frame_count])).toEqual([
    ['logo-reveal', 1],
    ['slow-push', 1],
  ])
  await deleteVideo(video.id)
  await drain()
  expect((await search.frames(ask())).frames).toEqual([])
  expect(await search.videoFrames(video.id)).toBeUndefined()
  expect((await search.brands({ after: undefined, limit: 10 })).items).toEqual([])
  expect((await search.techniques()).map(({ frame_count }) => frame_count)).toEqual([0, 0])
})

test('a corrected frame moves from one technique to the other, and the version tells of it; a repeat changes nothing', async () => {
  const video = await seedVideo(stores.db, clip('Moves'))
  await drain()
  const before = await search.version()
  await correct(video.frameIds[0]!, { technique: 'logo-reveal' })
  await drain()
  expect(await search.version()).not.toBe(before)
  const counts = Object.fromEntries((await search.techniques()).map(({ slug, frame_count }) => [slug, frame_count]))
  expect(counts).toEqual({ 'logo-reveal': 2, 'slow-push': 0 })

  const settled = await search.version()
  const documents = await readModel()
  await stores.db.$client.query(`update checkpoints set xid = '0', seq = 0 where consumer = 'search'`)
  await drain()
  expect(await search.version()).toBe(settled)
  expect(await readModel()).toEqual(documents)
})

test('a replay from the beginning into an empty read model gives the same documents', async () => {
  await seedVideo(stores.db, clip('Replayed', { author: 'Zeta' }))
  await drain()
  const before = await readModel()
  await stores.db.$client.query(
    'truncate library_search.documents, library_search.frames, library_search.entries, library_search.words',
  )
  await stores.db.$client.query(`update checkpoints set xid = '0', seq = 0 where consumer = 'search'`)
  await drain()
  expect(await readModel()).toEqual(before)
  expect((await search.frames(ask({ q: 'hyperdrive' }))).frames.length).toBeGreaterThan(0)
})

test('the effect and the checkpoint stand or fall together', async () => {
  const video = await seedVideo(stores.db, clip('Falls', { author: 'Fallen' }))
  let die = true
  const whole = searchProjection(deps())
  await drain({
    ...whole,
    async handle(events, signal) {
      const commit = await whole.handle(events, signal)
      return async (tx) => {
        await commit?.(tx)
        if (!die) return
        die = false
        expect(await search.video(video.id)).toBeUndefined()
        throw Object.assign(new Error('gone'), { code: '57P01' })
      }
    },
  })
  expect(die).toBe(false)
  expect(await search.video(video.id)).toMatchObject({ frame_count: 2 })
})

test('two projectors at once leave what one would', async () => {
  const added = await Promise.all(
    Array.from({ length: 6 }, (_, n) => seedVideo(stores.db, clip(`Twice ${n}`, { author: `Twin ${n % 2}` }))),
  )
  const one = start()
  const two = start({ ...searchProjection(deps()), name: 'search-again' })
  await Promise.all(added.map(({ frameIds }) => correct(frameIds[0]!, { caption: 'changed under two' })))
  await Promise.all([one.drain(), two.drain()])
  await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()])
  const live = await readModel()
  expect(live.documents.filter(({ doc }) => doc.includes('changed under two'))).toHaveLength(6)
  await rebuildSearch(deps())
  expect(await readModel()).toEqual(live)
})

test('a rebuild under writes loses none of them, and equals what the live projection would have', async () => {
  const doomed = await seedVideo(stores.db, clip('Doomed', { author: 'Doom' }))
  const kept = await seedVideo(stores.db, clip('Kept', { author: 'Keeper' }))
  await drain()
  const running = start()
  let wrote = false
  let reads = 0
  const reading = (async () => {
    while (!wrote) {
      expect((await search.frames(ask({ filters: { author: ['Keeper'] } }))).frames).toHaveLength(2)
      reads++
    }
  })()
  await rebuildSearch({
    ...deps(),
    onProgress: () => {
      if (wrote) return
      wrote = true
    },
  })
  // Everything at once: new, changed and deleted while a second rebuild runs.
  await Promise.all([
    rebuildSearch(deps()),
    seedVideo(stores.db, clip('Arrives', { author: 'Late' })),
    correct(kept.frameIds[0]!, { caption: 'corrected meanwhile' }),
    deleteVideo(doomed.id),
    save(kept.frameIds[1]!),
  ])
  await reading
  await running.drain()
  await running[Symbol.asyncDispose]()
  await refreshSaveCounts(deps())
  expect(reads).toBeGreaterThan(0)
  const live = await readModel()
  expect(live.documents.some(({ doc }) => doc.includes('corrected meanwhile'))).toBe(true)
  expect(live.documents.some(({ doc }) => doc.includes('Doomed'))).toBe(false)
  expect(live.documents.some(({ doc }) => doc.includes('Arrives'))).toBe(true)
  expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  await rebuildSearch(deps())
  expect(await readModel()).toEqual(live)
  const { rows } = await stores.db.$client.query(
    `select nspname from pg_namespace where nspname like 'library_search%'`,
  )
  expect(rows).toEqual([{ nspname: 'library_search' }])
})

test('only one rebuild runs at a time', async () => {
  const results = await Promise.allSettled([rebuildSearch(deps()), rebuildSearch(deps())])
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' })
})

test('reconcile finds and heals what was lost, changed and left over, and finds nothing the second time', async () => {
  const video = await seedVideo(stores.db, clip('Healed', { author: 'Healer' }))
  await drain()
  const before = await readModel()
  const query = (text: string, values: unknown[] = []) => stores.db.$client.query(text, values)
  // Missing: a document, and the row a document is found by.
  await query(`delete from library_search.documents where kind = 'frames' and id = $1`, [video.frameIds[0]])
  await query(`delete from library_search.frames where id = $1`, [video.frameIds[0]])
  // Stale: a wrong revision; a damaged text under the right one; a searchable row that says something else; a brand.
  await query(
    `update library_search.documents set doc = replace(doc::text, 'Healed', 'Heeled')::json where kind = 'videos' and id = $1`,
    [video.id],
  )
  await query(`update library_search.frames set subject = 'crowd' where id = $1`, [video.frameIds[1]])
  await query(
    `update library_search.documents set doc = json_build_object('name', 'Healer', 'revision', 'x') where kind = 'brands' and doc->>'name' = 'Healer'`,
  )
  // Extra: a frame and a video that the rows do not know.
  await query(
    `insert into library_search.documents (kind, id, revision, version, doc) values ('frames', 'ghost-1', 'r', 0, '{"id":"ghost-1"}')`,
  )
  await query(
    `insert into library_search.documents (kind, id, revision, version, doc) values ('videos', 'ghost', 'r', 0, '{"id":"ghost","revision":"r"}')`,
  )
  const found = await reconcileSearch(deps())
  expect(found).toMatchObject({ missing: 1, extra: 2 })
  expect(found.stale).toBe(3)
  const again = await reconcileSearch(deps())
  expect(again).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  expect(again.checked).toBeGreaterThan(0)
  expect(await readModel()).toEqual(before)
})

test('saves that wait for their batch are healed by reconcile and told as no fault', async () => {
  const video = await seedVideo(stores.db, clip('Waits', { author: 'Waiter' }))
  await drain()
  expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  {
    await using _older = await holdTransaction(stores)
    await save(video.frameIds[0]!)
    expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  }
  const { rows } = await stores.db.$client.query(
    `select doc->>'save_count' as n from library_search.documents where kind = 'frames' and id = $1`,
    [video.frameIds[0]],
  )
  expect(rows).toEqual([{ n: '1' }])
})

test('a mirror that another version filled is not asked before it is filled anew', async () => {
  const { db } = stores
  expect(await mirrorState(db)).toBeUndefined()
  await db.execute(sql`
    insert into read_models (engine, generation, version, applied_at, ready, words)
    values ('meilisearch', gen_random_uuid(), 7, now(), true, ${WORDS_VERSION})`)
  for (const [words, ready] of [
    [WORDS_VERSION - 1, false],
    [WORDS_VERSION + 1, false],
    [WORDS_VERSION, true],
  ] as const) {
    await db.execute(sql`update read_models set words = ${words} where engine = 'meilisearch'`)
    expect(await mirrorState(db)).toMatchObject({ version: '7', ready })
  }
  await db.execute(sql`delete from read_models where engine = 'meilisearch'`)
})

test('a read model whose words were cut by an older version is written anew when the workers start, once; an empty one is not', async () => {
  await using own = await openStores()
  const { db } = own
  const found = openPostgresSearch(db.$client)
  const work = async () => {
    const open = () => openProjection({ config: parseConfig({}), db, logger, faultPoint: () => {} })
    const running = [await open(), await open()]
    for (const one of running) await one.reconcile()
    for (const one of running) await one[Symbol.asyncDispose]()
    return (await found.version()).slice(0, 8)
  }
  const born = (await found.version()).slice(0, 8)
  expect(await work()).toBe(born)
  const video = await seedVideo(db, { title: '新しい東京', frames: [{ caption: '東京の写真' }] })
  await rebuildSearch({ db, deepLink })
  await db.execute(
    sql`update library_search.frames set words = to_tsvector('simple', '東京の写真') where video_id = ${video.id}`,
  )
  await db.execute(
    sql`update library_search.entries set words = to_tsvector('simple', '新しい東京') where id = ${video.id}`,
  )
  await db.execute(sql`update read_models set words = 1`)
  const find = async () => {
    const { videos: titles, frames: hits } = await found.search({ q: '東京', limit: 5 })
    return [titles.length, hits.length]
  }
  expect(await find()).toEqual([0, 0])
  const old = (await found.version()).slice(0, 8)
  const renewed = await work()
  expect(renewed).not.toBe(old)
  expect(await find()).toEqual([1, 1])
  expect(await work()).toBe(renewed)
})

test('what only waits for its event is healed by a comparison, and is no fault', async () => {
  const kept = await seedVideo(stores.db, clip('Behind', { author: 'Slow' }))
  const doomed = await seedVideo(stores.db, clip('Doomed soon', { author: 'Slow' }))
  await drain()
  expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  // No projection runs: all of this is on its way only.
  await correct(kept.frameIds[0]!, { caption: 'corrected, not projected yet', technique: 'logo-reveal' })
  await seedVideo(stores.db, clip('Arrives behind', { author: 'Newcomer' }))
  await deleteVideo(doomed.id)
  // And this is a fault, of the very video whose other frame waits.
  await stores.db.$client.query(`update library_search.frames set subject = 'crowd' where id = $1`, [kept.frameIds[1]])
  expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 1, extra: 0 })
  const healed = await readModel()
  expect(healed.documents.some(({ doc }) => doc.includes('corrected, not projected yet'))).toBe(true)
  await drain()
  expect(await readModel()).toEqual(healed)
  expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
})

test('saves enter in batches: the version stands still until then', async () => {
  const video = await seedVideo(stores.db, clip('Saved', { author: 'Saver' }))
  await drain()
  await refreshSaveCounts(deps())
  const before = await search.version()
  // More than any other test's.
  await save(video.frameIds[1]!, 700)
  await drain()
  expect(await search.version()).toBe(before)
  expect((await search.frame(video.frameIds[1]!))!.frame.save_count).toBe(0)
  expect(await refreshSaveCounts(deps())).toBe(1)
  expect(await search.version()).not.toBe(before)
  expect((await search.frame(video.frameIds[1]!))!.frame.save_count).toBe(1)
  expect((await search.search({ q: '', limit: 3 })).frames[0]!.document.id).toBe(video.frameIds[1])
  expect(await refreshSaveCounts(deps())).toBe(0)
})

test('frames loaded ahead are not written over what another writer has read since', async () => {
  // Three pieces of twenty videos: the second and third are loaded while the one before is written.
  const added: Awaited<ReturnType<typeof seedVideo>>[] = []
  for (let n = 0; n < 45; n++) added.push(await seedVideo(stores.db, clip(`Ahead ${n}`, { author: `Ahead ${n % 3}` })))
  const whole = searchProjection(deps())
  const saved = added.at(-1)!.frameIds[0]!
  let wrote = false
  await drain({
    ...whole,
    async handle(events, signal) {
      const commit = await whole.handle(events, signal)
      // The last piece has been loaded and waits for its turn; a save count comes first.
      if (!wrote && events.some(({ data }) => data.video_id === added.at(-1)!.id)) {
        wrote = true
        await save(saved)
        // Not in sight while a transaction of another file that began before is open.
        await expect.poll(() => refreshSaveCounts(deps())).toBe(1)
      }
      return commit
    },
  })
  expect(wrote).toBe(true)
  expect((await search.frame(saved))!.frame.save_count).toBe(1)
  const live = await readModel()
  await rebuildSearch(deps())
  expect(await readModel()).toEqual(live)
})
