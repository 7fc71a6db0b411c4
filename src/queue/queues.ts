import { createHash } from 'node:crypto'
import { type JobsOptions, Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type { Logger } from '../logger.ts'
import { JOBS, type JobData, type JobName, type QueueName, queueOf } from './jobs.ts'

export type Queues = ReturnType<typeof openQueues>

export type NewJob = { [N in JobName]: { name: N; data: JobData<N>; backfill?: boolean; priority?: number } }[JobName]

export const DEFAULT_PREFIX = 'frames'

/** Finished jobs stay a while for `frames queues` and for diagnosis. jobs.ts has the number of attempts. */
const DEFAULT_OPTIONS = {
  backoff: { type: 'exponential', delay: 2_000, jitter: 0.5 },
  removeOnComplete: { age: 3_600, count: 10_000 },
  removeOnFail: { age: 14 * 86_400, count: 100_000 },
} as const satisfies JobsOptions

/** The producing side. Commands fail fast while Redis is unavailable; the reconciler adds what is missing later. */
export function openQueues({ url, prefix = DEFAULT_PREFIX, logger }: { url: string; prefix?: string; logger: Logger }) {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: 5_000,
    lazyConnect: false,
  })
  redis.on('error', (error) => logger.debug({ err: error }, 'redis unavailable'))
  const queues = new Map<QueueName, Queue>()
  // Opened on first use, when Redis answers: a queue whose first command fails would fail for ever.
  const get = (name: QueueName) => {
    let queue = queues.get(name)
    if (!queue) {
      queue = new Queue(name, { connection: redis, prefix, defaultJobOptions: DEFAULT_OPTIONS })
      queue.on('error', (error) => logger.debug({ err: error, queue: name }, 'queue unavailable'))
      queues.set(name, queue)
    }
    return queue
  }
  async function addAll(jobs: readonly NewJob[]): Promise<number> {
    await untilReady(redis)
    const byQueue = Map.groupBy(jobs, ({ name, backfill = false }) => queueOf(name, { backfill }))
    let added = 0
    for (const [name, list] of byQueue) added += await addToQueue(redis, get(name), list)
    return added
  }
  return {
    /** A connection that other commands may share; it fails fast while Redis is unavailable. */
    redis,
    prefix,
    url,
    /** Call `ready` first: a queue can only be opened while Redis answers. */
    get,
    /** @throws an error with a connection's code when Redis does not answer within 2 s. */
    ready: () => untilReady(redis),
    /**
     * Adds a job unless the same one waits or runs. Removes a finished job of the same id first, which would silently
     * swallow the new one. Returns whether it was added.
     */
    async add<N extends JobName>(
      name: N,
      data: JobData<N>,
      options: { backfill?: boolean; priority?: number } = {},
    ): Promise<boolean> {
      return (await addAll([{ name, data, ...options } as NewJob])) === 1
    },
    /** `add` for many, in a few round trips. Returns the number added. */
    addAll,
    /** The number of jobs that wait or run. */
    async depth(name: QueueName) {
      await untilReady(redis)
      return depthOf(get(name))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => undefined)))
      redis.disconnect()
    },
  }
}

async function addToQueue(redis: Redis, queue: Queue, jobs: readonly NewJob[]): Promise<number> {
  const byId = new Map(jobs.map((job) => [jobIdOf(job.name, job.data), job]))
  const states = await statesOf(redis, queue, [...byId.keys()])
  const isPending = [...states.values()].includes('pending')
  if (isPending && (await depthOf(queue)) <= MAX_SEARCHED_DEPTH)
    for (const [id, state] of states)
      if (state === 'pending' && (await queue.getJobState(id)) === 'unknown') states.set(id, 'finished')
  for (const [id, state] of states) if (state === 'finished') await queue.remove(id)
  const fresh = [...byId].filter(([id]) => states.get(id) !== 'pending')
  if (fresh.length > 0) await queue.addBulk(fresh.map(([id, job]) => toBulkJob(id, job)))
  return fresh.length
}

/**
 * A Redis that lost a part of its data may hold a job that is in no list: it would wait for ever. Finding such jobs
 * takes as long as the lists are, so only short queues are searched.
 */
const MAX_SEARCHED_DEPTH = 1_000

async function depthOf(queue: Queue): Promise<number> {
  const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed')
  return Object.values(counts).reduce((sum, n) => sum + n, 0)
}

function toBulkJob(jobId: string, { name, data, priority = 0 }: NewJob) {
  const { schema, attempts } = JOBS[name]
  return {
    name,
    data: schema.parse(data),
    opts: { jobId, attempts, ...(priority > 0 ? { priority } : {}) } satisfies JobsOptions,
  }
}

type JobState = 'absent' | 'pending' | 'finished'

/**
 * One round trip for all ids, from BullMQ's own keys: a job that exists is pending unless it is among the completed or
 * failed. `getJobState` would scan the lists for every id.
 */
async function statesOf(redis: Redis, queue: Queue, ids: readonly string[]): Promise<Map<string, JobState>> {
  const pipeline = redis.pipeline()
  for (const id of ids)
    pipeline.exists(queue.toKey(id)).zscore(queue.toKey('completed'), id).zscore(queue.toKey('failed'), id)
  const replies = (await pipeline.exec()) ?? []
  return new Map(
    ids.map((id, at) => {
      const [exists, completed, failed] = replies.slice(at * 3, at * 3 + 3).map(([error, value]) => {
        if (error) throw error
        return value
      })
      if (exists !== 1) return [id, 'absent']
      return [id, completed !== null || failed !== null ? 'finished' : 'pending']
    }),
  )
}

/** The same work has the same id. Neither a colon nor a bare number, which BullMQ refuses. */
function jobIdOf<N extends JobName>(name: N, data: JobData<N>): string {
  return `${name}-${createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 24)}`
}

/** Waits for the first connection: without an offline queue, commands sent before it would fail. */
async function untilReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return
  if (redis.status === 'end') throw new Error('the queue is closed')
  await new Promise<void>((resolve, reject) => {
    let cause: Error | undefined
    const failed = (error: Error) => {
      cause = error
    }
    const timer = setTimeout(() => {
      redis.off('ready', ready).off('error', failed)
      reject(Object.assign(new Error('Redis is unavailable', { cause }), { code: 'ECONNREFUSED' }))
    }, 2_000)
    redis.on('error', failed)
    const ready = () => {
      clearTimeout(timer)
      redis.off('error', failed)
      resolve()
    }
    redis.once('ready', ready)
  })
}
