import { type Job, RateLimitError, WaitingError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { isConnectionLoss } from '../db/client.ts'
import { MediaError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { inTime } from '../turns.ts'
import { JOBS, type JobData, type JobName, type QueueName } from './jobs.ts'

export interface JobContext {
  signal: AbortSignal
  /** True when no further attempt follows a failure of this one. */
  lastAttempt: boolean
}

export type Handlers = { [N in JobName]: (data: JobData<N>, context: JobContext) => Promise<void> }

/**
 * Thrown by a handler that must wait. The job returns to its queue, the queue pauses that long in all workers, and no
 * attempt is counted.
 */
export class RetryAfter extends Error {
  readonly delayMs: number
  constructor(reason: string, delayMs: number) {
    super(reason)
    this.delayMs = delayMs
  }
}

/** The rate limit of a queue without one. BullMQ honours a pause only where a limiter is set. */
export const NEVER_REACHED = 1_000_000_000

/** How an attempt ended: `delayed` returns to its queue and does not count. */
type Outcome = 'completed' | 'failed' | 'delayed'

export interface WorkOptions {
  url: string
  prefix: string
  queue: QueueName
  concurrency: number
  handlers: Handlers
  logger: Logger
  /** Called after every attempt, for metrics. */
  onAttempt?: (job: JobName, outcome: Outcome, seconds: number) => void
  /** Another worker takes over a dead worker's jobs after about this long. */
  lockMs?: number
}

export interface RunningWorker {
  readonly queue: QueueName
  /** Aborts running jobs and hands them back; resolves when none is left or after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}

/** Takes jobs from one queue. Payloads are parsed before a handler sees them. */
export function startWorker({
  url,
  prefix,
  queue,
  concurrency,
  handlers,
  logger,
  onAttempt,
  lockMs = 60_000,
}: WorkOptions): RunningWorker {
  const stopping = new AbortController()
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  connection.on('error', (error) => logger.debug({ err: error }, 'redis unavailable'))
  const worker: Worker = new Worker(
    queue,
    async (job: Job, token?: string) => {
      const started = performance.now()
      let outcome: Outcome = 'completed'
      try {
        await runHandler(handlers, job, stopping.signal)
      } catch (error) {
        const pause = toRetryAfter(error)
        outcome = stopping.signal.aborted || pause ? 'delayed' : 'failed'
        if (stopping.signal.aborted) await handBack(job, token, { logger, queue })
        if (pause) await pauseQueue(worker, job, pause, { logger, queue })
        throw error
      } finally {
        if (Object.hasOwn(JOBS, job.name))
          onAttempt?.(job.name as JobName, outcome, (performance.now() - started) / 1_000)
      }
    },
    {
      connection,
      prefix,
      concurrency,
      limiter: { max: NEVER_REACHED, duration: 1_000 },
      // How long a worker may still respect a pause that an operator has ended (`frames resume`).
      maximumRateLimitDelay: 5_000,
      lockDuration: lockMs,
      stalledInterval: Math.max(250, Math.floor(lockMs / 4)),
      // The default of 1 fails jobs for good when workers are killed. MAX_ATTEMPTS bounds videos that crash workers.
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
      // First no new jobs, then the running ones. BullMQ's close has no deadline and never ends while Redis is down.
      const closing = worker.close().catch(() => undefined)
      stopping.abort(new Error('the worker stops'))
      await inTime(closing, deadlineMs, () => new Error('too late')).catch(() => {
        logger.warn({ queue }, 'jobs left behind: another worker takes them over')
        void worker.disconnect().catch(() => undefined)
      })
      connection.disconnect()
    },
  }
}

async function runHandler(handlers: Handlers, job: Job, signal: AbortSignal): Promise<void> {
  const name = job.name as JobName
  const handler = handlers[name] as ((data: unknown, context: JobContext) => Promise<void>) | undefined
  if (!handler) throw new Error(`no handler for ${name}`)
  const lastAttempt = job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
  await handler(JOBS[name].schema.parse(job.data), { signal, lastAttempt })
}

interface LogContext {
  logger: Logger
  queue: QueueName
}

/** Returns the job to the head of its queue, where another worker finds it. No attempt is counted. */
async function handBack(job: Job, token: string | undefined, { logger, queue }: LogContext): Promise<never> {
  logger.info({ job: job.name, queue }, 'job handed back')
  await job
    .moveToWait(token ?? '')
    .catch((failure: unknown) => logger.debug({ err: failure, queue }, 'job lock was lost before hand-back'))
  throw new WaitingError()
}

async function pauseQueue(
  worker: Worker,
  job: Job,
  { delayMs, message }: RetryAfter,
  { logger, queue }: LogContext,
): Promise<never> {
  logger.info({ job: job.name, queue, delayMs, reason: message }, 'queue paused')
  // At least a moment: without a delay the job would be retried in a tight loop.
  await worker.rateLimit(Math.max(50, Math.ceil(delayMs)))
  throw new RateLimitError()
}

const OUTAGE_DELAY_MS = 2_000

/** An outage of the infrastructure is a delay, not a failure. An unreachable source is the video's own failure. */
function toRetryAfter(error: unknown): RetryAfter | undefined {
  if (error instanceof RetryAfter) return error
  if (error instanceof MediaError || !isConnectionLoss(error)) return undefined
  return new RetryAfter('storage is unavailable', OUTAGE_DELAY_MS)
}
