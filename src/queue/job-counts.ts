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
