import { findHeldBack } from '../events/read.ts'
import { deleteExpired, finishDeletions } from '../library/accounts/accounts.ts'
import { deleteUnusedAnswers } from '../library/annotator/answer-cache.ts'
import { finishMoves } from '../library/techniques/vocabulary.ts'
import { checkFiles, freeUnfinished } from '../library/videos/storage.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { recountAnalytics } from '../projections/analytics.ts'
import type { Webhooks } from '../webhooks/send.ts'
import { type ReconcileDeps, reconcileJobs } from './dispatch.ts'
import type { FaultPoint } from './fault-point.ts'
import type { OpenProjection } from './projection.ts'

const MINUTE = 60_000
/** How often new events are counted. `restAfter` makes it less often on a day of a million events. */
const COUNT_MS = 5_000

interface TaskDeps extends ReconcileDeps {
  store: MediaStore
  projection: OpenProjection
  webhooks: Webhooks
  reconcileMs: number
  faultPoint: FaultPoint
}

export function startPeriodicTasks(deps: TaskDeps): PeriodicTask[] {
  const { db, store, logger, projection, webhooks, reconcileMs, faultPoint } = deps
  const countAnalytics = (signal: AbortSignal) =>
    recountAnalytics(db, { signal, beforeCommit: () => faultPoint('analytics-counted') })
  return [
    repeatEvery(reconcileMs, 'reconcile jobs', logger, (signal) => reconcileJobs(deps, signal)),
    repeatEvery(reconcileMs, 'finish deletions', logger, (signal) => finishDeletions(db, signal)),
    repeatEvery(reconcileMs, 'finish moves of techniques', logger, (signal) => finishMoves(db, signal)),
    repeatEvery(MINUTE, 'check the event log', logger, async () => {
      const held = await findHeldBack(db)
      if (held && Date.now() - held.since.getTime() > MINUTE)
        logger.warn(held, 'events held back by an open transaction')
    }),
    repeatEvery(COUNT_MS, 'count analytics', logger, restAfter(countAnalytics)),
    repeatEvery(5 * MINUTE, 'refresh save counts', logger, () => projection.refreshSaveCounts()),
    repeatEvery(60 * MINUTE, 'delete expired rows', logger, () => deleteExpired(db)),
    repeatEvery(60 * MINUTE, 'free unfinished files', logger, () => freeUnfinished(store)),
    repeatEvery(MINUTE, 'move idle webhooks on', logger, () => webhooks.passOtherTypes()),
    repeatEvery(60 * MINUTE, 'delete old deliveries', logger, () => webhooks.prune()),
    repeatEvery(reconcileMs, 'take over vectors', logger, () => projection.rebuildWhatIsOld()),
    repeatEvery(60 * MINUTE, 'reconcile search', logger, () => projection.reconcile()),
    repeatEvery(24 * 60 * MINUTE, 'collect garbage', logger, async (signal) => {
      await checkFiles(db, store, { remove: true, signal })
      await deleteUnusedAnswers(db)
    }),
  ]
}

interface PeriodicTask {
  /** Aborts the current run; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Runs a task now and every `ms`, one run at a time. A timer, not a scheduler of the queue, so that its pace does not
 * depend on Redis.
 */
function repeatEvery(
  ms: number,
  name: string,
  logger: Logger,
  act: (signal: AbortSignal) => Promise<unknown>,
): PeriodicTask {
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

/** Skips runs until 20 times the last run's duration has passed, so that a long task takes 5 % of the time. */
function restAfter(act: (signal: AbortSignal) => Promise<unknown>): (signal: AbortSignal) => Promise<void> {
  let restsUntil = 0
  return async (signal) => {
    const started = performance.now()
    if (started < restsUntil) return
    try {
      await act(signal)
    } finally {
      restsUntil = performance.now() + 20 * (performance.now() - started)
    }
  }
}
