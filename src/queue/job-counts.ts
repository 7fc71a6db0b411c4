import { type Family, gauge } from '../metrics.ts'
import { QUEUES, type QueueName } from './jobs.ts'
import type { Queues } from './queues.ts'
import { NEVER_REACHED } from './work.ts'

type StateCounts = Record<(typeof STATES)[number], number>

export interface JobCounts extends StateCounts {
  queue: QueueName
  paused: boolean
  /** Milliseconds for which the queue still pauses after a refused key or a spent budget. */
  rests_ms: number
}

const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'failed'] as const

/** Every queue. @throws an error with a connection's code when Redis does not answer. */
export async function countJobs(queues: Queues): Promise<JobCounts[]> {
  await queues.ready()
  return Promise.all(
    QUEUES.map(async (name) => {
      const queue = queues.get(name)
      const [counts, paused, ttl] = await Promise.all([
        queue.getJobCounts(...STATES),
        queue.isPaused(),
        queue.getRateLimitTtl(NEVER_REACHED),
      ])
      const known = Object.fromEntries(STATES.map((state) => [state, counts[state] ?? 0])) as StateCounts
      return { queue: name, paused, rests_ms: Math.max(0, ttl), ...known }
    }),
  )
}

export function remaining({ waiting, prioritized, active, delayed }: JobCounts): number {
  return waiting + prioritized + active + delayed
}

/** Jobs by queue and state, and how long the oldest has waited. @throws while Redis is away. */
export async function queueFamilies(queues: Queues): Promise<Family[]> {
  const [counted, oldest] = await Promise.all([
    countJobs(queues),
    queues.ready().then(() => Promise.all(QUEUES.map((name) => oldestWaiting(queues, name)))),
  ])
  const found = counted.map((counts, n) => ({ ...counts, oldest: oldest[n]! }))
  return [
    gauge(
      'frames_queue_jobs',
      'Jobs by queue and state.',
      found.flatMap((counts) =>
        STATES.map((state) => ({ labels: { queue: counts.queue, state }, value: counts[state] })),
      ),
    ),
    gauge(
      'frames_queue_paused',
      '1 while an operator has paused the queue.',
      found.map(({ queue, paused }) => ({ labels: { queue }, value: paused ? 1 : 0 })),
    ),
    gauge(
      'frames_oldest_waiting_seconds',
      'How long the next job of a queue has waited; 0 without one.',
      found.map(({ queue, oldest }) => ({ labels: { queue }, value: oldest })),
    ),
  ]
}

/** The first jobs of the two lists that a worker takes from. */
async function oldestWaiting(queues: Queues, name: QueueName): Promise<number> {
  const queue = queues.get(name)
  const heads = await Promise.all([queue.getWaiting(0, 0), queue.getPrioritized(0, 0)])
  const added = heads.flat().flatMap((job) => (job ? [job.timestamp] : []))
  return added.length === 0 ? 0 : Math.max(0, (Date.now() - Math.min(...added)) / 1_000)
}
