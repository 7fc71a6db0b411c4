import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { type Db, isConnectionLoss, openDb } from '../db/client.ts'
import { events } from '../db/schema/events.ts'
import { type RunningConsumer, startConsumer } from '../events/consume.ts'
import { findAnnotator, publishAnnotator } from '../library/annotator/active-annotator.ts'
import { TECHNIQUE_SEED } from '../library/techniques/technique-seed.ts'
import { seedTechniques } from '../library/techniques/vocabulary.ts'
import type { Logger } from '../logger.ts'
import type { Embedder } from '../meaning/embedder.ts'
import { openEmbedder } from '../meaning/open-embedder.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import { concurrencyOf, type QueueName, ROLES, type Role } from '../queue/jobs.ts'
import { DEFAULT_PREFIX, openQueues, type Queues } from '../queue/queues.ts'
import { type RunningWorker, startWorker } from '../queue/work.ts'
import { sql } from '../sql/orm.ts'
import { extractInChild } from '../video/extract/run-extraction.ts'
import type { Annotator } from '../vision/annotator.ts'
import { openWebhooks } from '../webhooks/send.ts'
import { inspectModel, openConfiguredAnnotator } from './annotator.ts'
import { sweepScratch } from './attempt.ts'
import { dispatchConsumer } from './dispatch.ts'
import { embeddingConsumer } from './embed-frames.ts'
import { tellStep } from './fault-point.ts'
import { createHandlers, scratchRootOf } from './handlers.ts'
import { openWorkerMetrics } from './metrics.ts'
import { startPeriodicTasks } from './periodic.ts'
import { openProjection } from './projection.ts'

export interface WorkerOptions {
  config: Config
  databaseUrl: string
  redisUrl: string
  logger: Logger
  roles?: readonly Role[]
  prefix?: string
  /** Tests: how soon another worker takes over a dead worker's job. */
  lockMs?: number
  /** Tests: an annotator of their own. */
  annotator?: Annotator
  /** Tests: replaces the measuring annotator, below the configured model. */
  measuring?: Annotator
  /** Tests: a media store and an extraction of their own. */
  store?: MediaStore
  extract?: typeof extractInChild
  pollMs?: number
  reconcileMs?: number
  /** Tests: a text model of their own. */
  embedder?: Embedder
}

export interface OpenWorker {
  /** For Prometheus. */
  metrics(): Promise<string>
  /** Runs consumers and queues until both are idle; for tests and for the first ingestion. */
  drain(): Promise<void>
  /** True when the process can work: for a health check. */
  healthy(): Promise<boolean>
  /** Hands back running jobs and stops within `deadlineMs`. */
  stop(deadlineMs?: number): Promise<void>
}

const MINUTE = 60_000

/** Wires and starts a worker process. */
export async function openWorker(options: WorkerOptions): Promise<OpenWorker> {
  const { config, databaseUrl, redisUrl, logger, roles = ROLES, prefix = DEFAULT_PREFIX } = options
  const db = openDb({ url: databaseUrl, max: 12, applicationName: 'frame-library worker', logger })
  const queues = openQueues({ url: redisUrl, prefix, logger })
  const store = options.store ?? openMediaStore(config)
  await sweepScratch(scratchRootOf(config))
  const annotator =
    options.annotator ??
    openConfiguredAnnotator({ config, db, redis: queues.redis, prefix, measuring: options.measuring })
  await seedTechniques(db, TECHNIQUE_SEED)
  if (roles.includes('annotate')) {
    await publish(annotator, { db, queues, logger })
    void inspectModel(annotator, db).catch((error: unknown) => logger.debug({ err: error }, 'model not inspected'))
  }
  const activeAnnotator = async () => (await findAnnotator(db)) ?? annotator

  const deps = { config, db, queues, store, annotator, activeAnnotator, logger, faultPoint: tellStep }
  const handlers = createHandlers({ ...deps, extract: options.extract ?? extractInChild })
  const capacity = { cores: availableParallelism(), modelCalls: config.vision?.concurrency }
  const metrics = openWorkerMetrics(deps)
  const working = { url: redisUrl, prefix, handlers, logger, onAttempt: metrics.onAttempt, lockMs: options.lockMs }
  const workers = [...concurrencyOf(roles, capacity)].map(([queue, concurrency]) =>
    startWorker({ ...working, queue, concurrency }),
  )

  const embedder = roles.includes('events')
    ? (options.embedder ?? (config.embed && openEmbedder(config.embed)))
    : undefined
  const space = embedder?.space
  const projection = roles.includes('events') ? await openProjection({ ...deps, space }) : undefined
  const following = { db, url: databaseUrl, logger, pollMs: options.pollMs }
  const webhooks = projection && openWebhooks({ ...following, config, faultPoint: tellStep })
  const budgetPerDay = config.embed?.budgetPerDay
  const consumers = [
    ...(projection ? [dispatchConsumer(deps), projection.consumer] : []),
    ...(embedder ? [embeddingConsumer({ db, embedder, budgetPerDay })] : []),
  ].map((consumer) => startConsumer(following, consumer))
  const { reconcileMs = MINUTE / 2 } = options
  const periodic = projection && webhooks ? startPeriodicTasks({ ...deps, reconcileMs, projection, webhooks }) : []

  return {
    metrics: metrics.text,
    async drain() {
      await drain(db, queues, workers, consumers)
      await projection?.copied()
    },
    async healthy() {
      await db.execute(sql`select 1`)
      return queues.redis.status === 'ready'
    },
    async stop(deadlineMs = 20_000) {
      const ends = periodic.map((task) => task.stop())
      await Promise.all([...workers.map((worker) => worker.stop(deadlineMs)), webhooks?.stop(deadlineMs)])
      await Promise.race([Promise.all(ends), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all(consumers.map((consumer) => consumer[Symbol.asyncDispose]()))
      await projection?.[Symbol.asyncDispose]()
      await embedder?.[Symbol.asyncDispose]()
      if (!options.annotator) await annotator[Symbol.asyncDispose]()
      await queues[Symbol.asyncDispose]()
      await db.$client.end()
    },
  }
}

async function publish(
  { version, model, batchSize }: Annotator,
  { db, queues, logger }: { db: Db; queues: Queues; logger: Logger },
): Promise<void> {
  await publishAnnotator(db, { version, model, batchSize })
  // New settings may have removed the cause of a pause: a wrong key, a spent budget. Redis may be unavailable at the
  // start; then there is no pause to end.
  try {
    await queues.ready()
    for (const name of ['annotate', 'annotate-backfill'] as const) await queues.get(name).removeRateLimitKey()
  } catch (error) {
    logger.debug({ err: error }, 'redis unavailable')
  }
}

async function drain(
  db: Db,
  queues: Queues,
  workers: readonly RunningWorker[],
  consumers: readonly RunningConsumer[],
): Promise<void> {
  await queues.ready()
  for (;;) {
    const before = await db.$count(events)
    for (const consumer of consumers) await consumer.drain()
    const busy = await Promise.all(workers.map(({ queue }) => hasJobs(queues, queue)))
    // A job that ended in the meantime has appended an event.
    if (!busy.includes(true) && (await db.$count(events)) === before) return
    await sleep(25)
  }
}

/** True also when Redis does not answer. */
async function hasJobs(queues: Queues, name: QueueName): Promise<boolean> {
  try {
    return (await queues.depth(name)) > 0
  } catch (error) {
    if (isConnectionLoss(error)) return true
    throw error
  }
}
