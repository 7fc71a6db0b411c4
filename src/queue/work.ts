import { type Job, RateLimitError, WaitingError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { MediaError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { JOBS, type JobData, type JobName, type QueueName } from './jobs.ts'

export interface JobContext {
  signal: AbortSignal
  /** True when no further attempt follows a failure of this one. */
  lastAttempt: boolean
}

export type Handlers = { [N in JobName]: (data: JobData<N>, context: JobContext) => Promise<void> }

/** Thrown by a handler that must wait: the job goes back, its queue rests that long in all workers, and no attempt is counted. */
export class RetryAfter extends Error {
  readonly delayMs: number
  constructor(reason: string, delayMs: number) {
    super(reason)
    this.delayMs = delayMs
  }
}

/** The limit of a queue that is not to be limited: only a pause passes it. */
export const NEVER_REACHED = 1_000_000_000

export interface WorkOptions {
  url: string
  prefix: string
  queue: QueueName
  concurrency: number
  handlers: Handlers
  logger: Logger
  /** A dead worker's jobs are taken over after about this long. */
  lockMs?: number
}

export interface RunningWorker {
  readonly queue: QueueName
  /** Asks running jobs to stop and hands them back; resolves when none is left or after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}

/** Takes jobs off one queue. Payloads are parsed before a handler sees them. */
export function startWorker({
  url,
  prefix,
  queue,
  concurrency,
  handlers,
  logger,
  lockMs = 60_000,
}: WorkOptions): RunningWorker {
  const stopping = new AbortController()
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  connection.on('error', (error) => logger.debug({ err: error }, 'redis away'))
  const worker: Worker = new Worker(
    queue,
    async (job: Job, token?: string) => {
      const name = job.name as JobName
      const handler = handlers[name] as ((data: unknown, context: JobContext) => Promise<void>) | undefined
      if (!handler) throw new Error(`no handler for ${name}`)
      const data = JOBS[name].parse(job.data)
      try {
        await handler(data, { signal: stopping.signal, lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1) })
      } catch (error) {
        if (stopping.signal.aborted) {
          // Back to the head of the queue at once, for whoever is still there; no attempt is counted.
          logger.info({ job: name, queue }, 'job handed back')
          await job
            .moveToWait(token ?? '')
            .catch((failure: unknown) => logger.debug({ err: failure, queue }, 'job was no longer held'))
          throw new WaitingError()
        }
        const later = toRetryAfter(error)
        if (later) {
          logger.info({ job: name, queue, delayMs: later.delayMs, reason: later.message }, 'queue rests')
          // A queue rests at least a moment: a delay of nothing would take the job up again without end.
          await worker.rateLimit(Math.max(50, Math.ceil(later.delayMs)))
          throw new RateLimitError()
        }
        throw error
      }
    },
    {
      connection,
      prefix,
      concurrency,
      // Without a limiter workers do not heed the pause that `rateLimit` makes.
      limiter: { max: NEVER_REACHED, duration: 1_000 },
      // How long a rest that somebody ended (`frames resume`) may still be kept.
      maximumRateLimitDelay: 5_000,
      lockDuration: lockMs,
      stalledInterval: Math.max(250, Math.floor(lockMs / 4)),
      // The default of 1 fails jobs for good when workers are killed; a video's own count of beginnings bounds poison (library/videos.ts).
      maxStalledCount: 1_000,
      autorun: true,
    },
  )
  worker.on('error', (error) => logger.debug({ err: error, queue }, 'worker error'))
  worker.on('failed', (job, error) =>
    logger.warn({ err: error, job: job?.name, jobId: job?.id, attempts: job?.attemptsMade, queue }, 'job failed'),
  )
  return {
    queue,
    async stop(deadlineMs) {
      // First no new jobs, then those in hand. Closing has no deadline of its own, and does not end while Redis is away.
      const closing = worker.close().catch(() => undefined)
      stopping.abort(new Error('the worker stops'))
      let timer: NodeJS.Timeout | undefined
      const deadline = new Promise<'late'>((resolve) => {
        timer = setTimeout(resolve, deadlineMs, 'late' as const)
      })
      if ((await Promise.race([closing, deadline])) === 'late') {
        logger.warn({ queue }, 'jobs left behind: another worker takes them over')
        void worker.disconnect().catch(() => undefined)
      }
      clearTimeout(timer)
      connection.disconnect()
    },
  }
}

/** Infrastructure that is away is nobody's failure: the work waits for it. A source that cannot be reached is the video's own. */
function toRetryAfter(error: unknown): RetryAfter | undefined {
  if (error instanceof RetryAfter) return error
  return !(error instanceof MediaError) && isConnectionLoss(error)
    ? new RetryAfter('a store is away', AWAY_MS)
    : undefined
}

const AWAY_MS = 2_000
