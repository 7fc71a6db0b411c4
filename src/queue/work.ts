import { type Job, RateLimitError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { Logger } from '../logger.ts'
import { JOBS, type JobData, type JobName, type QueueName } from './jobs.ts'

export interface JobContext {
  signal: AbortSignal
  /** True when no further attempt follows a failure of this one. */
  lastAttempt: boolean
}

export type Handlers = { [N in JobName]: (data: JobData<N>, context: JobContext) => Promise<void> }

/** Thrown by a handler that must wait: the job goes back, its queue rests that long, and no attempt is counted. */
export class Later extends Error {
  readonly delayMs: number
  constructor(reason: string, delayMs: number) {
    super(reason)
    this.delayMs = delayMs
  }
}

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
export function startWorker({ url, prefix, queue, concurrency, handlers, logger, lockMs = 60_000 }: WorkOptions): RunningWorker {
  const stopping = new AbortController()
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  connection.on('error', (error) => logger.debug({ err: error }, 'redis away'))
  const worker: Worker = new Worker(
    queue,
    async (job: Job) => {
      const name = job.name as JobName
      const handler = handlers[name] as ((data: unknown, context: JobContext) => Promise<void>) | undefined
      if (!handler) throw new Error(`no handler for ${name}`)
      const data = JOBS[name].parse(job.data)
      try {
        await handler(data, { signal: stopping.signal, lastAttempt: job.attemptsMade + 1 >= (job.opts.attempts ?? 1) })
      } catch (error) {
        if (error instanceof Later || stopping.signal.aborted) {
          const delayMs = error instanceof Later ? error.delayMs : 1_000
          logger.info({ job: name, queue, delayMs, reason: (error as Error).message }, 'job handed back')
          await worker.rateLimit(delayMs)
          throw new RateLimitError()
        }
        throw error
      }
    },
    {
      connection,
      prefix,
      concurrency,
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
      // First no new jobs, then those in hand.
      const closing = worker.close()
      stopping.abort(new Error('the worker stops'))
      let timer: NodeJS.Timeout | undefined
      const deadline = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs)
      })
      await Promise.race([closing, deadline])
      clearTimeout(timer)
      await worker.close(true).catch(() => undefined)
      connection.disconnect()
    },
  }
}
