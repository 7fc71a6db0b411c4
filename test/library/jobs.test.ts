import { readdir, utimes } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { videos } from '../../src/db/schema/videos.ts'
import { MediaError } from '../../src/errors.ts'
import { findAnnotatorStatus } from '../../src/library/annotator/annotator-status.ts'
import { recordAnnotations } from '../../src/library/frames/record-annotations.ts'
import { frameIdOf } from '../../src/library/videos/identity.ts'
import { MAX_ATTEMPTS } from '../../src/library/videos/ingest-progress.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { checkStorage } from '../../src/library/videos/storage.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { QUEUES } from '../../src/queue/jobs.ts'
import { openQueues } from '../../src/queue/queues.ts'
import { type Handlers, startWorker } from '../../src/queue/work.ts'
import { AnnotatorUnavailable } from '../../src/vision/annotator.ts'
import { jobsOf } from '../../src/workers/dispatch.ts'
import { ingestVideo } from '../../src/workers/ingest-video.ts'
import { openWorker } from '../../src/workers/main.ts'
import { reconcileJobs } from '../../src/workers/reconcile.ts'
import { removeMedia } from '../../src/workers/remove-media.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  addVideo,
  countOf,
  extractFromNumber,
  frameRows,
  openScripted,
  scriptedAnnotator,
  values,
  videoRow,
} from './support.ts'

const annotator = scriptedAnnotator('scripted@1', () => ({}))
let service: Service
let opened: { [Symbol.asyncDispose](): Promise<void> }[] = []
beforeEach(() => {
  annotator.asked = []
  annotator.answer = () => ({ values: values({ subject: 'ui', caption: 'a dashboard' }) })
})
afterEach(async () => {
  for (const each of opened.reverse()) await each[Symbol.asyncDispose]()
  opened = []
})

async function open(...args: Parameters<typeof openScripted>) {
  service = await openScripted(...args)
  opened.push(service)
}

function queuesOf() {
  const queues = openQueues({ url: service.stores.redisUrl, prefix: service.stores.prefix, logger: service.logger })
  opened.push(queues)
  return queues
}

const reconcile = async () => {
  const queues = queuesOf()
  return reconcileJobs({
    db: service.stores.db,
    queues,
    logger: service.logger,
    activeAnnotator: async () => annotator,
  })
}
const revisionOf = async (video: string) => (await videoRow(service, video))!.revision as number
const events = (type: string, subject: string) =>
  countOf(service, sql`select count(*) as n from events where type = ${type} and subject = ${subject}`)
/** Everything about a library that a repeat must not change. */
async function snapshot() {
  const { db } = service.stores
  const tables = await Promise.all([
    db.execute(sql`select id, status, revision, failure_code, first_ready_at from videos order by id`),
    db.execute(sql`select * from frames order by id`),
    db.execute(sql`select frame_id, annotator, status, "values" from annotations order by 1, 2`),
    db.execute(sql`select type, subject from events order by seq`),
  ])
  return tables.map(({ rows }) => rows)
}
const storedFiles = async () => {
  const names = await readdir(join(service.config.dataDir, 'store'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  )
  return names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

test('the same job delivered twice, for every handler, changes nothing the second time', async () => {
  await open(annotator)
  const video = await addVideo(service, 5)
  await service.drain()
  const { db } = service.stores
  const before = await snapshot()
  const asked = annotator.asked.length
  const queues = queuesOf()
  const revision = await revisionOf(video)
  const frameIds = (await frameRows(service, video)).map((row) => row.id)
  await queues.add('ingest-video', { videoId: video, revision })
  await queues.add('annotate-frames', { videoId: video, revision, annotator: annotator.version, frameIds })
  await queues.add('remove-media', { videoId: video, uploadKey: null })
  await service.drain()
  expect(await snapshot()).toEqual(before)
  expect(annotator.asked.length).toBe(asked)
  expect((await service.get(`/api/videos/${video}/frames`)).json.frames.length).toBe(5)
  expect((await checkStorage(db, openMediaStore(service.config), { remove: false })).missing_count).toBe(0)

  await deleteVideo(db, video)
  await service.drain()
  await queues.add('remove-media', { videoId: video, uploadKey: null })
  await queues.add('ingest-video', { videoId: video, revision })
  await service.drain()
  expect(await videoRow(service, video)).toBeUndefined()
  expect(await storedFiles()).toEqual([])
})

test('one job in two workers at the same moment: one result, no doubled event', async () => {
  await open(annotator)
  const queues = queuesOf()
  for (const queue of ['ingest', 'annotate'] as const) await queues.get(queue).pause()
  const video = await addVideo(service, 6)
  await until(async () => (await queues.get('ingest').getWaitingCount()) === 1)
  const [job] = await queues.get('ingest').getWaiting()
  // The second delivery of a stalled job, while the first still runs.
  for (const id of ['first', 'second'])
    await queues.get('ingest').add('ingest-video', job!.data, { jobId: `${id}-delivery` })
  for (const queue of ['ingest', 'annotate'] as const) await queues.get(queue).resume()
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready', failure_code: null })
  expect(await events('frames.extracted', video)).toBe(1)
  expect(await events('video.ready', video)).toBe(1)
  expect((await frameRows(service, video)).length).toBe(6)
})

test('two last batches at once: the video becomes ready, once', async () => {
  await open(annotator)
  const queues = queuesOf()
  await queues.ready()
  await queues.get('annotate').pause()
  for (let round = 0; round < 5; round++) {
    const video = await addVideo(service, 8)
    await until(async () => (await videoRow(service, video))?.status === 'annotating')
    const rows = await frameRows(service, video)
    const halves = [rows.slice(0, 4), rows.slice(4)]
    const revision = await revisionOf(video)
    await Promise.all(
      halves.map((half) =>
        recordAnnotations(service.stores.db, {
          videoId: video,
          revision,
          annotator: annotator.version,
          model: annotator.model,
          list: half.map((row) => ({ frameId: row.id, status: 'annotated', values: {}, issues: [] })),
        }),
      ),
    )
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    expect(await events('video.ready', video)).toBe(1)
  }
})

test('reconciling in the middle of the work hands nothing out twice', async () => {
  const gate = Promise.withResolvers<void>()
  let held = 0
  annotator.answer = async () => {
    if (annotator.asked.length > 9) {
      held++
      await gate.promise
    }
    return { values: values({ subject: 'ui' }) }
  }
  await open(annotator)
  const video = await addVideo(service, 24)
  const queues = queuesOf()
  await queues.ready()
  // No job is about to end.
  await until(async () => held > 0 && (await queues.get('annotate').getActiveCount()) === held)
  // Some batches are done in part, others wait: exactly when a naive count of what is missing cuts new batches.
  expect(await reconcile()).toBe(0)
  expect(await reconcile()).toBe(0)
  gate.resolve()
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(annotator.asked.length).toBe(24)
  expect(new Set(annotator.asked).size).toBe(24)
})

test('a cancelled video: the worker stops asking and writes nothing more; a retry goes on where it was', async () => {
  await open(annotator)
  const release = Promise.withResolvers<void>()
  annotator.answer = async () => {
    if (annotator.asked.length >= 6) await release.promise
    return { values: values({ caption: 'described' }) }
  }
  const video = await addVideo(service, 20)
  await until(() => annotator.asked.length >= 6)
  await cancelVideo(service.stores.db, video)
  const before = await snapshot()
  release.resolve()
  await service.drain()
  expect(await snapshot()).toEqual(before)
  expect(await videoRow(service, video)).toMatchObject({ status: 'cancelled' })
  // Those under way were asked, one of each job that runs; none was after them.
  expect(annotator.asked.length).toBeLessThanOrEqual(5 + availableParallelism())
  expect((await service.get(`/api/videos/${video}/frames`)).status).toBe(404)

  const described = await countOf(service, sql`select count(*) as n from annotations`)
  annotator.asked = []
  await retryVideo(service.stores.db, video)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(annotator.asked.length).toBe(20 - described)
})

test('a video cancelled while it is extracted records no frames', async () => {
  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const extract: typeof extractFromNumber = async (options) => {
    begun.resolve()
    await release.promise
    return extractFromNumber(options)
  }
  await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 3)
  await begun.promise
  await cancelVideo(service.stores.db, video)
  release.resolve()
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'cancelled' })
  expect(await frameRows(service, video)).toEqual([])
  expect(await readdir(join(service.config.dataDir, 'scratch'))).toEqual([])
})

test.each(['fails', 'succeeds'])(
  'a job that %s when its video was deleted leaves the one added from the same source meanwhile alone',
  async (end) => {
    await open(annotator, { worker: false })
    const bytes = Buffer.from('2\nadded again')
    const { id } = await service.upload(bytes)
    const revision = await revisionOf(id)
    const deps = ingestDeps()
    const fetchSource: typeof deps.fetchSource = async (...args) => {
      const source = await deps.fetchSource(...args)
      await deleteVideo(service.stores.db, id)
      expect(await service.upload(bytes)).toMatchObject({ id, created: true })
      if (end === 'fails') throw new MediaError('upload_missing', 'The upload is gone.')
      return source
    }
    await ingestVideo({ ...deps, fetchSource })(
      { videoId: id, revision },
      { signal: new AbortController().signal, lastAttempt: true },
    )
    expect(await videoRow(service, id)).toMatchObject({ status: 'queued', failure_code: null })
    expect(await frameRows(service, id)).toEqual([])
    // Its own job would otherwise pass for the former one's, and not be added while that one runs.
    expect(await revisionOf(id)).not.toBe(revision)
  },
)

test('a deleted video’s images go; the same file again gives the same ids and its images', async () => {
  await open(annotator)
  const bytes = Buffer.from('4\nalways the same')
  const first = await service.upload(bytes)
  await service.drain()
  const ids = (await frameRows(service, first.id)).map((row) => row.id)
  expect(ids).toEqual([0, 1, 2, 3].map((second) => frameIdOf(first.id, second * 1000)))
  expect((await storedFiles()).length).toBe(9)

  // Deleted and added again at once, over and over: the clean-up of the old must never take what the new one stores.
  for (let round = 0; round < 5; round++) {
    await deleteVideo(service.stores.db, first.id)
    const again = await service.upload(bytes)
    expect(again).toMatchObject({ id: first.id, created: true })
    if (round % 2 === 0) await service.drain()
  }
  await service.drain()
  expect((await frameRows(service, first.id)).map((row) => row.id)).toEqual(ids)
  expect(await checkStorage(service.stores.db, openMediaStore(service.config), { remove: false })).toMatchObject({
    missing_count: 0,
    files: 9,
  })

  await deleteVideo(service.stores.db, first.id)
  await service.drain()
  expect(await storedFiles()).toEqual([])
  expect((await service.get('/api/frames')).json.frames).toEqual([])
})

test('the same file again mends a copy that was lost, and leaves no second one', async () => {
  await open(annotator)
  const bytes = Buffer.from('2\nlost and found')
  const { id } = await service.upload(bytes)
  await service.drain()
  const { upload_key } = (await videoRow(service, id)) as { upload_key: string }
  await service.upload(bytes)
  expect((await videoRow(service, id))?.upload_key).toBe(upload_key)
  expect((await storedFiles()).filter((path) => path.includes('uploads')).length).toBe(1)

  const store = openMediaStore(service.config)
  await store.delete(upload_key)
  await retryVideo(service.stores.db, id, { again: true })
  await service.drain()
  expect(await videoRow(service, id)).toMatchObject({ status: 'failed', failure_code: 'upload_missing' })
  await service.upload(bytes)
  await retryVideo(service.stores.db, id)
  await service.drain()
  expect(await videoRow(service, id)).toMatchObject({ status: 'ready' })
})

test('a newer detector never removes a frame that somebody saved, pinned or corrected', async () => {
  const extract: typeof extractFromNumber = (options) =>
    extractFromNumber({ ...options, file: detector ?? options.file })
  let detector: string | undefined
  await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 6)
  await service.drain()
  const ids = (await frameRows(service, video)).map((row) => row.id)
  const board = (await service.call('POST', '/api/boards', { name: 'Kept' })).json.board
  await service.call('POST', '/api/favourites', { frameId: ids[1] })
  await service.call('PUT', `/api/boards/${board.id}/frames/${ids[2]}`, {})
  await service.call('PATCH', `/api/frames/${ids[3]}/annotation`, { caption: 'by hand' })

  // The newer one picks the frames 0 and 5 only.
  const { writeFile } = await import('node:fs/promises')
  detector = join(service.config.dataDir, 'newer.txt')
  await writeFile(detector, '6 counting-2 1 2 3 4\n')
  annotator.asked = []
  await retryVideo(service.stores.db, video, { again: true })
  await service.drain()
  expect((await frameRows(service, video)).map((row) => row.id)).toEqual([ids[0], ids[1], ids[2], ids[3], ids[5]])
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready', detector: { version: 'counting-2' } })
  expect((await service.get(`/api/videos/${video}/frames`)).json.frames.length).toBe(5)
  // Pictures that are the same are not described again.
  expect(annotator.asked).toEqual([])
})

test('another picture at the same instant is described anew, and its old words stay until then', async () => {
  let shift = 0
  const extract: typeof extractFromNumber = async (options) => {
    const extraction = await extractFromNumber(options)
    if (shift === 0) return extraction
    const [one, two] = extraction.frames
    const { imagePath, thumbPath, imageSha256, imageBytes } = two!
    return {
      ...extraction,
      detector: { version: 'counting-2', parameters: {} },
      frames: [{ ...one!, imagePath, thumbPath, imageSha256, imageBytes }, two!],
    }
  }
  await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 2)
  await service.drain()
  shift = 1
  annotator.asked = []
  annotator.answer = async (frame) => {
    expect((await service.get(`/api/frames/${frame.id}`)).json.frame.caption).toBe('a dashboard')
    return { values: values({ caption: 'something new' }) }
  }
  await retryVideo(service.stores.db, video, { again: true })
  await service.drain()
  const rows = await frameRows(service, video)
  expect(annotator.asked).toEqual([rows[0]!.id])
  expect(rows.map((row) => row.caption)).toEqual(['something new', 'a dashboard'])
  expect(
    (
      await fetch(
        (
          await service.get(`/api/frames/${rows[0]!.id}`)
        ).json.frame.image_url.replace('http://frames.test', service.url),
      )
    ).status,
  ).toBe(200)
})

test('Redis wiped in the middle: the reconciler finishes from the record', async () => {
  const gate = Promise.withResolvers<void>()
  annotator.answer = async () => {
    await gate.promise
    return { values: values({ subject: 'ui' }) }
  }
  await open(annotator)
  const videos = [
    await addVideo(service, 9),
    await addVideo(service, 3),
    await addVideo(service, 1, { backfill: true }),
  ]
  await until(() => annotator.asked.length > 0)
  const keys = await service.stores.redis.keys(`${service.stores.prefix}:*`)
  expect(keys.length).toBeGreaterThan(0)
  await service.stores.redis.del(keys)
  gate.resolve()
  await until(async () => {
    await reconcile()
    await service.drain()
    return (await Promise.all(videos.map((video) => videoRow(service, video)))).every((row) => row?.status === 'ready')
  })
  for (const video of videos) expect(await events('video.ready', video)).toBe(1)
  expect(new Set(annotator.asked).size).toBe(13)
})

test('a job that lost its place in the queue is put back', async () => {
  await open(annotator, { workerOptions: { roles: ['events'] } })
  const video = await addVideo(service, 2)
  const queues = queuesOf()
  await until(async () => (await queues.depth('ingest')) === 1)
  // What hands it out is done with it.
  await service.drain()
  await service.stores.redis.del(queues.get('ingest').toKey('wait'))
  expect(await reconcile()).toBe(1)
  expect(await reconcile()).toBe(0)
  const waiting = await queues.get('ingest').getWaiting()
  expect(waiting.map((job) => job.data.videoId)).toEqual([video])
})

test('a finished job of the same name does not swallow the new one', async () => {
  await open(annotator)
  const video = await addVideo(service, 2)
  await service.drain()
  await service.stores.db.execute(sql`delete from annotations`)
  await service.stores.db.execute(sql`update videos set status = 'annotating'`)
  expect(await reconcile()).toBe(1)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
})

test('a video that was begun too often is given up with a reason, and the next one is not held up', async () => {
  await open(annotator, { worker: false })
  const { db } = service.stores
  const video = await addVideo(service, 3)
  const deps = ingestDeps()
  const revision = await revisionOf(video)
  for (let n = 0; n < MAX_ATTEMPTS; n++) {
    // A killed worker: begun, and nothing more heard of it.
    const stop = new AbortController()
    const running = ingestVideo({
      ...deps,
      faultPoint: (step) => step === 'ingest-begun' && stop.abort(new Error('killed')),
    })({ videoId: video, revision }, { signal: stop.signal, lastAttempt: false })
    await expect(running).rejects.toThrow()
  }
  expect(await videoRow(service, video)).toMatchObject({ attempts: MAX_ATTEMPTS })
  await ingestVideo(deps)({ videoId: video, revision }, { signal: new AbortController().signal, lastAttempt: false })
  expect(await videoRow(service, video)).toMatchObject({ status: 'failed', failure_code: 'gave_up' })
  const again = await retryVideo(db, video)
  await ingestVideo(deps)(
    { videoId: video, revision: again.revision },
    { signal: new AbortController().signal, lastAttempt: false },
  )
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating', attempts: 1 })
})

test('however long a store is away, the video waits for it and is not given up', async () => {
  await open(annotator, { worker: false })
  const video = await addVideo(service, 1)
  const revision = await revisionOf(video)
  const away: MediaStore = {
    ...openMediaStore(service.config),
    async put() {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    },
  }
  const run = (store?: MediaStore) =>
    ingestVideo(ingestDeps(store && { store }))(
      { videoId: video, revision },
      { signal: new AbortController().signal, lastAttempt: false },
    )
  for (let n = 0; n < MAX_ATTEMPTS + 5; n++) await expect(run(away)).rejects.toThrow('ECONNREFUSED')
  await run()
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating', attempts: 1 })
})

function ingestDeps(over: { store?: MediaStore } = {}): Parameters<typeof ingestVideo>[0] {
  return {
    db: service.stores.db,
    store: over.store ?? openMediaStore(service.config),
    extract: extractFromNumber,
    fetchSource: async (video, { scratchDir }) => {
      const { writeFile } = await import('node:fs/promises')
      const file = join(scratchDir, 'source')
      await writeFile(file, (await openMediaStore(service.config).get(video.uploadKey!))!)
      return { file, title: null, author: null }
    },
    annotatorVersion: async () => annotator.version,
    maxDurationSec: 900,
    scratchRoot: join(service.config.dataDir, 'scratch'),
    logger: service.logger,
    faultPoint: () => undefined,
  }
}

test('a full disk: tried again, then a coded failure that says what to do, and nothing left in scratch', async () => {
  await open(annotator, { worker: false })
  const video = await addVideo(service, 3)
  const store = openMediaStore(service.config)
  let puts = 0
  const full: MediaStore = {
    ...store,
    async put(...args) {
      if (++puts > 2) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return store.put(...args)
    },
  }
  const revision = await revisionOf(video)
  const run = (lastAttempt: boolean) =>
    ingestVideo(ingestDeps({ store: full }))(
      { videoId: video, revision },
      { signal: new AbortController().signal, lastAttempt },
    )
  await expect(run(false)).rejects.toThrow(/no space/)
  expect(await videoRow(service, video)).toMatchObject({ status: 'extracting', failure_code: null })
  await expect(run(true)).rejects.toThrow(/no space/)
  expect(await videoRow(service, video)).toMatchObject({ status: 'failed', failure_code: 'disk_full' })
  const report = await service.call('GET', `/api/videos/${video}/status`)
  expect(report.json.video.failure).toEqual({ code: 'disk_full', message: expect.stringMatching(/Free some space/) })
  expect(await readdir(join(service.config.dataDir, 'scratch'))).toEqual([])
})

test('garbage collection takes what no row names, and spares young files and videos in work', async () => {
  await open(annotator)
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const kept = await addVideo(service, 2)
  await service.drain()
  for (const key of ['frames/gone00000000/0-aaaaaaaa.webp', 'uploads/orphan', 'frames/young0000000/0-bbbbbbbb.webp'])
    await store.put(key, Buffer.from('x'), 'image/webp')
  const ancient = new Date(Date.now() - 3 * 3_600_000)
  const inStore = (key: string) => join(service.config.dataDir, 'store', key)
  for (const path of await storedFiles()) if (!path.includes('young')) await utimes(path, ancient, ancient)
  expect(await checkStorage(db, store, { remove: false })).toMatchObject({ orphans: 2, removed: 0, missing_count: 0 })
  expect(await checkStorage(db, store, { remove: true })).toMatchObject({ orphans: 2, removed: 2 })
  expect(await store.stat('frames/young0000000/0-bbbbbbbb.webp')).toBeDefined()
  expect((await frameRows(service, kept)).length).toBe(2)

  // A video that is extracted anew has stored its images before its rows name them.
  await db.execute(sql`update videos set status = 'extracting' where id = ${kept}`)
  await store.put(`frames/${kept}/new-cccccccc.webp`, Buffer.from('x'), 'image/webp')
  await utimes(inStore(`frames/${kept}/new-cccccccc.webp`), ancient, ancient)
  expect(await checkStorage(db, store, { remove: true })).toMatchObject({ removed: 0 })

  const [frame] = await frameRows(service, kept)
  await store.delete(String(frame!.image_key))
  expect(await checkStorage(db, store, { remove: false })).toMatchObject({
    missing_count: 1,
    missing: [frame!.image_key],
  })
})

test('a new video never waits behind a back-fill, neither to be taken up nor to be described', async () => {
  const order: string[] = []
  const hold = Promise.withResolvers<void>()
  annotator.answer = async (frame) => {
    order.push(frame.id.split('-')[0]!)
    await hold.promise
    return { values: values({ subject: 'ui' }) }
  }
  await open(annotator)
  const queues = queuesOf()
  await queues.ready()
  for (const queue of QUEUES) await queues.get(queue).pause()
  const old: string[] = []
  for (let n = 0; n < 60; n++) old.push(await addVideo(service, 1, { backfill: true }))
  const live = await addVideo(service, 1)
  await until(async () => (await queues.depth('ingest-backfill')) === 60 && (await queues.depth('ingest')) === 1)
  for (const queue of QUEUES) await queues.get(queue).resume()
  // No answer comes until the live one is asked about: were there one queue, it would wait for ever behind those in hand.
  await until(() => order.includes(live))
  expect(order.filter((id) => id !== live).length).toBeLessThanOrEqual(2)
  hold.resolve()
  await until(async () => (await videoRow(service, live))?.status === 'ready')
  const done = await Promise.all(old.map(async (id) => (await videoRow(service, id))?.status === 'ready'))
  expect(done.filter(Boolean).length).toBeLessThan(60)
  await service.drain()
  expect(await countOf(service, sql`select count(*) as n from videos where status = 'ready'`)).toBe(61)
})

test('within one queue the more urgent video comes first', async () => {
  await open(annotator, { workerOptions: { roles: ['ingest', 'events'] } })
  const queues = queuesOf()
  await queues.ready()
  await queues.get('ingest').pause()
  const ids = new Map<number, string>()
  for (const priority of [500, 7, 900, 0]) ids.set(priority, await addVideo(service, 1, { priority }))
  await until(async () => (await queues.depth('ingest')) === 4)
  const waiting = [...(await queues.get('ingest').getWaiting()), ...(await queues.get('ingest').getPrioritized())]
  expect(waiting.map((job) => job.data.videoId)).toEqual([0, 7, 500, 900].map((priority) => ids.get(priority)))
})

test('an endpoint that says to wait: no attempt is counted, no job is lost, all end described', async () => {
  let refusals = 0
  annotator.answer = () => {
    if (refusals++ < 7) throw new AnnotatorUnavailable('rate_limited', 'The endpoint says to wait.', 120)
    return { values: values({ subject: 'ui' }) }
  }
  await open(annotator)
  const video = await addVideo(service, 40)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(await countOf(service, sql`select count(*) as n from annotations where status = 'annotated'`)).toBe(40)
  const jobs = await queuesOf().get('annotate').getCompleted()
  expect(jobs.map((job) => job.attemptsMade)).toEqual(Array(10).fill(1))
  const { rows } = await service.stores.db.execute(sql`select value from settings where name = 'vision-status'`)
  expect(rows).toEqual([{ value: { code: 'ok' } }])
})

test('a wrong key stops the queue with one clear status, not with failures; a worker started with the right one goes on at once', async () => {
  annotator.answer = () => {
    throw new AnnotatorUnavailable('misconfigured', 'The key was refused.', 600_000)
  }
  await open(annotator)
  const videos: string[] = []
  for (let n = 0; n < 5; n++) videos.push(await addVideo(service, 8))
  await until(async () =>
    (await Promise.all(videos.map((id) => videoRow(service, id)))).every((row) => row?.status === 'annotating'),
  )
  const queues = queuesOf()
  await until(
    async () => (await queues.depth('annotate')) === 10 && (await queues.get('annotate').getActiveCount()) === 0,
  )
  // As many as run at once were turned away; the others were never begun.
  expect(annotator.asked.length).toBeLessThanOrEqual(2 * availableParallelism())
  expect(await queues.get('annotate').getFailedCount()).toBe(0)
  expect(await countOf(service, sql`select count(*) as n from annotations`)).toBe(0)
  const { rows } = await service.stores.db.execute(sql`select value from settings where name = 'vision-status'`)
  expect(rows).toEqual([
    { value: { code: 'misconfigured', message: 'The key was refused.', since: expect.any(String) } },
  ])

  annotator.answer = () => ({ values: values({ subject: 'ui' }) })
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const mended = await openWorker({ config, databaseUrl, redisUrl, prefix, logger, annotator, roles: ['annotate'] })
  opened.push({ [Symbol.asyncDispose]: () => mended.stop(5_000) })
  await service.drain()
  expect(await countOf(service, sql`select count(*) as n from videos where status = 'ready'`)).toBe(5)
})

test('what was let in before a problem does not end it by going well', async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  annotator.answer = async (frame) => {
    if (frame.tSec < 4) {
      await asked.promise
      throw new AnnotatorUnavailable('budget_spent', 'The budget is spent.', 600_000)
    }
    asked.resolve()
    await gate.promise
    return { values: values({ subject: 'ui' }) }
  }
  await open(annotator)
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  // Each of the two takes a job, however few may run at once.
  const second = await openWorker({ config, databaseUrl, redisUrl, prefix, logger, annotator, roles: ['annotate'] })
  opened.push({ [Symbol.asyncDispose]: () => second.stop(5_000) })
  const video = await addVideo(service, 8)
  const problem = async () => (await findAnnotatorStatus(stores.db)).problem
  await until(async () => (await problem()) !== null)
  gate.resolve()
  const queues = queuesOf()
  await queues.ready()
  await until(async () => (await queues.get('annotate').getCompletedCount()) === 1)
  expect(await countOf(service, sql`select count(*) as n from annotations`)).toBe(4)
  expect(await problem()).toMatchObject({ code: 'budget_spent' })
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating' })
})

test('a stopping worker hands its jobs back at once, uncounted, to the one that is still there', async () => {
  await open(annotator, { worker: false })
  const queues = queuesOf()
  const started = Promise.withResolvers<void>()
  const finished = Promise.withResolvers<void>()
  const runs: string[] = []
  const handlersOf = (name: string, act: (signal: AbortSignal) => Promise<void>): Handlers => {
    const handler = async (_: unknown, { signal }: { signal: AbortSignal }) => {
      runs.push(name)
      await act(signal)
    }
    return { 'ingest-video': handler, 'annotate-frames': handler, 'remove-media': handler }
  }
  const shared = {
    url: service.stores.redisUrl,
    prefix: service.stores.prefix,
    queue: 'ingest' as const,
    concurrency: 1,
    logger: service.logger,
  }
  const first = startWorker({
    ...shared,
    handlers: handlersOf('first', async (signal) => {
      started.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }),
  })
  await queues.add('ingest-video', { videoId: 'x', revision: 1 })
  await started.promise
  // A lock of a minute: only a job that was handed back can be taken up before.
  await first.stop(10_000)
  const second = startWorker({ ...shared, handlers: handlersOf('second', async () => finished.resolve()) })
  await finished.promise
  await until(async () => (await queues.get('ingest').getCompletedCount()) === 1)
  const [job] = await queues.get('ingest').getCompleted()
  expect(job!.attemptsMade).toBe(1)
  expect(job!.failedReason).toBeUndefined()
  expect(runs).toEqual(['first', 'second'])
  await second.stop(5_000)
})

test('a handler that does not heed the stop is left behind by the deadline', async () => {
  await open(annotator, { worker: false })
  const queues = queuesOf()
  const started = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const stubborn = async () => {
    started.resolve()
    await release.promise
  }
  const worker = startWorker({
    url: service.stores.redisUrl,
    prefix: service.stores.prefix,
    queue: 'ingest',
    concurrency: 1,
    logger: service.logger,
    handlers: { 'ingest-video': stubborn, 'annotate-frames': stubborn, 'remove-media': stubborn },
  })
  await queues.add('ingest-video', { videoId: 'x', revision: 1 })
  await started.promise
  await worker.stop(100)
  release.resolve()
})

test('removing media waits for a submission of the same source, and then leaves its files', async () => {
  await open(annotator, { worker: false })
  const { db } = service.stores
  const store = openMediaStore(service.config)
  const bytes = Buffer.from('1\nraced')
  const { id } = await service.upload(bytes)
  const { upload_key } = (await videoRow(service, id)) as { upload_key: string }
  await deleteVideo(db, id)
  const again = await service.upload(bytes)
  await store.put(`frames/${id}/0-aaaaaaaa.webp`, Buffer.from('new'), 'image/webp')
  await removeMedia({ db, store })(
    { videoId: id, uploadKey: upload_key },
    { signal: new AbortController().signal, lastAttempt: false },
  )
  expect(again.created).toBe(true)
  const { upload_key: fresh } = (await videoRow(service, id)) as { upload_key: string }
  expect(await store.stat(fresh)).toBeDefined()
  expect(await store.stat(upload_key)).toBeUndefined()
  expect(await store.stat(`frames/${id}/0-aaaaaaaa.webp`)).toBeDefined()
})

test('what a video needs is the same list however often it is asked for', async () => {
  await open(annotator, { worker: false })
  const video = await addVideo(service, 3)
  const [row] = await service.stores.db.select().from(videos)
  expect(row?.id).toBe(video)
  expect(await jobsOf(service.stores.db, annotator, row!)).toEqual(await jobsOf(service.stores.db, annotator, row!))
})
