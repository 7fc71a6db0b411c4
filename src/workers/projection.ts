import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import type { Consumer } from '../events/consume.ts'
import { forgetConsumers } from '../events/positions.ts'
import { deleteOldVectors } from '../library/frames/vectors.ts'
import type { Logger } from '../logger.ts'
import { copyToMeilisearch, startCopying } from '../projections/search/copy.ts'
import { isSpaceReady } from '../projections/search/generation.ts'
import { refreshSaveCounts, searchProjection } from '../projections/search/project.ts'
import { rebuildSearch } from '../projections/search/rebuild.ts'
import { type Differences, findDifferences, repairDifferences } from '../projections/search/reconcile.ts'
import { openMeiliSink } from '../search/meilisearch/sink.ts'
import { hasOldWords } from '../search/postgres/tables.ts'
import { deepLink } from '../video/source/source.ts'
import { consumerOf } from './embed-frames.ts'
import type { FaultPoint } from './fault-point.ts'

/** A rebuild that failed would most likely fail again at once. */
const REST_AFTER_FAILURE_MS = 60 * 60_000

export type OpenProjection = Awaited<ReturnType<typeof openProjection>>

/** The search projection: the read model in Postgres always, its copy in Meilisearch when it is configured. */
export async function openProjection({
  config,
  db,
  logger,
  faultPoint,
  space,
}: {
  config: Config
  db: Db
  logger: Logger
  faultPoint: FaultPoint
  /** Whose vectors are searched, once there are all. */
  space?: string | undefined
}) {
  const stop = new AbortController()
  const deps = { db, deepLink, signal: stop.signal }
  const sink = config.meili && openMeiliSink(config.meili)
  const copying = sink && startCopying({ db, sink, logger })
  let rebuilding: Promise<void> | undefined
  let restsUntil = 0
  // Readers use the old read model meanwhile.
  const rebuildWhatIsOld = async () => {
    if (rebuilding || Date.now() < restsUntil) return
    await forgetConsumers(db, consumerOf(''), space && consumerOf(space))
    const isNext = space !== undefined && (await isSpaceReady(db, space, consumerOf))
    if (!isNext && !(await hasOldWords(db))) return
    logger.info({ space }, 'search read model rebuild started: its words or its vectors are of another version')
    rebuilding = rebuildSearch({ ...deps, ...(isNext ? { space } : {}) })
      .then(async ({ frames }) => {
        logger.info({ frames }, 'search read model rebuilt')
        if (isNext) await deleteOldVectors(db, consumerOf)
      })
      .catch((error: unknown) => {
        // While another process rebuilds, this one looks again at its next turn.
        if (error instanceof AppError && error.code === 'conflict') return
        restsUntil = Date.now() + REST_AFTER_FAILURE_MS
        if (!stop.signal.aborted) logger.warn({ err: error }, 'search read model rebuild failed')
      })
      .finally(() => {
        rebuilding = undefined
      })
  }
  await rebuildWhatIsOld()
  let differences: Differences | undefined
  return {
    /** Begins to build the read model anew where another version cut its words, or where a new space is full. */
    rebuildWhatIsOld,
    consumer: withFault(searchProjection(deps), faultPoint),
    /** Resolves when Meilisearch has what the read model has. */
    async copied() {
      if (sink) await copyToMeilisearch({ db, sink })
    },
    /** Updates save counts in the read model. In batches, so that a busy library still answers 304. */
    async refreshSaveCounts() {
      await refreshSaveCounts(deps)
    },
    /** Compares a slice of the read model with the rows, and repairs what differed the last time and differs still. */
    async reconcile() {
      await rebuildWhatIsOld()
      await rebuilding
      const last = differences
      differences = undefined
      const found = last && (await repairDifferences(deps, last))
      if (found && found.repaired > 0) logger.warn(found, 'search index repaired')
      else if (found) logger.info(found, 'search index verified')
      differences = await findDifferences(deps, new Date().getUTCHours())
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await copying?.[Symbol.asyncDispose]()
      await rebuilding
    },
  }
}

function withFault(consumer: Consumer, faultPoint: FaultPoint): Consumer {
  return {
    ...consumer,
    async handle(events, signal) {
      const commit = await consumer.handle(events, signal)
      return async (tx) => {
        await commit?.(tx)
        faultPoint('projection-applied')
      }
    },
  }
}

/** Rebuilds the read model, and copies it whole. */
export async function rebuildAll({ config, db }: { config: Config; db: Db }) {
  let started = performance.now()
  const built = await rebuildSearch({ db, deepLink })
  const results = [{ engine: 'postgres', ...built, ms: Math.round(performance.now() - started) }]
  if (config.meili) {
    started = performance.now()
    await copyToMeilisearch({ db, sink: openMeiliSink(config.meili) }, { whole: true })
    results.push({ engine: 'meilisearch', ...built, ms: Math.round(performance.now() - started) })
  }
  return results
}

/** Compares the whole read model with the rows and repairs it. @throws AppError conflict while events wait. */
export async function reconcileAll({ db }: { db: Db }) {
  const found = await findDifferences({ db, deepLink })
  for (let wait = 0; wait < 100; wait++) {
    const repaired = await repairDifferences({ db, deepLink }, found)
    if (repaired) return repaired
    await sleep(100)
  }
  throw new AppError('conflict', 'The search projection is behind its events. Try again when the workers caught up.')
}
