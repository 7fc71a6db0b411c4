import { type Family, gauge } from '../metrics.ts'
import { QUEUES, type QueueName } from './jobs.ts'
import type { Queues } from './queues.ts'
import { NEVER_REACHED } from './work.ts'

/** The jobs in a queue now. */
export interface JobCounts {
  queue: QueueName
  paused: boolean
  /** Milliseconds for which the queue still pauses after a refused key or a spent budget. */
  rests_ms: number
  waiting: number
  prioritized: number
  delayed: number
  active: number
  failed: number
}

/** Every queue. @throws an error with a connection's code when Redis does not answer. */
export async function countJobs(queues: Queues): Promise<JobCounts[]> {
  await queues.ready()
  return Promise.all(
    QUEUES.map(async (name) => {
      const queue = queues.get(name)
      const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed')
      return {
        queue: name,
        paused: await queue.isPaused(),
        rests_ms: Math.max(0, await queue.getRateLimitTtl(NEVER_REACHED)),
        waiting: counts.waiting ?? 0,
        prioritized: counts.prioritized ?? 0,
        delayed: counts.delayed ?? 0,
        active: counts.active ?? 0,
        failed: counts.failed ?? 0,
      }
    }),
  )
}

/** Jobs that wait or run. */
export function remaining({ waiting, prioritized, active, delayed }: JobCounts): number {
  return waiting + prioritized + active + delayed
}

const STATES = ['waiting', 'prioritized', 'active', 'delayed', 'failed'] as const

/** Jobs by queue and state, and how long the oldest has waited. @throws while Redis is away. */
export async function queueFamilies(queues: Queues): Promise<Family[]> {
  const found = await Promise.all(
    QUEUES.map(async (name) => {
      const queue = queues.get(name)
      const [counts, paused, oldest] = await Promise.all([
        queue.getJobCounts(...STATES),
        queue.isPaused(),
        oldestWaiting(queues, name),
      ])
      return { name, counts, paused, oldest }
    }),
  )
  return [
    gauge(
      'frames_queue_jobs',
      'Jobs by queue and state.',
      found.flatMap(({ name, counts }) =>
        STATES.map((state) => ({ labels: { queue: name, state }, value: counts[state] ?? 0 })),
      ),
    ),
    gauge(
      'frames_queue_paused',
      '1 while an operator has paused the queue.',
      found.map(({ name, paused }) => ({ labels: { queue: name }, value: paused ? 1 : 0 })),
    ),
    gauge(
      'frames_oldest_waiting_seconds',
      'How long the next job of a queue has waited; 0 without one.',
      found.map(({ name, oldest }) => ({ labels: { queue: name }, value: oldest })),
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
