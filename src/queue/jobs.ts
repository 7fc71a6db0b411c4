import { z } from 'zod'

/** Every job there is. A job is a wake-up call: it carries ids, the truth is in Postgres, and doing it twice changes nothing. */

const ids = { videoId: z.string(), revision: z.number().int() }

export const JOBS = {
  'ingest-video': z.strictObject(ids),
  'annotate-frames': z.strictObject({ ...ids, annotator: z.string(), frameIds: z.array(z.string()).min(1) }),
  'remove-media': z.strictObject({ videoId: z.string(), uploadKey: z.string().nullable() }),
} as const

export type JobName = keyof typeof JOBS
export type JobData<N extends JobName> = z.infer<(typeof JOBS)[N]>

/** Live work never waits behind a back-fill: each has queues of its own. */
export const QUEUES = ['ingest', 'ingest-backfill', 'annotate', 'annotate-backfill', 'housekeeping'] as const
export type QueueName = (typeof QUEUES)[number]

export function queueFor(name: JobName, backfill: boolean): QueueName {
  if (name === 'ingest-video') return backfill ? 'ingest-backfill' : 'ingest'
  if (name === 'annotate-frames') return backfill ? 'annotate-backfill' : 'annotate'
  return 'housekeeping'
}

/** Attempts count failures of the work; a killed worker is a stall and has its own, high limit (work.ts). */
export const JOB_OPTIONS = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 2_000, jitter: 0.5 },
  removeOnComplete: { age: 3_600, count: 10_000 },
  removeOnFail: { age: 14 * 86_400, count: 100_000 },
} as const
