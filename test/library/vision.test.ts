import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { findAnnotator, findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import { deleteUnusedAnswers } from '../../src/library/annotator/answer-cache.ts'
import { costsOf } from '../../src/library/annotator/vision-spending.ts'
import { requestReannotation } from '../../src/library/frames/reannotation.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { sharedLimit } from '../../src/queue/shared-limit.ts'
import { sql } from '../../src/sql/orm.ts'
import { openWorker } from '../../src/workers/main.ts'
import { useClosing } from '../support/closing.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { openStores } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { addVideo, countOf, frameRows, scriptedAnnotator, values, videoRow } from './support.ts'
import { openVisionService } from './vision-service.ts'

let service: Service
const close = useClosing()

const measuring = scriptedAnnotator('measured@1', () => ({
  values: values({ shot: 'no-face', subject: 'terminal' }, 'measured'),
}))

async function open(fake: FakeVisionOptions = {}, env: Record<string, string> = {}) {
  const opened = await openVisionService(close, { fake, env, workerOptions: { measuring } })
  service = opened.service
  return opened.endpoint
}

test('a configured model describes frames over the measured facts; tokens and cost are shown per video', async () => {
  const endpoint = await open({}, { VISION_REASONING_EFFORT: 'low' })
  const video = await addVideo(service, 5)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  const { json } = await service.get(`/api/videos/${video}/frames`)
  for (const frame of json.frames)
    expect(frame).toMatchObject({
      subject: 'ui',
      technique: 'screen-walkthrough',
      annotation: { model: 'fake-vl', confidence: { subject: 0.9 } },
    })
  for (const row of await frameRows(service, video)) {
    expect(row.subject_provenance).toMatchObject({ source: 'model', by: expect.stringContaining('fake-vl') })
    expect(row.tone_provenance).toMatchObject({ source: 'measured' })
  }
  const report = await service.call('GET', `/api/videos/${video}/status`)
  const { calls, input_tokens, output_tokens, cost_usd } = report.json.video.costs
  expect(calls).toBe(endpoint.calls.length)
  expect(endpoint.calls[0]!.body.reasoning_effort).toBe('low')
  expect(input_tokens).toBeGreaterThan(2_000)
  expect(output_tokens).toBeGreaterThan(0)
  expect(cost_usd).toBeGreaterThan(0)

  // The same images in a new row are answered from the cache.
  await deleteVideo(service.stores.db, video)
  const again = await addVideo(service, 5)
  await service.drain()
  expect(await videoRow(service, again)).toMatchObject({ status: 'ready' })
  expect(endpoint.calls.length).toBe(calls)
  expect((await frameRows(service, again)).map((row) => row.subject)).toEqual(Array(5).fill('ui'))
})

test('answers are forgotten when their pictures have been gone for a month, and not before', async () => {
  await open()
  const { db } = service.stores
  const answers = () => countOf(service, sql`select count(*) as n from vision_answers`)
  const age = () => db.execute(sql`update vision_answers set created_at = now() - interval '31 days'`)
  const gone = await addVideo(service, 2)
  // Its only image is the first of the other video.
  await addVideo(service, 1)
  await service.drain()
  expect(await answers()).toBe(2)
  await age()
  expect(await deleteUnusedAnswers(db)).toBe(0)
  await deleteVideo(db, gone)
  await db.execute(sql`update vision_answers set created_at = now()`)
  expect(await deleteUnusedAnswers(db)).toBe(0)
  await age()
  expect(await deleteUnusedAnswers(db)).toBe(1)
  expect(await answers()).toBe(1)
})

test(
  'a video whose budget is spent ends with what can be measured and the reason; ' + 'the next video has its own',
  async () => {
    // The first call already costs more.
    await open({}, { VISION_BUDGET_VIDEO: '0.000001', VISION_CONCURRENCY: '1' })
    const video = await addVideo(service, 40)
    await service.drain()
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    const { rows } = await service.stores.db.execute<{ status: string; reason: string | null; n: string }>(
      sql`select status, reason, count(*) as n from annotations group by 1, 2 order by 1`,
    )
    expect(rows.map(({ status, reason }) => [status, reason])).toEqual([
      ['annotated', null],
      ['failed', 'video_budget_spent'],
    ])
    const unpaid = await countOf(
      service,
      sql`select count(*) as n from frames f join annotations a on a.frame_id = f.id
         where a.status = 'failed' and f.shot is not null`,
    )
    // Measured values cost nothing and are stored.
    expect(unpaid).toBeGreaterThan(0)
    const next = await addVideo(service, '1 counting-1')
    await service.stores.db.execute(sql`delete from vision_answers`)
    await service.drain()
    expect((await frameRows(service, next))[0]).toMatchObject({ subject: 'ui' })
  },
)

test('a re-annotation is not cut short by what the ingestion cost', async () => {
  const endpoint = await open({}, { VISION_BUDGET_VIDEO: '0.03', VISION_CONCURRENCY: '1' })
  const { db } = service.stores
  const video = await addVideo(service, 8)
  await service.drain()
  // The video has cost $0.02, and one more call would use up its budget.
  await db.execute(sql`delete from vision_answers`)
  for (let n = 0; n < 3; n++) {
    await requestReannotation(db, (await findAnnotator(db))!.version, { videoId: video, again: true })
    await service.drain()
    await db.execute(sql`delete from vision_answers`)
  }
  expect(await countOf(service, sql`select count(*) as n from annotations where status = 'annotated'`)).toBe(8)
  expect(await countOf(service, sql`select count(*) as n from annotations where status = 'failed'`)).toBe(0)
  expect(endpoint.calls).toHaveLength(4)
})

test.each(['VISION_BUDGET_DAY', 'VISION_BUDGET_VIDEO'])(
  '%s with an endpoint that does not tell its usage: it stops and says so',
  async (name) => {
    const endpoint = await open({ withoutUsage: true }, { [name]: '5', VISION_CONCURRENCY: '2' })
    const video = await addVideo(service, 64)
    await until(async () => (await findAnnotatorStatus(service.stores.db)).problem?.code === 'misconfigured')
    expect((await findAnnotatorStatus(service.stores.db)).problem!.message).toBe(
      'The vision endpoint reports no token usage, so no budget can be kept. ' +
        'Make it report usage, or unset VISION_BUDGET_VIDEO and VISION_BUDGET_DAY.',
    )
    expect(endpoint.calls.length).toBeLessThanOrEqual(4)
    expect(await videoRow(service, video)).toMatchObject({ status: 'annotating' })
  },
)

test('without a budget such an endpoint may serve', async () => {
  await open({ withoutUsage: true })
  const video = await addVideo(service, 8)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
})

test(
  'a video deleted while a call for it runs: ' +
    'however long it takes, the call is in the ledger, and none follows it',
  async () => {
    let asked = 0
    const answer = Promise.withResolvers<undefined>()
    const replace = () => {
      asked++
      return answer.promise
    }
    // It leaves out frames that would be asked about again.
    const endpoint = await open({ replace, plan: () => 'missing-frames' })
    const video = await addVideo(service, 8)
    await until(() => asked > 0)
    await deleteVideo(service.stores.db, video)
    // The answer outlasts several checks of the revision.
    setTimeout(answer.resolve, 2_500)
    await service.drain()
    expect(endpoint.calls.length).toBe(1)
    const { calls, cost_usd } = await costsOf(service.stores.db)
    expect(calls).toBe(1)
    expect(cost_usd).toBeGreaterThan(0)
  },
)

test('two workers share one limit of calls under way', async () => {
  const endpoint = await open({ delayMs: 60 }, { VISION_CONCURRENCY: '3' })
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const second = await openWorker({ config, databaseUrl, redisUrl, prefix, logger, roles: ['annotate'], measuring })
  close({ [Symbol.asyncDispose]: () => second.stop(5_000) })
  const video = await addVideo(service, 64)
  await service.drain()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(endpoint.mostAtOnce).toBeLessThanOrEqual(3)
  // Near-identical images may share an answer. None is paid for twice.
  expect([...endpoint.paid.values()].every((times) => times === 1)).toBe(true)
})

/** One limit, opened as by two processes. */
async function openTwoLimits(concurrency: number) {
  const { redis, redisUrl, prefix } = close(await openStores())
  const other = new Redis(redisUrl)
  close({ [Symbol.asyncDispose]: async () => other.disconnect() })
  const options = { name: `${prefix}:t`, concurrency, perMinute: 0, leaseMs: 180_000 }
  return { redis, name: options.name, limits: [sharedLimit(redis, options), sharedLimit(other, options)] }
}

test(
  'the shared limit: never more than allowed over two processes’ worth of holders, ' + 'a dead one’s place comes back',
  async () => {
    const { redis, name, limits } = await openTwoLimits(4)
    let held = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const { release } = await limits[n % 2]!.acquire(new AbortController().signal)
        most = Math.max(most, ++held)
        await new Promise((resolve) => setImmediate(resolve))
        held--
        release()
        release()
      }),
    )
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
    // A dead holder: its lease has expired.
    await redis.zadd(
      `limit:${name}`,
      Date.now() - 1,
      'dead-1',
      Date.now() - 1,
      'dead-2',
      Date.now() - 1,
      'dead-3',
      Date.now() - 1,
      'dead-4',
    )
    const { release } = await limits[0]!.acquire(new AbortController().signal)
    release()
    const stop = new AbortController()
    const full = await Promise.all(Array.from({ length: 4 }, () => limits[0]!.acquire(stop.signal)))
    const waiting = limits[1]!.acquire(stop.signal)
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow()
    for (const place of full) place.release()
  },
)

test(
  'the shared limit while Redis is away: ' + 'as many as allowed within the process, also when all ask at once',
  async () => {
    const away = new Redis('redis://127.0.0.1:1', {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      lazyConnect: true,
      retryStrategy: null,
    })
    away.on('error', () => undefined)
    close({ [Symbol.asyncDispose]: async () => away.disconnect() })
    const limit = sharedLimit(away, { name: 't', concurrency: 2, perMinute: 0, leaseMs: 180_000 })
    const held: { release(): void }[] = []
    const most: number[] = []
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        held.push(await limit.acquire(new AbortController().signal))
        most.push(held.length)
        await new Promise((resolve) => setImmediate(resolve))
        held.pop()!.release()
      }),
    )
    expect(Math.max(...most)).toBe(2)
  },
)
