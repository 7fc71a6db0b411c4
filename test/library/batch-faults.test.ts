import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { VisionConfig } from '../../src/config.ts'
import { openDb } from '../../src/db/client.ts'
import { findAnnotator, findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import { costsOf } from '../../src/library/annotator/vision-spending.ts'
import { requestReannotation } from '../../src/library/frames/reannotation.ts'
import { cancelVideo, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { openPaidJournal } from '../../src/workers/paid-journal.ts'
import { useClosing } from '../support/closing.ts'
import { startCutOff } from '../support/cut-off.ts'
import type { FakeBatchOptions } from '../support/fake-batches.ts'
import { until } from '../support/until.ts'
import { halfOf, openBatchService } from './batch-fixture.ts'
import { addVideo, countOf, frameRows, videoRow } from './support.ts'

const close = useClosing()

/** A service whose endpoint fails at a request as long as the test says so. `fails`: the beginning of the request. */
async function open(batches: Omit<FakeBatchOptions, 'answer' | 'fails'> = {}, env: Record<string, string> = {}) {
  const failing = { at: '', status: 0 }
  const fails = (request: string) => (failing.at !== '' && request.startsWith(failing.at) ? failing.status : undefined)
  const opened = await openBatchService(close, { fake: { batches: { ...batches, fails } }, env })
  const { service, endpoint, round, work } = opened
  const db = service.stores.db
  /** A back-fill that waits for its batch. */
  async function addBackfill(frames: number) {
    const video = await addVideo(service, frames, { backfill: true })
    await service.drain()
    return video
  }
  /** The batches at the provider end, and their answers are recorded. */
  async function finish() {
    endpoint.batches.end()
    await round()
    await work()
  }
  return {
    ...{ ...opened, db, addBackfill, finish },
    fail(at: string, status: number) {
      Object.assign(failing, { at, status })
    },
    age: (hours: number) =>
      db.execute(sql`update vision_batches set created_at = now() - make_interval(hours => ${hours}::int)`),
    statusOf: async (video: string) => (await videoRow(service, video))?.status,
    stored: () => countOf(service, sql`select count(*) as n from vision_batches`),
    reserved: () => countOf(service, sql`select count(*) as n from vision_calls where outcome = 'sent'`),
    subjects: async (video: string) => (await frameRows(service, video)).map(({ subject }) => subject),
  }
}

test('a file of errors that cannot be read costs none of the answers', async () => {
  const { endpoint, round, work, fail, addBackfill, finish, statusOf, db } = await open({
    request: (batch, n) => (batch === 0 && n === 1 ? 'failed' : 'answered'),
  })
  const video = await addBackfill(16)
  await round()
  endpoint.batches.end()
  fail(`GET /v1/files/${endpoint.batches.batches[0]!.error_file_id}`, 404)
  await round()
  await work()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.calls).toHaveLength(0)
  const frames = endpoint.batches.paid.size
  expect([...endpoint.batches.paid.values()]).toEqual(Array(frames).fill(1))
  // What the lost file was about may be charged, so it stays in the books.
  expect((await costsOf(db, video)).calls).toBe(3)
})

test('a frame that waits for its second batch and is answered otherwise holds up none of its neighbours', async () => {
  const { endpoint, round, addBackfill, finish, statusOf, db } = await open({
    request: (batch) => (batch === 0 ? 'missing' : 'answered'),
  })
  const video = await addBackfill(8)
  await round()
  await db.execute(sql`
    insert into vision_answers (image_sha256, model, prompt, answer)
    select f.image_sha256, b.model, b.prompt_version, '{"status":"annotated","values":{},"issues":[]}'
      from frames f, vision_batches b where f.t_ms = 0`)
  await finish()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.batches.batches).toHaveLength(2)
  expect(endpoint.calls).toHaveLength(0)
})

test.each([
  ['GET /v1/batches/', 401],
  ['GET /v1/batches/', 402],
  ['GET /v1/batches/', 403],
  ['POST /v1/files', 401],
  ['GET /v1/files', 401],
])('%s answers %i: the batch waits for the right key, and one status line says why', async (at, status) => {
  const { endpoint, round, fail, addBackfill, finish, statusOf, reserved, service, db } = await open()
  const video = await addBackfill(8)
  if (at !== 'POST /v1/files') await round()
  if (at === 'GET /v1/files') endpoint.batches.end()
  fail(at, status)
  for (let n = 0; n < 3; n++) await expect(round()).rejects.toThrow()
  expect((await findAnnotatorStatus(db)).problem?.code).toBe(status === 402 ? 'budget_spent' : 'misconfigured')
  expect(await reserved()).toBe(1)
  fail('', 0)
  await round()
  expect((await findAnnotatorStatus(db)).problem).toBeNull()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.batches.batches).toHaveLength(1)
  expect(endpoint.calls).toHaveLength(0)
  expect((await costsOf(service.stores.db)).calls).toBe(1)
})

test('a batch that the endpoint does not know is waited for two days, and stays in the books', async () => {
  const { endpoint, round, fail, age, addBackfill, finish, statusOf, stored, reserved, db } = await open()
  const video = await addBackfill(8)
  await round()
  fail('GET /v1/batches/batch-0', 404)
  await expect(round()).rejects.toThrow()
  expect((await findAnnotatorStatus(db)).problem?.message).toContain('does not know a batch')
  expect([await stored(), await reserved()]).toEqual([1, 1])
  await age(49)
  await round()
  expect([await stored(), await reserved()]).toEqual([2, 2])
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.calls).toHaveLength(0)
})

test('without a model the frames of a batch are measured at once; its answers are collected later', async () => {
  const { endpoint, service, round, work, restart, addBackfill, statusOf, reserved } = await open()
  const video = await addBackfill(8)
  await round()
  await restart(undefined)
  await work()
  expect(await statusOf(video)).toBe('ready')
  endpoint.batches.end()
  await round()
  expect(await reserved()).toBe(0)
  expect(await countOf(service, sql`select count(*) as n from vision_answers`)).toBe(endpoint.batches.paid.size)
})

type Opened = Awaited<ReturnType<typeof open>>

/** Rounds with other settings: until their batch is sent, then until its answers have described the video. */
async function describeWith(
  { endpoint, round, work, statusOf }: Opened,
  { rules, video, batch }: { rules: VisionConfig; video: string; batch: number },
) {
  // The worker's own first round may be running.
  await until(async () => {
    await round(undefined, { rules })
    return endpoint.batches.batches.length === batch
  })
  endpoint.batches.end()
  await until(async () => {
    await round(undefined, { rules })
    await work()
    return (await statusOf(video)) === 'ready'
  })
}

test('a batch of the last model holds up no frame of the next one', async () => {
  const opened = await open()
  const { endpoint, service, round, work, restart, addBackfill } = opened
  const video = await addBackfill(8)
  await round()
  const next = { ...service.config.vision!, model: 'next-vl' }
  await restart(next)
  await work()
  await describeWith(opened, { rules: next, video, batch: 2 })
  expect(endpoint.calls).toHaveLength(0)
})

test('an upload that fails is tried again, then VISION_BATCH=0 frees the frames', async () => {
  const { endpoint, service, round, work, restart, fail, addBackfill, statusOf, stored, reserved } = await open()
  const video = await addBackfill(8)
  fail('POST /v1/files', 500)
  await expect(round()).rejects.toThrow()
  const other = await addBackfill(8)
  await expect(round()).rejects.toThrow()
  // An endpoint that does not take one gets no second.
  expect(await stored()).toBe(1)
  const rules = { ...service.config.vision!, batch: false }
  await round(undefined, { rules })
  expect(await reserved()).toBe(0)
  await restart(rules)
  await work()
  expect([await statusOf(video), await statusOf(other)]).toEqual(['ready', 'ready'])
  expect(endpoint.batches.batches).toHaveLength(0)
})

test('an upload that fails for a day, twice, sends the frames in usual calls', async () => {
  const { endpoint, round, work, fail, age, addBackfill, statusOf } = await open()
  const video = await addBackfill(8)
  fail('POST /v1/files', 500)
  for (let n = 0; n < 2; n++) {
    await expect(round()).rejects.toThrow()
    await age(25)
    await round().catch(() => undefined)
  }
  await work()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.calls).toHaveLength(1)
})

test('a batch whose state cannot be read does not hold up the others', async () => {
  const { endpoint, round, work, fail, addBackfill, statusOf } = await open()
  const first = await addBackfill(8)
  await round()
  const later = await addBackfill(4)
  await round()
  fail('GET /v1/batches/batch-0', 500)
  endpoint.batches.end()
  await expect(round()).rejects.toThrow()
  await work()
  expect(await statusOf(later)).toBe('ready')
  expect(await statusOf(first)).toBe('annotating')
  fail('', 0)
  await round()
  await work()
  expect(await statusOf(first)).toBe('ready')
})

test('a re-annotation after a back-fill goes through batches too', async () => {
  const { endpoint, service, round, work, addBackfill, finish, statusOf, db } = await open()
  const video = await addBackfill(8)
  await round()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  await db.execute(sql`delete from vision_answers`)
  expect(await requestReannotation(db, (await findAnnotator(db))!.version, { again: true })).toBe(8)
  await work()
  await round()
  expect(endpoint.batches.batches).toHaveLength(2)
  await finish()
  expect(await countOf(service, sql`select count(*) as n from reannotations`)).toBe(0)
  expect(endpoint.calls).toHaveLength(0)
})

test('settings that change while frames wait let them go into batches again', async () => {
  const opened = await open({ request: (batch) => (batch < 2 ? 'missing' : 'answered') })
  const { service, endpoint, round, work, restart, addBackfill, finish } = opened
  const video = await addBackfill(8)
  await round()
  await finish()
  endpoint.batches.end()
  await round()
  const next = { ...service.config.vision!, model: 'next-vl' }
  await restart(next)
  await work()
  await describeWith(opened, { rules: next, video, batch: 3 })
  expect(endpoint.calls).toHaveLength(0)
})

test('an image that is replaced while its frame is in a batch does not get the answer about the old one', async () => {
  const { service, endpoint, round, work, addBackfill, finish, statusOf, db } = await open()
  const video = await addBackfill(8)
  await round()
  // The next extraction finds another image than this one.
  await db.execute(sql`update frames set image_sha256 = ${'0'.repeat(64)} where t_ms = 0`)
  await cancelVideo(db, video)
  await retryVideo(db, video)
  await work()
  await finish()
  const about = sql`image_sha256 = (select image_sha256 from frames where t_ms = 0)`
  expect(await countOf(service, sql`select count(*) as n from vision_answers where ${about}`)).toBe(0)
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.batches.batches).toHaveLength(2)
})

test('answers of a batch that used up the video’s budget are taken', async () => {
  // A request of eight frames costs $0.0102 in a batch.
  const { round, addBackfill, finish, statusOf, subjects, endpoint } = await open({}, { VISION_BUDGET_VIDEO: '0.01' })
  const video = await addBackfill(16)
  await round()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.batches.paid.size).toBeGreaterThan(0)
  expect((await subjects(video)).filter((subject) => subject === 'ui').length).toBeGreaterThanOrEqual(
    endpoint.batches.paid.size,
  )
})

test('answers that PostgreSQL could not take when they came are there before the frames are asked about', async () => {
  const { endpoint, service, round, work, addBackfill, statusOf, db } = await open()
  const video = await addBackfill(8)
  await round()
  endpoint.batches.end()
  const postgres = close(await startCutOff(service.stores.databaseUrl))
  const { logger } = service
  const away = openDb({ url: postgres.url, max: 1, applicationName: 'test', logger })
  const folder = await mkdtemp(join(tmpdir(), 'frames-kept-'))
  close({
    async [Symbol.asyncDispose]() {
      await away.$client.end()
      await rm(folder, { recursive: true })
    },
  })
  const journal = await openPaidJournal({ db: away, folder, logger })
  postgres.cut()
  const back = () => postgres.restore()
  await round(back, journal)
  await work()
  expect(await statusOf(video)).toBe('ready')
  expect(endpoint.calls).toHaveLength(0)
  expect((await costsOf(db)).cost_usd).toBeCloseTo(halfOf(1, endpoint.batches.paid.size), 9)
})

test('a batch is found again behind hundreds of others', async () => {
  const { endpoint, round, addBackfill, finish, statusOf } = await open()
  const video = await addBackfill(8)
  const dying = (at: string) => {
    if (at === 'batch-created') throw new Error('killed')
  }
  await expect(round(dying)).rejects.toThrow('killed')
  const { batches } = endpoint.batches
  for (let n = 0; n < 250; n++)
    batches.push({ ...batches[0]!, id: `other-${n}`, input_file_id: 'of-others', status: 'completed' })
  await round()
  await finish()
  expect(await statusOf(video)).toBe('ready')
  expect(batches).toHaveLength(251)
})
