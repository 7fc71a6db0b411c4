import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import type { Logger } from '../logger.ts'
import { searchProjection } from '../projections/search/project.ts'
import { deepLink } from '../video/source.ts'
import type { Reached } from './faults.ts'

export interface OpenProjection {
  consumers: Consumer[]
  /** Save counts enter the read model in batches, so that a busy library still answers 304. */
  refreshSaveCounts(): Promise<void>
  /** Compares every home of the documents with Postgres and heals what differs. */
  reconcile(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The search projection with the homes this installation has: the Postgres read model always, Meilisearch beside it when it is set. */
export async function openProjection({
  db,
  reached,
}: {
  config: Config
  db: Db
  databaseUrl: string
  logger: Logger
  reached: Reached
}): Promise<OpenProjection> {
  const postgres = searchProjection({ db, deepLink })
  return {
    consumers: [withFault(postgres, reached)],
    async refreshSaveCounts() {},
    async reconcile() {},
    async [Symbol.asyncDispose]() {},
  }
}

function withFault(consumer: Consumer, reached: Reached): Consumer {
  return {
    ...consumer,
    async handle(events, signal) {
      const commit = await consumer.handle(events, signal)
      return async (tx) => {
        await commit?.(tx)
        reached('projection-applied')
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
export async function rebuildAll(_: { config: Config; db: Db; logger: Logger }): Promise<RebuildResult[]> {
  return []
}

/** Compares every home of the documents with Postgres and heals it. */
export async function reconcileAll(_: { config: Config; db: Db; logger: Logger }): Promise<ReconcileResult[]> {
  return []
}
