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
  add<N extends JobName>(
    name: N,
    data: JobData<N>,
    options?: { backfill?: boolean; priority?: number },
  ): Promise<boolean>
  /** `add` for many, in a few round trips. The number added. */
  addAll(jobs: readonly NewJob[]): Promise<number>
  /** Jobs that wait or run. */
  depth(name: QueueName): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

export type NewJob = { [N in JobName]: { name: N; data: JobData<N>; backfill?: boolean; priority?: number } }[JobName]

export const DEFAULT_PREFIX = 'frames'

/** The producing side. Commands fail fast while Redis is away: the reconciler makes up for what was not added. */
export function openQueues({
  url,
  prefix = DEFAULT_PREFIX,
  logger,
}: {
  url: string
  prefix?: string
  logger: Logger
}): Queues {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: 5_000,
    lazyConnect: false,
  })
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
  async function addAll(jobs: readonly NewJob[]): Promise<number> {
    await untilReady(redis)
    let added = 0
    for (const [name, list] of Map.groupBy(jobs, (job) => queueFor(job.name, job.backfill ?? false))) {
      const queue = get(name)
      const wanted = new Map(list.map((job) => [jobIdOf(job.name, job.data), job]))
      const ids = [...wanted.keys()]
      const states = await statesOf(redis, queue, ids)
      // Looking for a job in the lists takes as long as they are: done while they are short.
      const depth = states.includes('pending') ? await depthOf(queue) : 0
      for (const [at, id] of ids.entries())
        if (states[at] === 'pending' && depth <= SHORT && (await queue.getJobState(id)) === 'unknown')
          states[at] = 'finished'
      const fresh = ids.filter((_, at) => states[at] !== 'pending')
      for (const [at, id] of ids.entries()) if (states[at] === 'finished') await queue.remove(id)
      if (fresh.length > 0) await queue.addBulk(fresh.map((id) => toBulkJob(id, wanted.get(id)!)))
      added += fresh.length
    }
    return added
  }
  return {
    redis,
    prefix,
    url,
    get,
    ready: () => untilReady(redis),
    async add(name, data, options = {}) {
      return (await addAll([{ name, data, ...options } as NewJob])) === 1
    },
    addAll,
    async depth(name) {
      await untilReady(redis)
      return depthOf(get(name))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => undefined)))
      redis.disconnect()
    },
  }
}

/** A queue this short is searched for jobs that lost their place in it (a Redis that forgot a part): they would wait for ever. */
const SHORT = 1_000

async function depthOf(queue: Queue): Promise<number> {
  const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed')
  return Object.values(counts).reduce((sum, n) => sum + n, 0)
}

function toBulkJob(jobId: string, { name, data, priority = 0 }: NewJob) {
  return {
    name,
    data: JOBS[name].parse(data),
    opts: { jobId, ...(priority > 0 ? { priority } : {}) } satisfies JobsOptions,
  }
}

/** One round trip for all of them: a job that exists is pending unless it stands among the completed or failed. */
async function statesOf(
  redis: Redis,
  queue: Queue,
  ids: readonly string[],
): Promise<('absent' | 'pending' | 'finished')[]> {
  const pipeline = redis.pipeline()
  for (const id of ids)
    pipeline.exists(queue.toKey(id)).zscore(queue.toKey('completed'), id).zscore(queue.toKey('failed'), id)
  const replies = (await pipeline.exec()) ?? []
  return ids.map((_, at) => {
    const [exists, completed, failed] = replies.slice(at * 3, at * 3 + 3).map(([error, value]) => {
      if (error) throw error
      return value
    })
    if (exists !== 1) return 'absent'
    return completed !== null || failed !== null ? 'finished' : 'pending'
  })
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
