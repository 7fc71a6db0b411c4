import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import { QUEUES } from '../../src/queue/jobs.ts'
import { sql } from '../../src/sql/orm.ts'
import { AnnotatorUnavailable } from '../../src/vision/annotator.ts'
import { openWorker } from '../../src/workers/main.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { jobFixture } from './job-fixture.ts'
import { addVideo, countOf, values, videoRow } from './support.ts'

const { annotator, close, open, openTestQueues } = jobFixture()
let service: Service

test('a new video never waits behind a back-fill, neither to be taken up nor to be described', async () => {
  const order: string[] = []
  const hold = Promise.withResolvers<void>()
  annotator.answer = async (frame) => {
    order.push(frame.id.split('-')[0]!)
    await hold.promise
    return { values: values({ subject: 'ui' }) }
  }
  service = await open(annotator)
  const queues = openTestQueues()
  await queues.ready()
  for (const queue of QUEUES) await queues.get(queue).pause()
  const old: string[] = []
  for (let n = 0; n < 60; n++) old.push(await addVideo(service, 1, { backfill: true }))
  const live = await addVideo(service, 1)
  await until(async () => (await queues.depth('ingest-backfill')) === 60 && (await queues.depth('ingest')) === 1)
  for (const queue of QUEUES) await queues.get(queue).resume()
  // No answer comes until the live video is asked about. With a single queue it would wait for ever.
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
  service = await open(annotator, { workerOptions: { roles: ['ingest', 'events'] } })
  const queues = openTestQueues()
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
  service = await open(annotator)
  const video = await addVideo(service, 40)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(await countOf(service, sql`select count(*) as n from annotations where status = 'annotated'`)).toBe(40)
  const jobs = await openTestQueues().get('annotate').getCompleted()
  expect(jobs.map((job) => job.attemptsMade)).toEqual(Array(10).fill(1))
  const { rows } = await service.stores.db.execute(sql`select value from settings where name = 'vision-status'`)
  expect(rows).toEqual([{ value: { code: 'ok' } }])
})

test(
  'a wrong key stops the queue with one clear status, not with failures; ' +
    'a worker started with the right one goes on at once',
  async () => {
    annotator.answer = () => {
      throw new AnnotatorUnavailable('misconfigured', 'The key was refused.', 600_000)
    }
    service = await open(annotator)
    const videos: string[] = []
    for (let n = 0; n < 5; n++) videos.push(await addVideo(service, 8))
    await until(async () =>
      (await Promise.all(videos.map((id) => videoRow(service, id)))).every((row) => row?.status === 'annotating'),
    )
    const queues = openTestQueues()
    await until(
      async () => (await queues.depth('annotate')) === 10 && (await queues.get('annotate').getActiveCount()) === 0,
    )
    // Only the jobs that ran at once were refused. The others never began.
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
    close({ [Symbol.asyncDispose]: () => mended.stop(5_000) })
    await service.drain()
    expect(await countOf(service, sql`select count(*) as n from videos where status = 'ready'`)).toBe(5)
  },
)

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
  service = await open(annotator)
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  // Both workers take a job, however few may run at once.
  const second = await openWorker({ config, databaseUrl, redisUrl, prefix, logger, annotator, roles: ['annotate'] })
  close({ [Symbol.asyncDispose]: () => second.stop(5_000) })
  const video = await addVideo(service, 8)
  const problem = async () => (await findAnnotatorStatus(stores.db)).problem
  await until(async () => (await problem()) !== null)
  gate.resolve()
  const queues = openTestQueues()
  await queues.ready()
  await until(async () => (await queues.get('annotate').getCompletedCount()) === 1)
  expect(await countOf(service, sql`select count(*) as n from annotations`)).toBe(4)
  expect(await problem()).toMatchObject({ code: 'budget_spent' })
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating' })
})
