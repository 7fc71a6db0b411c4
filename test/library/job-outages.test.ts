import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MAX_ATTEMPTS, retryVideo } from '../../src/library/videos/lifecycle.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { type Handlers, startWorker } from '../../src/queue/work.ts'
import { sql } from '../../src/sql/orm.ts'
import { ingestVideo } from '../../src/workers/ingest-video.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { jobFixture } from './job-fixture.ts'
import { addVideo, videoRow } from './support.ts'

const { annotator, ingestDeps, open, openTestQueues, reconcile, revisionOf } = jobFixture()
let service: Service

/** One attempt at a video, as a worker makes it. */
const attempt = (
  deps: Parameters<typeof ingestVideo>[0],
  videoId: string,
  revision: number,
  { signal = new AbortController().signal, lastAttempt = false } = {},
) => ingestVideo(deps)({ videoId, revision }, { signal, lastAttempt })

test('a job that lost its place in the queue is put back', async () => {
  service = await open(annotator, { workerOptions: { roles: ['events'] } })
  const video = await addVideo(service, 2)
  const queues = openTestQueues()
  await until(async () => (await queues.depth('ingest')) === 1)
  // The dispatcher has handled its event.
  await service.drain()
  await service.stores.redis.del(queues.get('ingest').toKey('wait'))
  expect(await reconcile()).toBe(1)
  expect(await reconcile()).toBe(0)
  const waiting = await queues.get('ingest').getWaiting()
  expect(waiting.map((job) => job.data.videoId)).toEqual([video])
})

test('a finished job of the same name does not swallow the new one', async () => {
  service = await open(annotator)
  const video = await addVideo(service, 2)
  await service.drain()
  await service.stores.db.execute(sql`delete from annotations`)
  await service.stores.db.execute(sql`update videos set status = 'annotating'`)
  expect(await reconcile()).toBe(1)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
})

test('a video that was begun too often is given up with a reason, and the next one is not held up', async () => {
  service = await open(annotator, { worker: false })
  const { db } = service.stores
  const video = await addVideo(service, 3)
  const deps = ingestDeps()
  const revision = await revisionOf(video)
  for (let n = 0; n < MAX_ATTEMPTS; n++) {
    // A killed worker: the attempt begins and never ends.
    const faultPoint = () => {
      throw new Error('killed')
    }
    await expect(attempt({ ...deps, faultPoint }, video, revision)).rejects.toThrow('killed')
  }
  expect(await videoRow(service, video)).toMatchObject({ attempts: MAX_ATTEMPTS })
  await attempt(deps, video, revision)
  expect(await videoRow(service, video)).toMatchObject({ status: 'failed', failure_code: 'gave_up' })
  const again = await retryVideo(db, video)
  await attempt(deps, video, again.revision)
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating', attempts: 1 })
})

test('however often a worker is stopped, the video is not given up', async () => {
  service = await open(annotator, { worker: false })
  const video = await addVideo(service, 3)
  const revision = await revisionOf(video)
  const deps = ingestDeps()
  for (let n = 0; n < MAX_ATTEMPTS + 5; n++) {
    const stop = new AbortController()
    const faultPoint = (step: string) => step === 'ingest-begun' && stop.abort(new Error('stopped'))
    const stopped = attempt({ ...deps, faultPoint }, video, revision, { signal: stop.signal })
    await expect(stopped).rejects.toThrow('stopped')
  }
  expect(await videoRow(service, video)).toMatchObject({ attempts: 0, failure_code: null })
})

test('however long a store is away, the video waits for it and is not given up', async () => {
  service = await open(annotator, { worker: false })
  const video = await addVideo(service, 1)
  const revision = await revisionOf(video)
  const away: MediaStore = {
    ...openMediaStore(service.config),
    async put() {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    },
  }
  const run = (store?: MediaStore) => attempt(ingestDeps(store && { store }), video, revision)
  for (let n = 0; n < MAX_ATTEMPTS + 5; n++) await expect(run(away)).rejects.toThrow('ECONNREFUSED')
  await run()
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating', attempts: 1 })
})

test('a video that fills the disk by itself is tried again, then fails with what to do; scratch is empty', async () => {
  service = await open(annotator, { worker: false })
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
  const run = (lastAttempt: boolean) => attempt(ingestDeps({ store: full }), video, revision, { lastAttempt })
  await expect(run(false)).rejects.toThrow(/no space/)
  expect(await videoRow(service, video)).toMatchObject({ status: 'extracting', failure_code: null })
  await expect(run(true)).rejects.toThrow(/no space/)
  expect(await videoRow(service, video)).toMatchObject({ status: 'failed', failure_code: 'disk_full' })
  const report = await service.call('GET', `/api/videos/${video}/status`)
  expect(report.json.video.failure).toEqual({ code: 'disk_full', message: expect.stringMatching(/Free some space/) })
  expect(await readdir(join(service.config.dataDir, 'scratch'))).toEqual([])
})

test('a stopping worker hands its jobs back at once, uncounted, to the one that is still there', async () => {
  service = await open(annotator, { worker: false })
  const queues = openTestQueues()
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
  // The lock lasts a minute: before that, only a job that was handed back can run again.
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
  service = await open(annotator, { worker: false })
  const queues = openTestQueues()
  const started = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  let isDone = false
  const stubborn = async () => {
    started.resolve()
    await release.promise
    isDone = true
  }
  const worker = startWorker({
    url: service.stores.redisUrl,
    prefix: service.stores.prefix,
    queue: 'ingest',
    concurrency: 1,
    logger: service.logger,
    handlers: {
      'ingest-video': stubborn,
      'annotate-frames': stubborn,
      'remove-media': stubborn,
    },
  })
  await queues.add('ingest-video', { videoId: 'x', revision: 1 })
  await started.promise
  await worker.stop(100)
  expect(isDone).toBe(false)
  // Its job is not counted as finished or failed: another worker takes it when its lock has ended.
  expect(await queues.get('ingest').getJobCounts('active', 'completed', 'failed')).toEqual({
    active: 1,
    completed: 0,
    failed: 0,
  })
  release.resolve()
})
