import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import { createOutage, recordOutage } from '../events/waiting.ts'
import type { Logger } from '../logger.ts'
import { MIRROR, meiliProjection, rebuildMirror, reconcileMirror, syncMirror } from '../projections/search/mirror.ts'
import { refreshSaveCounts, searchProjection } from '../projections/search/project.ts'
import { rebuildSearch } from '../projections/search/rebuild.ts'
import { reconcileSearch } from '../projections/search/reconcile.ts'
import { openMeiliSink } from '../search/meilisearch/sink.ts'
import { hasOldWords } from '../search/postgres/tables.ts'
import { deepLink } from '../video/source/source.ts'
import type { FaultPoint } from './fault-point.ts'

export interface OpenProjection {
  consumers: Consumer[]
  /** Updates save counts in the read model. In batches, so that a busy library still answers 304. */
  refreshSaveCounts(): Promise<void>
  /** Compares the read model and the mirror with Postgres and repairs what differs. */
  reconcile(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** How often the mirror is checked without events, to find an index that was emptied. */
const MIRROR_CHECK_MS = 10_000

/** The search projection: the read model in Postgres always, the mirror in Meilisearch when it is configured. */
export async function openProjection({
  config,
  db,
  logger,
  faultPoint,
}: {
  config: Config
  db: Db
  logger: Logger
  faultPoint: FaultPoint
}): Promise<OpenProjection> {
  const stop = new AbortController()
  const deps = { db, deepLink, signal: stop.signal }
  const mirror = config.meili ? { db, sink: openMeiliSink(config.meili), signal: stop.signal } : undefined
  let rebuilding: Promise<void> | undefined
  // Readers use the old read model meanwhile. A failed rebuild is tried again at the next comparison.
  const rebuildOldWords = async () => {
    if (rebuilding || !(await hasOldWords(db))) return
    logger.info('search read model rebuild started: its words were split by another version')
    rebuilding = rebuildSearch(deps)
      .then(
        ({ frames }) => logger.info({ frames }, 'search read model rebuilt'),
        (error: unknown) => {
          if (!stop.signal.aborted) logger.warn({ err: error }, 'search read model rebuild failed')
        },
      )
      .finally(() => {
        rebuilding = undefined
      })
  }
  await rebuildOldWords()
  let syncing: Promise<unknown> | undefined
  const mirrorOutage = createOutage()
  const syncMirrorNow = () => {
    if (!mirror || syncing || stop.signal.aborted) return
    syncing = syncMirror(mirror)
      .then(
        () => {
          const ended = mirrorOutage.over()
          if (!ended) return
          logger.info(ended, 'search replica sync succeeds again')
          return recordOutage(db, MIRROR, null)
        },
        (error: unknown) => {
          if (stop.signal.aborted) return
          const { log, soFar } = mirrorOutage.failed()
          if (log) logger.warn({ err: error, ...log }, 'search replica sync failed')
          return recordOutage(db, MIRROR, { of: 'Meilisearch', ...soFar })
        },
      )
      .finally(() => {
        syncing = undefined
      })
  }
  syncMirrorNow()
  const timer = setInterval(syncMirrorNow, MIRROR_CHECK_MS)
  return {
    consumers: [withFault(searchProjection(deps), faultPoint), ...(mirror ? [meiliProjection(mirror)] : [])],
    async refreshSaveCounts() {
      await refreshSaveCounts(deps)
      syncMirrorNow()
    },
    async reconcile() {
      await rebuildOldWords()
      await rebuilding
      for (const { missing, stale, extra, ...result } of await reconcileAll({ config, db })) {
        const fields = { ...result, missing, stale, extra }
        if (missing + stale + extra > 0) logger.warn(fields, 'search index repaired')
        else logger.info(fields, 'search index verified')
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stop.abort()
      await syncing
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

/** Rebuilds the read model and the mirror. */
export async function rebuildAll({ config, db }: { config: Config; db: Db }) {
  let started = performance.now()
  const built = await rebuildSearch({ db, deepLink })
  const results = [{ engine: 'postgres', ...built, ms: Math.round(performance.now() - started) }]
  if (config.meili) {
    started = performance.now()
    await rebuildMirror({ db, sink: openMeiliSink(config.meili) })
    results.push({ engine: 'meilisearch', ...built, ms: Math.round(performance.now() - started) })
  }
  return results
}

/** Compares the read model and the mirror with Postgres and repairs them. */
export async function reconcileAll({ config, db }: { config: Config; db: Db }) {
  const results = [{ engine: 'postgres', ...(await reconcileSearch({ db, deepLink })) }]
  if (config.meili)
    results.push({ engine: 'meilisearch', ...(await reconcileMirror({ db, sink: openMeiliSink(config.meili) })) })
  return results
}
