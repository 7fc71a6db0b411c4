import { createHash } from 'node:crypto'
import { type JobsOptions, Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type { Logger } from '../logger.ts'
import { JOB_OPTIONS, JOBS, type JobData, type JobName, type QueueName, queueFor } from './jobs.ts'

export interface Queues {
  /** The connection commands may share; fails fast while Redis is away. */
  readonly redis: Redis
  readonly prefix: string
  readonly url: string
  /** Only while Redis answers: `ready` first. */
  get(name: QueueName): Queue
  /** @throws an error with a connection's code when Redis does not answer within 2 s */
  ready(): Promise<void>
  /**
   * Adds a job unless the same one is waiting or running. A finished one of the same id is put away first: it would silently swallow the new one.
   * True when it was added.
   */
  add<N extends JobName>(name: N, data: JobData<N>, options?: { backfill?: boolean; priority?: number }): Promise<boolean>
  [Symbol.asyncDispose](): Promise<void>
}

export const DEFAULT_PREFIX = 'frames'

/** The producing side. Commands fail fast while Redis is away: the reconciler makes up for what was not added. */
export function openQueues({ url, prefix = DEFAULT_PREFIX, logger }: { url: string; prefix?: string; logger: Logger }): Queues {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 5_000, lazyConnect: false })
  redis.on('error', (error) => logger.debug({ err: error }, 'redis away'))
  const queues = new Map<QueueName, Queue>()
  // Made at the first use, when Redis answers: a queue whose first command failed would fail for ever.
  const get = (name: QueueName) => {
    let queue = queues.get(name)
    if (!queue) {
      queue = new Queue(name, { connection: redis, prefix, defaultJobOptions: JOB_OPTIONS })
      queue.on('error', (error) => logger.debug({ err: error, queue: name }, 'queue away'))
      queues.set(name, queue)
    }
    return queue
  }
  return {
    redis,
    prefix,
    url,
    get,
    ready: () => untilReady(redis),
    async add(name, data, { backfill = false, priority = 0 } = {}) {
      await untilReady(redis)
      const queue = get(queueFor(name, backfill))
      const jobId = jobIdOf(name, data)
      const known = await queue.getJob(jobId)
      if (known) {
        const state = await known.getState()
        if (state !== 'completed' && state !== 'failed' && state !== 'unknown') return false
        await known.remove().catch(() => undefined)
      }
      const options: JobsOptions = { jobId, ...(priority > 0 ? { priority } : {}) }
      await queue.add(name, JOBS[name].parse(data), options)
      return true
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => undefined)))
      redis.disconnect()
    },
  }
}

/** The same work has the same id; no colon and no bare number, which BullMQ refuses. */
function jobIdOf<N extends JobName>(name: N, data: JobData<N>): string {
  return `${name}-${createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 24)}`
}

/** The first commands may come before the connection stands; without an offline queue they would fail for nothing. */
async function untilReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return
  if (redis.status === 'end') throw new Error('the queue is closed')
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.off('ready', ready)
      reject(Object.assign(new Error('Redis is away'), { code: 'ECONNREFUSED' }))
    }, 2_000)
    const ready = () => {
      clearTimeout(timer)
      resolve()
    }
    redis.once('ready', ready)
  })
}
