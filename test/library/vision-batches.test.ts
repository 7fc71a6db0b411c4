import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { costsOf, expectedCostOfFrames } from '../../src/library/annotator/vision-spending.ts'
import { useClosing } from '../support/closing.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { halfOf, openBatchService } from './batch-fixture.ts'
import { addVideo, countOf, frameRows, videoRow } from './support.ts'

let service: Service
const close = useClosing()

async function open(fake: FakeVisionOptions = {}, env: Record<string, string> = {}) {
  const opened = await openBatchService(close, { fake, env })
  service = opened.service
  return opened
}

const callsThatAre = (what: 'sent' | 'ok') =>
  countOf(service, sql`select count(*) as n from vision_calls where outcome = ${what}`)

test('a back-fill goes through batches at half the price, a live video does not wait', async () => {
  const { endpoint, round, work } = await open()
  const video = await addVideo(service, 24, { backfill: true })
  const live = await addVideo(service, '1 counting-1')
  await service.drain()
  expect(await videoRow(service, live)).toMatchObject({ status: 'ready' })
  const calls = endpoint.calls.length
  expect(calls).toBe(1)
  await round()
  await work()
  await round()
  expect(endpoint.batches.batches).toHaveLength(1)
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating' })
  // What may have to be paid is in the books before the answers come.
  expect(await callsThatAre('sent')).toBe(3)
  expect((await costsOf(service.stores.db, video)).cost_usd).toBeGreaterThan(0)
  endpoint.batches.end()
  await round()
  await work()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect((await frameRows(service, video)).map(({ subject }) => subject)).toEqual(Array(24).fill('ui'))
  expect(endpoint.calls).toHaveLength(calls)
  const frames = endpoint.batches.paid.size
  expect([...endpoint.batches.paid.values()]).toEqual(Array(frames).fill(1))
  expect((await costsOf(service.stores.db, video)).cost_usd).toBeCloseTo(halfOf(3, frames), 9)
})

test.each(['batch-written', 'batch-uploaded', 'batch-created', 'batch-answer-kept'] as const)(
  'a process that dies at %s: one batch, every answer once, the books exact',
  async (step) => {
    const { endpoint, round, work } = await open()
    const video = await addVideo(service, 24, { backfill: true })
    await service.drain()
    const dying = (at: string) => {
      if (at === step) throw new Error('killed')
    }
    if (step === 'batch-answer-kept') await round()
    else await expect(round(dying)).rejects.toThrow('killed')
    endpoint.batches.end()
    if (step === 'batch-answer-kept') await expect(round(dying)).rejects.toThrow('killed')
    await round()
    endpoint.batches.end()
    await round()
    await work()
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    expect(endpoint.batches.batches).toHaveLength(1)
    expect(endpoint.calls).toHaveLength(0)
    const frames = endpoint.batches.paid.size
    expect([...endpoint.batches.paid.values()]).toEqual(Array(frames).fill(1))
    const { calls, cost_usd } = await costsOf(service.stores.db)
    expect(calls).toBe(3)
    expect(cost_usd).toBeCloseTo(halfOf(3, frames), 9)
    expect(await countOf(service, sql`select count(*) as n from events where type = 'model.called'`)).toBe(3)
  },
)

test('two rounds at once make one batch', async () => {
  const { endpoint, round } = await open()
  await addVideo(service, 8, { backfill: true })
  await service.drain()
  await Promise.all([round(), round(), round()])
  await round()
  expect(endpoint.batches.batches).toHaveLength(1)
})

test('of failed, broken, missing and repeated lines, what is not answered goes into one more batch', async () => {
  const { endpoint, round, work } = await open({
    batches: {
      request: (batch, n) => (batch === 0 ? (['twice', 'failed', 'garbage', 'missing'] as const)[n]! : 'answered'),
    },
  })
  const video = await addVideo(service, 32, { backfill: true })
  await service.drain()
  await round()
  endpoint.batches.end()
  await round()
  await work()
  // The failed ones have left the books, and the new batch is in them.
  expect(await callsThatAre('ok')).toBe(1)
  expect(await callsThatAre('sent')).toBe(3)
  endpoint.batches.end()
  await round()
  await work()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(endpoint.batches.batches).toHaveLength(2)
  expect(endpoint.calls).toHaveLength(0)
  const frames = endpoint.batches.paid.size
  expect((await costsOf(service.stores.db)).cost_usd).toBeCloseTo(halfOf(4, frames), 9)
})

test.each(['expired', 'failed', 'cancelled'] as const)(
  'batches that end as %s twice: the frames are asked about as usual',
  async (as) => {
    const { endpoint, round, work } = await open({ batches: { ends: () => as, request: () => 'missing' } })
    const video = await addVideo(service, 8, { backfill: true })
    await service.drain()
    for (let n = 0; n < 2; n++) {
      await round()
      endpoint.batches.end()
      await round()
      await work()
    }
    await round()
    await work()
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    expect(endpoint.batches.batches).toHaveLength(2)
    expect(endpoint.calls).toHaveLength(1)
    expect((await costsOf(service.stores.db)).calls).toBe(1)
  },
)

test('after batches, a call is expected to cost what a call costs', async () => {
  const { endpoint, round, work } = await open()
  const video = await addVideo(service, 16, { backfill: true })
  await service.drain()
  await round()
  endpoint.batches.end()
  await round()
  await work()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  const { calls, cost_usd } = await expectedCostOfFrames(service.stores.db, 'fake-vl', 16)
  // Two requests at half the price cost what one call costs.
  expect(cost_usd! / calls).toBeCloseTo((await costsOf(service.stores.db)).cost_usd, 9)
})

test('a provider that writes its words in capitals, and no file as an empty text', async () => {
  const { endpoint, round, work } = await open()
  const video = await addVideo(service, 8, { backfill: true })
  await service.drain()
  await round()
  endpoint.batches.end()
  for (const batch of endpoint.batches.batches) {
    batch.status = batch.status.toUpperCase()
    batch.error_file_id = ''
  }
  await round()
  await work()
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(endpoint.calls).toHaveLength(0)
})

test('a batch is as large as the day’s budget allows; the rest waits', async () => {
  const { endpoint, round, work } = await open({}, { VISION_BUDGET_DAY: '0.021' })
  // A call costs $0.02, a request of a batch half of it: with three of them the budget is spent.
  await service.stores.db.execute(
    sql`insert into vision_calls (model, frames, cost_usd, duration_ms, outcome, at)
        values ('fake-vl', 8, 0.02, 1, 'ok', now() - interval '2 days')`,
  )
  const video = await addVideo(service, 64, { backfill: true })
  await service.drain()
  await round()
  await work()
  await round()
  expect(await callsThatAre('sent')).toBe(3)
  expect((await costsOf(service.stores.db)).cost_usd).toBeCloseTo(0.03)
  expect(endpoint.calls).toHaveLength(0)
  expect(await videoRow(service, video)).toMatchObject({ status: 'annotating' })
})

test('an endpoint without batches: the frames are asked about as usual', async () => {
  const { endpoint, round, work } = await open({ batches: undefined as never })
  const video = await addVideo(service, 8, { backfill: true })
  await service.drain()
  expect(endpoint.calls).toHaveLength(0)
  for (let n = 0; n < 3; n++) {
    await round()
    await work()
  }
  expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
  expect(endpoint.calls).toHaveLength(1)
  expect((await costsOf(service.stores.db)).calls).toBe(1)
})
