import { Histogram } from 'prom-client'
import { type Config, VERSION } from '../config.ts'
import type { Db } from '../db/client.ts'
import { VIDEO_STATUSES } from '../db/schema/videos.ts'
import { eventFamilies } from '../events/lag.ts'
import { costsOf } from '../library/annotator/vision-spending.ts'
import { countByStatus } from '../library/videos/video-status.ts'
import { counter, type Family, gauge, openMetrics, openProcessMetrics, type Source } from '../metrics.ts'
import { queueFamilies } from '../queue/job-counts.ts'
import type { Queues } from '../queue/queues.ts'
import type { WorkOptions } from '../queue/work.ts'
import { sql } from '../sql/orm.ts'
import { countWebhooks } from '../webhooks/describe.ts'

export interface WorkerMetrics {
  text(): Promise<string>
  onAttempt: NonNullable<WorkOptions['onAttempt']>
}

/**
 * The metrics of a worker: its own jobs, and the state of the stores. Every worker reports the same stores, so
 * aggregate with `max`, never with `sum`.
 */
export function openWorkerMetrics(deps: { db: Db; queues: Queues; config: Pick<Config, 'vision'> }): WorkerMetrics {
  const { db, queues, config } = deps
  const registry = openProcessMetrics({ version: VERSION, part: 'worker', pool: db.$client })
  const jobs = new Histogram({
    name: 'frames_job_duration_seconds',
    help: 'Time of an attempt at a job, by how it ended.',
    // Not `job`, which Prometheus sets itself.
    labelNames: ['job_name', 'outcome'],
    buckets: [0.1, 0.5, 1, 2.5, 10, 30, 60, 300, 900],
    registers: [registry],
  })
  const sources: Source[] = [
    { name: 'events', collect: () => eventFamilies(db) },
    { name: 'queues', collect: () => queueFamilies(queues) },
    { name: 'library', collect: () => libraryFamilies(db) },
    { name: 'webhooks', collect: () => webhookFamilies(db) },
    { name: 'model', collect: () => modelFamilies(db, config) },
  ]
  return {
    text: openMetrics(registry, sources),
    onAttempt: (job, outcome, seconds) => jobs.observe({ job_name: job, outcome }, seconds),
  }
}

async function libraryFamilies(db: Db): Promise<Family[]> {
  const found = await countByStatus(db)
  return [
    gauge(
      'frames_videos',
      'Videos by status.',
      VIDEO_STATUSES.map((status) => ({ labels: { status }, value: found[status] ?? 0 })),
    ),
  ]
}

async function webhookFamilies(db: Db): Promise<Family[]> {
  const { attempts, endpoints, lagSeconds } = await countWebhooks(db)
  const samples = (name: string, counts: Record<string, number>) =>
    Object.entries(counts).map(([key, value]) => ({ labels: { [name]: key }, value }))
  return [
    counter(
      'frames_webhook_attempts_total',
      'Attempts to deliver an event, by how they ended.',
      samples('outcome', attempts),
    ),
    gauge('frames_webhook_endpoints', 'Webhook receivers by state.', samples('state', endpoints)),
    gauge(
      'frames_webhook_lag_seconds',
      'Age of the oldest event that an active receiver was not sent yet; 0 without one.',
      [{ value: lagSeconds }],
    ),
  ]
}

/** Totals are the figures of all days. They are counted from events, so they never fall. */
async function modelFamilies(db: Db, { vision }: Pick<Config, 'vision'>): Promise<Family[]> {
  const { rows } = await db.execute<{ calls: string; cost: string }>(sql`
    select coalesce(sum(count), 0) as calls, coalesce(sum(amount), 0) as cost
      from analytics_figures where figure = 'model_calls'`)
  const { cost_usd } = await costsOf(db)
  const budget = vision?.budgetPerDay
  return [
    counter('frames_model_calls_total', 'Paid calls of vision and text models.', [{ value: Number(rows[0]!.calls) }]),
    counter('frames_model_cost_dollars_total', 'Cost of all calls with a price.', [{ value: Number(rows[0]!.cost) }]),
    gauge('frames_model_cost_day_dollars', 'Cost of the last 24 hours.', [{ value: cost_usd }]),
    gauge(
      'frames_model_budget_day_dollars',
      'VISION_BUDGET_DAY; no value without one.',
      budget === undefined ? [] : [{ value: budget }],
    ),
  ]
}
