import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Config } from '../config.ts'
import { type Db, isConnectionLoss, openDb } from '../db/client.ts'
import { events } from '../db/schema/events.ts'
import { type RunningConsumer, startConsumer } from '../events/consume.ts'
import { findHeldBack } from '../events/read.ts'
import { deleteExpired, finishDeletions } from '../library/accounts/accounts.ts'
import { findAnnotator, publishAnnotator } from '../library/annotator/active-annotator.ts'
import { deleteUnusedAnswers } from '../library/annotator/answer-cache.ts'
import { findStyle } from '../library/evaluation/house-style.ts'
import { sweepDrafts } from '../library/films/drafts.ts'
import { backfillGrammar } from '../library/films/films.ts'
import { TECHNIQUE_SEED } from '../library/techniques/technique-seed.ts'
import { finishMoves, seedTechniques } from '../library/techniques/vocabulary.ts'
import { checkStorage } from '../library/videos/storage.ts'
import { sweepUploads } from '../library/videos/uploads.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import { recountAnalytics } from '../projections/analytics/recount.ts'
import { concurrencyOf, type QueueName, ROLES, type Role } from '../queue/jobs.ts'
import { DEFAULT_PREFIX, openQueues, type Queues } from '../queue/queues.ts'
import { type RunningWorker, startWorker } from '../queue/work.ts'
import { extractInChild } from '../video/extract/run-extraction.ts'
import type { Annotator } from '../vision/annotator.ts'
import type { HouseStyle } from '../vision/model/house-style.ts'
import { type ConfiguredAnnotator, openConfiguredAnnotator, openHouseStyle } from './annotator.ts'
import { sweepScratch } from './attempt.ts'
import { dispatchConsumer, type ReconcileDeps, reconcileJobs } from './dispatch.ts'
import { type FaultPoint, openFaultPoint } from './fault-point.ts'
import { createHandlers, paidFolderOf, scratchRootOf } from './handlers.ts'
import { enqueueDrafts } from './measure-draft.ts'
import { openWorkerMetrics } from './metrics.ts'
import { openPaidJournal, type PaidJournal } from './paid-journal.ts'
import { type PeriodicTask, repeatEvery, restAfter } from './periodic.ts'
import { type OpenProjection, openProjection } from './projection.ts'
import type { BatchDeps } from './run-batches.ts'
import { openSubscriptions, type Subscriptions } from './subscriptions.ts'
import { openWebhooks, type Webhooks } from './webhooks.ts'

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
  /** How often batches are advanced. */
  batchMs?: number
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
/** How soon a draft is begun. */
const DRAFTS_MS = 1_000
/** How often new events are counted. `restAfter` makes it less often on a day of a million events. */
const COUNT_MS = 5_000

/** Wires and starts a worker process. */
export async function openWorker(options: WorkerOptions): Promise<OpenWorker> {
  const { config, databaseUrl, redisUrl, logger, roles = ROLES, prefix = DEFAULT_PREFIX } = options
  const db = openDb({ url: databaseUrl, max: 12, applicationName: 'frame-library worker', logger })
  const queues = openQueues({ url: redisUrl, prefix, logger })
  const store = options.store ?? openMediaStore(config)
  const faultPoint = openFaultPoint(config.faultAt)
  await sweepScratch(scratchRootOf(config))
  const journal = await openPaidJournal({ db, folder: paidFolderOf(config), logger })
  const style = await loadStyle(config, { db, store })
  const annotator = await openAnnotator(options, { db, queues, journal, style })
  await seedTechniques(db, TECHNIQUE_SEED)
  await journal.flush()
  if (roles.includes('annotate')) await publish(annotator.annotator, { db, queues, logger })
  const activeAnnotator = async () => (await findAnnotator(db)) ?? annotator.annotator

  const extract = options.extract ?? extractInChild
  const handlers = createHandlers({
    config,
    db,
    store,
    extract,
    annotator,
    journal,
    style,
    activeAnnotator,
    logger,
    faultPoint,
  })
  const capacity = { cores: availableParallelism(), modelCalls: config.vision?.concurrency }
  const { lockMs } = options
  const metrics = openWorkerMetrics({ db, queues, config })
  const workers = [...concurrencyOf(roles, capacity)].map(([queue, concurrency]) =>
    startWorker({
      url: redisUrl,
      prefix,
      queue,
      concurrency,
      handlers,
      logger,
      onAttempt: metrics.onAttempt,
      lockMs,
    }),
  )

  const projection = roles.includes('events') ? await openProjection({ config, db, logger, faultPoint }) : undefined
  const context = { db, url: databaseUrl, logger, pollMs: options.pollMs }
  const sending = { db, config, logger, faultPoint, pollMs: options.pollMs }
  const senders = projection && { webhooks: openWebhooks(sending), subscriptions: openSubscriptions(sending) }
  const dispatch = dispatchConsumer({ db, queues, activeAnnotator, faultPoint })
  const consumers = [
    ...(projection ? [dispatch, ...projection.consumers] : []),
    ...Object.values(senders ?? {}).map(({ consumer }) => consumer),
  ].map((consumer) => startConsumer(context, consumer))
  const { reconcileMs = MINUTE / 2, pollMs = DRAFTS_MS } = options
  const tasks = { db, store, queues, logger, activeAnnotator, reconcileMs, pollMs, faultPoint }
  const periodic = projection && senders ? startPeriodicTasks({ ...tasks, projection, ...senders }) : []
  const batches = startBatches(options, { db, store, answers: journal.answers, style, activeAnnotator, faultPoint })

  return {
    metrics: metrics.text,
    drain: () => drain(db, queues, workers, consumers),
    async healthy() {
      await db.execute(sql`select 1`)
      return queues.redis.status === 'ready'
    },
    async stop(deadlineMs = 20_000) {
      const ends = [...periodic, ...batches].map((task) => task.stop())
      await Promise.all([
        ...workers.map((worker) => worker.stop(deadlineMs)),
        ...Object.values(senders ?? {}).map((sender) => sender.stop(deadlineMs)),
      ])
      await Promise.race([Promise.all(ends), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all(consumers.map((consumer) => consumer[Symbol.asyncDispose]()))
      await projection?.[Symbol.asyncDispose]()
      if (!options.annotator) await annotator.annotator[Symbol.asyncDispose]()
      await queues[Symbol.asyncDispose]()
      await db.$client.end()
    },
  }
}

async function openAnnotator(
  { annotator, measuring, config, prefix = DEFAULT_PREFIX }: WorkerOptions,
  { db, queues, journal, style }: { db: Db; queues: Queues; journal: PaidJournal; style: HouseStyle | undefined },
): Promise<ConfiguredAnnotator> {
  if (annotator) return { annotator }
  const { answers } = journal
  const given = { answers, style, ...(measuring ? { measuring } : {}) }
  return openConfiguredAnnotator({ config, db, redis: queues.redis, prefix, ...given })
}

async function publish(
  { version, model, batchSize }: Annotator,
  { db, queues, logger }: { db: Db; queues: Queues; logger: Logger },
): Promise<void> {
  await publishAnnotator(db, { version, model, batchSize })
  // New settings may have removed the cause of a pause: a wrong key, a spent budget.
  await endPauses(queues, ['annotate', 'annotate-backfill'], logger)
}

/** Redis may be unavailable at the start; then there is no pause to end. */
async function endPauses(queues: Queues, names: readonly QueueName[], logger: Logger): Promise<void> {
  try {
    await queues.ready()
    for (const name of names) await queues.get(name).removeRateLimitKey()
  } catch (error) {
    logger.debug({ err: error }, 'redis unavailable')
  }
}

/** The house style that was taken last. */
async function loadStyle({ vision }: Config, { db, store }: { db: Db; store: MediaStore }) {
  return vision && openHouseStyle(store, await findStyle(db))
}

/** Runs batches at the vision endpoint. Also collects the answers of batches that an earlier setting sent. */
function startBatches(
  { config, logger, roles = ROLES, batchMs = MINUTE }: WorkerOptions,
  deps: Pick<BatchDeps, 'db' | 'store' | 'answers' | 'style' | 'activeAnnotator' | 'faultPoint'>,
): PeriodicTask[] {
  const { vision } = config
  if (!vision || !roles.includes('annotate')) return []
  const run = async () => {
    // Not at the top: sharp takes 10 MB, which a worker without a model does not need.
    const { runBatches } = await import('./run-batches.ts')
    await runBatches({ ...deps, rules: vision, logger })
  }
  return [repeatEvery(batchMs, 'run batches', logger, run)]
}

interface TaskDeps extends ReconcileDeps {
  store: MediaStore
  projection: OpenProjection
  webhooks: Webhooks
  subscriptions: Subscriptions
  reconcileMs: number
  pollMs: number
  faultPoint: FaultPoint
}

function startPeriodicTasks(deps: TaskDeps): PeriodicTask[] {
  const { db, store, logger, projection, webhooks, subscriptions, reconcileMs, pollMs, faultPoint } = deps
  const countAnalytics = (signal: AbortSignal) =>
    recountAnalytics(db, { signal, beforeCommit: () => faultPoint('analytics-counted') })
  return [
    repeatEvery(reconcileMs, 'reconcile jobs', logger, (signal) => reconcileJobs(deps, signal)),
    repeatEvery(pollMs, 'enqueue drafts', logger, () => enqueueDrafts(deps)),
    repeatEvery(5 * MINUTE, 'delete old drafts', logger, () => sweepDrafts(db, store)),
    repeatEvery(reconcileMs, 'finish deletions', logger, (signal) => finishDeletions(db, signal)),
    repeatEvery(reconcileMs, 'finish moves of techniques', logger, (signal) => finishMoves(db, signal)),
    repeatEvery(MINUTE, 'check the event log', logger, async () => {
      const held = await findHeldBack(db)
      if (held && Date.now() - held.since.getTime() > MINUTE)
        logger.warn(held, 'events held back by an open transaction')
    }),
    repeatEvery(COUNT_MS, 'count analytics', logger, restAfter(countAnalytics)),
    repeatEvery(5 * MINUTE, 'refresh save counts', logger, () => projection.refreshSaveCounts()),
    repeatEvery(60 * MINUTE, 'delete expired rows', logger, async () => {
      await deleteExpired(db)
      await sweepUploads(db, store)
    }),
    repeatEvery(60 * MINUTE, 'delete old deliveries', logger, async () => {
      await webhooks.prune()
      await subscriptions.prune()
    }),
    repeatEvery(MINUTE, 'notify owners of failing webhooks', logger, () => webhooks.tellOwners()),
    repeatEvery(60 * MINUTE, 'back-fill films', logger, (signal) => backfillGrammar(db, signal)),
    repeatEvery(60 * MINUTE, 'reconcile search', logger, () => projection.reconcile()),
    repeatEvery(24 * 60 * MINUTE, 'collect garbage', logger, async () => {
      await checkStorage(db, store, { remove: true })
      await deleteUnusedAnswers(db)
    }),
  ]
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
