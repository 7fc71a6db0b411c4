import { expect, test } from 'vitest'
import { findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import { costsOf } from '../../src/library/annotator/vision-spending.ts'
import { sql } from '../../src/sql/orm.ts'
import { type OpenWorker, openWorker } from '../../src/workers/main.ts'
import { useClosing } from '../support/closing.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { addVideo, countOf, extractFromNumber, videoRow } from './support.ts'
import { measuring, openVisionService } from './vision-service.ts'

let service: Service
const close = useClosing()

/** A service without a worker, and workers of the test. */
async function open(fake: FakeVisionOptions, env: Record<string, string> = {}) {
  const opened = await openVisionService(close, { fake, env, worker: false })
  const { endpoint } = opened
  service = opened.service
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  async function work(): Promise<OpenWorker> {
    const worker = await openWorker({
      ...{ config, databaseUrl, redisUrl, prefix, logger, measuring },
      ...{ extract: extractFromNumber, reconcileMs: 3_600_000, lockMs: 2_000 },
    })
    let stopped: Promise<void> | undefined
    const stop = (deadlineMs?: number) => {
      stopped ??= worker.stop(deadlineMs)
      return stopped
    }
    close({ [Symbol.asyncDispose]: () => stop(5_000) })
    return { ...worker, stop }
  }
  return { endpoint, work }
}

const outcomes = async () =>
  (
    await service.stores.db.execute<{ outcome: string; cost: number }>(
      sql`select outcome, cost_usd as cost from vision_calls order by id`,
    )
  ).rows

/** The mean cost of calls is known from two days ago: $0.02, as a call of eight frames costs here. */
const knownCost = () =>
  service.stores.db.execute(
    sql`insert into vision_calls (model, frames, cost_usd, duration_ms, outcome, at)
        values ('fake-vl', 8, 0.02, 1, 'ok', now() - interval '2 days')`,
  )

test('a stopping worker waits for the answer it has paid for', async () => {
  const answer = Promise.withResolvers<void>()
  let asked = 0
  const { work } = await open({
    replace: async () => {
      asked++
      await answer.promise
      return undefined
    },
  })
  const worker = await work()
  await addVideo(service, 16)
  await until(() => asked === 2)
  const stopped = worker.stop(30_000)
  setTimeout(() => answer.resolve(), 300)
  await stopped
  expect(asked).toBe(2)
  expect(await countOf(service, sql`select count(*) as n from annotations where status = 'annotated'`)).toBe(16)
  expect((await outcomes()).map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
})

test('one that cannot wait so long leaves the call in the ledger at its expected cost', async () => {
  const { endpoint, work } = await open({ plan: () => 'hang' }, { VISION_BUDGET_DAY: '1' })
  await knownCost()
  const worker = await work()
  await addVideo(service, 8)
  await until(() => endpoint.calls.length === 1)
  await worker.stop(200)
  expect((await costsOf(service.stores.db)).cost_usd).toBeCloseTo(0.02)
  expect((await outcomes()).at(-1)).toEqual({ outcome: 'sent', cost: 0.02 })
})

test.each(['DAY', 'VIDEO'])(
  'what is left of a budget is spent once, by two workers with many calls: %s',
  async (of) => {
    let asked = 0
    const answers = Promise.withResolvers<undefined>()
    // Three calls fit. None is answered before all are under way.
    const replace = () => {
      if (++asked === 3) answers.resolve(undefined)
      return answers.promise
    }
    const { work } = await open({ replace }, { [`VISION_BUDGET_${of}`]: '0.05', VISION_CONCURRENCY: '16' })
    const { db } = service.stores
    await knownCost()
    const workers = [await work(), await work()]
    const video = await addVideo(service, 64)
    if (of === 'VIDEO') {
      for (const worker of workers) await worker.drain()
      expect(await videoRow(service, video)).toMatchObject({ status: 'ready' })
    }
    const spent = async () => (await findAnnotatorStatus(db)).problem?.code === 'budget_spent'
    await until(async () => (await costsOf(db, video)).calls === 3 && (of === 'VIDEO' || (await spent())))
    expect(asked).toBe(3)
    expect((await costsOf(db, video)).cost_usd).toBeLessThan(0.05 + 0.021)
  },
)
