import { z } from 'zod'

/** What a worker process can run at once. */
export interface Capacity {
  cores: number
  /** Calls that the configured vision model may run at once; undefined without a model. */
  modelCalls: number | undefined
}

interface JobContract {
  schema: z.ZodType
  /** Live work has its own queue, so that it never waits behind a back-fill. */
  queues: { live: string; backfill: string }
  role: Role
  /** Attempts before the job fails for good. A killed worker is a stall, which has its own limit (work.ts). */
  attempts: number
  /** Jobs that one process runs at once, per queue. */
  concurrency: (capacity: Capacity) => { live: number; backfill: number }
}

const ids = { videoId: z.string(), revision: z.number().int() }

/**
 * Every job there is. A job is a wake-up call: it carries ids, the truth is in Postgres, and running it twice changes
 * nothing.
 */
export const JOBS = {
  'ingest-video': {
    schema: z.strictObject(ids),
    queues: { live: 'ingest', backfill: 'ingest-backfill' },
    role: 'ingest',
    attempts: 5,
    concurrency: ({ cores }) => ({ live: cores, backfill: 1 }),
  },
  'annotate-frames': {
    schema: z.strictObject({ ...ids, annotator: z.string(), frameIds: z.array(z.string()).min(1) }),
    queues: { live: 'annotate', backfill: 'annotate-backfill' },
    role: 'annotate',
    attempts: 5,
    // Twice the calls that may run at once, so that the next request is ready when a reply arrives.
    concurrency: ({ cores, modelCalls }) =>
      modelCalls === undefined ? { live: cores, backfill: 1 } : { live: modelCalls * 2, backfill: modelCalls },
  },
  'remove-media': {
    schema: z.strictObject({ videoId: z.string(), uploadKey: z.string().nullable() }),
    queues: { live: 'housekeeping', backfill: 'housekeeping' },
    role: 'events',
    attempts: 5,
    concurrency: () => ({ live: 2, backfill: 2 }),
  },
} as const satisfies Record<string, JobContract>

export type JobName = keyof typeof JOBS
export type JobData<N extends JobName> = z.infer<(typeof JOBS)[N]['schema']>
export type QueueName = (typeof JOBS)[JobName]['queues']['live' | 'backfill']

export const QUEUES: readonly QueueName[] = [
  ...new Set(Object.values(JOBS).flatMap(({ queues }) => [queues.live, queues.backfill])),
]

export function queueOf(name: JobName, { backfill }: { backfill: boolean }): QueueName {
  const { queues } = JOBS[name]
  return backfill ? queues.backfill : queues.live
}

/** The queues that a process with these roles works on, and how many jobs of each it runs at once. */
export function concurrencyOf(roles: readonly Role[], capacity: Capacity): Map<QueueName, number> {
  const byQueue = new Map<QueueName, number>()
  for (const { role, queues, concurrency } of Object.values(JOBS)) {
    if (!roles.includes(role)) continue
    const { live, backfill } = concurrency(capacity)
    byQueue.set(queues.live, live).set(queues.backfill, backfill)
  }
  return byQueue
}

/**
 * What a worker process does; by default all of it. Scale `ingest` by cores and `annotate` by the model's limits. Each
 * event consumer runs in one `events` process at a time; the others stand by.
 */
export const ROLES = ['ingest', 'annotate', 'events'] as const
export type Role = (typeof ROLES)[number]
