import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import type { Logger } from '../logger.ts'
import { projectVocabulary } from '../projections/search/groups.ts'
import { rebuildMirror, reconcileMirror, syncMirror } from '../projections/search/mirror.ts'
import { meiliProjection } from '../projections/search/mirror-consumer.ts'
import { searchProjection } from '../projections/search/project.ts'
import { rebuildSearch } from '../projections/search/rebuild.ts'
import { reconcileSearch } from '../projections/search/reconcile.ts'
import { refreshSaveCounts } from '../projections/search/save-counts.ts'
import { openMeiliSink } from '../search/meilisearch/sink.ts'
import { hasOldWords } from '../search/postgres/generation.ts'
import { deepLink } from '../video/source/source.ts'
import type { FaultPoint } from './fault-point.ts'

export interface OpenProjection {
  consumers: Consumer[]
  /** Save counts enter the read model in batches, so that a busy library still answers 304. */
  refreshSaveCounts(): Promise<void>
  /** Compares every home of the documents with Postgres and heals what differs. */
  reconcile(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** How often the mirror is looked after when nothing happens: an index that somebody emptied is found by this. */
const LOOK_AFTER_MS = 10_000

/** The search projection with the homes this installation has: the Postgres read model always, Meilisearch beside it when it is set. */
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
  let renewing: Promise<void> | undefined
  // Readers are served from the old one meanwhile. One that could not be written anew is tried again with the next comparison.
  const renewWords = async () => {
    if (renewing || !(await hasOldWords(db))) return
    logger.info('search read model is written anew: its words were cut by another version')
    renewing = rebuildSearch(deps)
      .then(
        ({ frames }) => logger.info({ frames }, 'search read model is written anew'),
        (error: unknown) => {
          if (!stop.signal.aborted) logger.warn({ err: error }, 'search read model cannot be written anew')
        },
      )
      .finally(() => {
        renewing = undefined
      })
  }
  await renewWords()
  // The seeded vocabulary comes without events.
  await projectVocabulary({ db })
  let looking: Promise<unknown> | undefined
  const lookAfter = () => {
    if (!mirror || looking || stop.signal.aborted) return
    looking = syncMirror(mirror)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) logger.warn({ err: error }, 'search mirror cannot be brought up to date')
      })
      .finally(() => {
        looking = undefined
      })
  }
  lookAfter()
  const timer = setInterval(lookAfter, LOOK_AFTER_MS)
  return {
    consumers: [withFault(searchProjection(deps), faultPoint), ...(mirror ? [meiliProjection(mirror)] : [])],
    async refreshSaveCounts() {
      await refreshSaveCounts(deps)
      lookAfter()
    },
    async reconcile() {
      await renewWords()
      await renewing
      for (const { missing, stale, extra, ...result } of await reconcileAll({ config, db })) {
        const fields = { ...result, missing, stale, extra }
        if (missing + stale + extra > 0) logger.warn(fields, 'search documents healed')
        else logger.info(fields, 'search documents are right')
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stop.abort()
      await looking
      await renewing
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

export interface RebuildResult {
  engine: string
  frames: number
  videos: number
  ms: number
}

export interface ReconcileResult {
  engine: string
  checked: number
  missing: number
  stale: number
  extra: number
}

/** Rebuilds every home of the documents. */
export async function rebuildAll({ config, db }: { config: Config; db: Db }): Promise<RebuildResult[]> {
  let started = performance.now()
  const built = await rebuildSearch({ db, deepLink })
  const results: RebuildResult[] = [{ engine: 'postgres', ...built, ms: Math.round(performance.now() - started) }]
  if (config.meili) {
    started = performance.now()
    await rebuildMirror({ db, sink: openMeiliSink(config.meili) })
    results.push({ engine: 'meilisearch', ...built, ms: Math.round(performance.now() - started) })
  }
  return results
}

/** Compares every home of the documents with Postgres and heals it. */
export async function reconcileAll({ config, db }: { config: Config; db: Db }): Promise<ReconcileResult[]> {
  const results: ReconcileResult[] = [{ engine: 'postgres', ...(await reconcileSearch({ db, deepLink })) }]
  if (config.meili)
    results.push({ engine: 'meilisearch', ...(await reconcileMirror({ db, sink: openMeiliSink(config.meili) })) })
  return results
}
