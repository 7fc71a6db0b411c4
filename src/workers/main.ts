import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Config } from '../config.ts'
import { type Db, openDb } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { type Consumer, type RunningConsumer, startConsumer } from '../events/consume.ts'
import { findHeldBack } from '../events/read.ts'
import { deleteExpired } from '../library/accounts/accounts.ts'
import { findAnnotator, publishAnnotator } from '../library/annotator/active-annotator.ts'
import { deleteUnusedAnswers } from '../library/annotator/answer-cache.ts'
import { TECHNIQUE_SEED } from '../library/techniques/technique-seed.ts'
import { seedTechniques } from '../library/techniques/vocabulary.ts'
import { checkStorage } from '../library/videos/storage.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import type { QueueName } from '../queue/jobs.ts'
import { DEFAULT_PREFIX, openQueues, type Queues } from '../queue/queues.ts'
import { type Handlers, type RunningWorker, startWorker } from '../queue/work.ts'
import { extractInChild } from '../video/extract/run-extraction.ts'
import type { Annotator } from '../vision/annotator.ts'
import { annotateFrames } from './annotate-frames.ts'
import { openConfiguredAnnotator, withinBudget } from './annotator.ts'
import { dispatchConsumer } from './dispatch.ts'
import { openFaultPoint } from './fault-point.ts'
import { fetchVideo } from './fetch-video.ts'
import { ingestVideo } from './ingest-video.ts'
import { openProjection } from './projection.ts'
import { reconcileJobs } from './reconcile.ts'
import { removeMedia } from './remove-media.ts'
import { ROLES, type Role } from './roles.ts'
import { sweepScratch } from './scratch.ts'

export interface WorkerOptions {
  config: Config
  databaseUrl: string
  redisUrl: string
  logger: Logger
  roles?: readonly Role[]
  prefix?: string
  /** Tests: how soon a dead worker's job is taken over. */
  lockMs?: number
  /** Tests: an annotator of their own. */
  annotator?: Annotator
  /** Tests: in place of the measuring annotator, under the configured model. */
  measuring?: Annotator
  /** Tests: an image store and an extraction of their own. */
  store?: MediaStore
  extract?: typeof extractInChild
  pollMs?: number
  reconcileMs?: number
}

export interface OpenWorker {
  /** Runs consumers and queues until both are idle; for tests and for the first ingestion. */
  drain(): Promise<void>
  /** True when the process can do its work: for a health check. */
  healthy(): Promise<boolean>
  /** Hands back what is running and stops within `deadlineMs`. */
  stop(deadlineMs?: number): Promise<void>
}

const MINUTE = 60_000

/** Wires and starts a worker process. */
export async function openWorker(options: WorkerOptions): Promise<OpenWorker> {
  const { config, databaseUrl, redisUrl, logger, roles = ROLES, prefix = DEFAULT_PREFIX, lockMs } = options
  const db = openDb({ url: databaseUrl, max: 12, applicationName: 'frame-library worker', logger })
  const queues = openQueues({ url: redisUrl, prefix, logger })
  const store = options.store ?? openMediaStore(config)
  const faultPoint = openFaultPoint(config.faultAt)
  const scratchRoot = join(config.dataDir, 'scratch')
  await sweepScratch(scratchRoot)
  const { annotator, measuringAnnotator } = options.annotator
    ? { annotator: options.annotator }
    : await openConfiguredAnnotator({
        config,
        db,
        redis: queues.redis,
        prefix,
        ...(options.measuring ? { measuring: options.measuring } : {}),
      })
  await seedTechniques(db, TECHNIQUE_SEED)
  if (roles.includes('annotate')) {
    const { version, model, batchSize } = annotator
    await publishAnnotator(db, { version, model, batchSize })
    // A pause that a wrong key or a spent budget made may be over with the settings of this start.
    await wakeQueues(queues, ['annotate', 'annotate-backfill'], logger)
  }

  const activeAnnotator = async () => (await findAnnotator(db)) ?? annotator

  const handlers: Handlers = {
    'ingest-video': ingestVideo({
      db,
      store,
      extract: options.extract ?? extractInChild,
      fetchSource: fetchVideo({
        store,
        ytdlpPath: config.ytdlpPath,
        maxBytes: config.maxUploadBytes,
        maxDurationSec: config.maxVideoSec,
      }),
      annotatorVersion: async () => (await activeAnnotator()).version,
      maxDurationSec: config.maxVideoSec,
      scratchRoot,
      logger,
      faultPoint,
    }),
    'annotate-frames': annotateFrames({
      db,
      store,
      annotator,
      measuringAnnotator,
      logger,
      faultPoint,
      budget: config.vision && { perVideo: config.vision.budgetPerVideo, within: withinBudget(db, config.vision) },
    }),
    'remove-media': removeMedia({ db, store }),
  }

  const cores = availableParallelism()
  const parallel: Partial<Record<QueueName, number>> = {
    ...(roles.includes('ingest') ? { ingest: cores, 'ingest-backfill': 1 } : {}),
    // More than may ask at once, so that the next question is ready when an answer comes; what is left over by live work goes to the back-fill.
    ...(roles.includes('annotate')
      ? config.vision
        ? { annotate: config.vision.concurrency * 2, 'annotate-backfill': config.vision.concurrency }
        : { annotate: cores, 'annotate-backfill': 1 }
      : {}),
    ...(roles.includes('events') ? { housekeeping: 2 } : {}),
  }
  const workers: RunningWorker[] = Object.entries(parallel).map(([queue, concurrency]) =>
    startWorker({
      url: redisUrl,
      prefix,
      queue: queue as QueueName,
      concurrency,
      handlers,
      logger,
      ...(lockMs === undefined ? {} : { lockMs }),
    }),
  )

  const projection = roles.includes('events') ? await openProjection({ config, db, logger, faultPoint }) : undefined
  const context = { db, url: databaseUrl, logger, ...(options.pollMs === undefined ? {} : { pollMs: options.pollMs }) }
  const list: Consumer[] = projection
    ? [dispatchConsumer({ db, queues, activeAnnotator, faultPoint }), ...projection.consumers]
    : []
  const consumers: RunningConsumer[] = list.map((consumer) => startConsumer(context, consumer))

  const periodic: Periodic[] = projection
    ? [
        every(options.reconcileMs ?? MINUTE / 2, 'reconcile jobs', logger, (signal) =>
          reconcileJobs({ db, queues, logger, activeAnnotator }, signal),
        ),
        every(MINUTE, 'look at the event log', logger, async () => {
          const held = await findHeldBack(db)
          if (held && Date.now() - held.since.getTime() > MINUTE)
            logger.warn(held, 'events wait for a transaction that stays open')
        }),
        every(5 * MINUTE, 'refresh save counts', logger, () => projection.refreshSaveCounts()),
        every(60 * MINUTE, 'delete what has expired', logger, () => deleteExpired(db)),
        every(60 * MINUTE, 'reconcile search', logger, () => projection.reconcile()),
        every(24 * 60 * MINUTE, 'collect garbage', logger, async () => {
          await checkStorage(db, store, { remove: true })
          await deleteUnusedAnswers(db)
        }),
      ]
    : []

  return {
    async drain() {
      await queues.ready()
      for (;;) {
        const before = await countEvents(db)
        for (const consumer of consumers) await consumer.drain()
        const busy = await Promise.all(workers.map(({ queue }) => hasJobs(queues, queue)))
        // A job that ended between the looks has told of itself.
        if (!busy.includes(true) && (await countEvents(db)) === before) return
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    },
    async healthy() {
      await db.execute(sql`select 1`)
      return queues.redis.status === 'ready'
    },
    async stop(deadlineMs = 20_000) {
      const ends = periodic.map((task) => task.stop())
      await Promise.all(workers.map((worker) => worker.stop(deadlineMs)))
      await within(deadlineMs, Promise.all(ends))
      await Promise.all(consumers.map((consumer) => consumer[Symbol.asyncDispose]()))
      await projection?.[Symbol.asyncDispose]()
      if (!options.annotator) await annotator[Symbol.asyncDispose]()
      await queues[Symbol.asyncDispose]()
      await db.$client.end()
    },
  }
}

async function countEvents(db: Db): Promise<number> {
  const { rows } = await db.execute<{ n: string }>(sql`select count(*) as n from events`)
  return Number(rows[0]!.n)
}

/** True also when Redis did not tell in time. */
async function hasJobs(queues: Queues, name: QueueName): Promise<boolean> {
  try {
    return (await queues.depth(name)) > 0
  } catch (error) {
    if (isConnectionLoss(error)) return true
    throw error
  }
}

interface Periodic {
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>
}

/** A plain timer, not a queue's scheduler: its cadence must not depend on Redis. One run at a time; the first one soon. */
function every(ms: number, name: string, logger: Logger, act: (signal: AbortSignal) => Promise<unknown>): Periodic {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const run = async () => {
    try {
      await act(stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) logger.warn({ err: error, task: name }, 'periodic task failed')
    } finally {
      running = undefined
    }
  }
  const begin = () => {
    if (!stopping.signal.aborted) running ??= run()
  }
  const timer = setInterval(begin, ms)
  timer.unref()
  begin()
  return {
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

/** Redis may be away at the start; then there is no pause to end. */
async function wakeQueues(queues: Queues, names: readonly QueueName[], logger: Logger): Promise<void> {
  try {
    await queues.ready()
    for (const name of names) await queues.get(name).removeRateLimitKey()
  } catch (error) {
    logger.debug({ err: error }, 'redis away')
  }
}
