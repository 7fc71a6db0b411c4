import { readdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MediaError } from '../../src/errors.ts'
import { recordAnnotations } from '../../src/library/frames/record-annotations.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { checkStorage } from '../../src/library/videos/storage.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { sql } from '../../src/sql/orm.ts'
import { ingestVideo } from '../../src/workers/ingest-video.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { jobFixture } from './job-fixture.ts'
import { addVideo, countOf, extractFromNumber, frameRows, values, videoRow } from './support.ts'

const { annotator, countEvents, ingestDeps, open, openTestQueues, reconcile, revisionOf, snapshot, storedFiles } =
  jobFixture()
let service: Service

test('the same job delivered twice, for every handler, changes nothing the second time', async () => {
  service = await open(annotator)
  const video = await addVideo(service, 5)
  await service.drain()
  const { db } = service.stores
  const before = await snapshot()
  const asked = annotator.asked.length
  const queues = openTestQueues()
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
  service = await open(annotator)
  const queues = openTestQueues()
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
  expect(await countEvents('frames.extracted', video)).toBe(1)
  expect(await countEvents('video.ready', video)).toBe(1)
  expect((await frameRows(service, video)).length).toBe(6)
})

test('two last batches at once: the video becomes ready, once', async () => {
  service = await open(annotator)
  const queues = openTestQueues()
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
    expect(await countEvents('video.ready', video)).toBe(1)
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
  service = await open(annotator)
  const video = await addVideo(service, 24)
  const queues = openTestQueues()
  await queues.ready()
  // No job can end now.
  await until(async () => held > 0 && (await queues.get('annotate').getActiveCount()) === held)
  // Some batches are partly done, others wait. Here a naive count of missing answers would cut new batches.
  expect(await reconcile()).toBe(0)
  expect(await reconcile()).toBe(0)
  gate.resolve()
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(annotator.asked.length).toBe(24)
  expect(new Set(annotator.asked).size).toBe(24)
})

test('a cancelled video: the worker stops asking and writes nothing more; a retry goes on where it was', async () => {
  service = await open(annotator)
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
  // Only the frames in flight were asked about: one of each running job.
  expect(annotator.asked.length).toBeLessThanOrEqual(5 + availableParallelism())
  expect((await service.get(`/api/videos/${video}/frames`)).status).toBe(404)

  const described = await countOf(service, sql`select count(*) as n from annotations`)
  annotator.asked = []
  await retryVideo(service.stores.db, video)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(annotator.asked.length).toBe(20 - described)
})

test('a stage that has ended tells that all of it is done', async () => {
  const extract: typeof extractFromNumber = async (options) => {
    options.onProgress?.({ stage: 'shots', done: 30, total: 40 })
    return extractFromNumber(options)
  }
  service = await open(annotator, { workerOptions: { extract } })
  const video = await addVideo(service, 2)
  await service.drain()
  const { stages } = (await videoRow(service, video)) as { stages: { stage: string; done: number; total: number }[] }
  expect(stages.map(({ stage, done, total }) => [stage, done, total])).toEqual([
    ['fetching', 1, 1],
    ['extracting', 40, 40],
    ['annotating', 2, 2],
  ])
})

test('a video cancelled while it is extracted records no frames', async () => {
  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const extract: typeof extractFromNumber = async (options) => {
    begun.resolve()
    await release.promise
    return extractFromNumber(options)
  }
  service = await open(annotator, { workerOptions: { extract } })
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
    service = await open(annotator, { worker: false })
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
    // Otherwise its job would have the id of the old video's job, and not be added while that one runs.
    expect(await revisionOf(id)).not.toBe(revision)
  },
)
