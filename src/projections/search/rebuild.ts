import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import type { Cursor } from '../../events/catalogue.ts'
import { readEvents } from '../../events/read.ts'
import {
  abandonGeneration,
  applyToReadModel,
  beginGeneration,
  dropOldGeneration,
  indexGeneration,
  lockReadModel,
  nextGeneration,
  swapGeneration,
} from '../../search/postgres/sink.ts'
import { loadFramesOfVideos, loadPublicVideoIds } from './load.ts'
import {
  affectedBy,
  allGroups,
  groupPieces,
  type ProjectionDeps,
  piecesOf,
  project,
  projectGroups,
  SAVE_EVENTS,
  SEARCH_EVENTS,
} from './project.ts'

const LOCK = 'search-rebuild'
const VIDEOS_AT_ONCE = 25

export interface RebuildProgress {
  /** Videos written so far. */
  videos: number
  frames: number
}

/**
 * `frames reindex`: writes the whole read model anew beside the live one, follows the log until it has caught up, and takes the live one's place in one
 * transaction. Readers and the live projection go on meanwhile.
 * @throws AppError conflict while another rebuild runs.
 */
export async function rebuildSearch({
  db,
  deepLink,
  signal,
  onProgress,
}: ProjectionDeps & {
  signal?: AbortSignal
  onProgress?: (progress: RebuildProgress) => void
}): Promise<RebuildProgress> {
  const session = await db.$client.connect()
  try {
    const { rows } = await session.query<{ taken: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
      [LOCK],
    )
    if (!rows[0]?.taken) throw new AppError('conflict', 'Another rebuild of the search read model is running.')
    try {
      return await rebuild()
    } catch (error) {
      await abandonGeneration(db).catch(() => undefined)
      throw error
    } finally {
      await session.query('select pg_advisory_unlock(hashtextextended($1, 0))', [LOCK])
    }
  } finally {
    session.release()
  }

  async function rebuild(): Promise<RebuildProgress> {
    await db.transaction((tx) => beginGeneration(tx))
    // Everything the log shows from here on is looked at again before the swap.
    let cursor = await endOfLog(db)
    const progress = { videos: 0, frames: 0 }
    // One page is written while the next is read.
    let writing: Promise<unknown> = Promise.resolve()
    for (let after = ''; ; ) {
      signal?.throwIfAborted()
      const ids = await loadPublicVideoIds(db, { after, limit: VIDEOS_AT_ONCE })
      if (ids.length === 0) break
      const frames = await loadFramesOfVideos(db, ids, deepLink)
      await writing
      writing = db.transaction((tx) => applyToReadModel(tx, { put: { frames }, remove: {} }, nextGeneration))
      writing.catch(() => undefined)
      progress.videos += ids.length
      progress.frames += frames.length
      onProgress?.({ ...progress })
      after = ids.at(-1)!
    }
    await writing
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local statement_timeout = 0`)
      await tx.execute(sql`set local maintenance_work_mem = '128MB'`)
      await indexGeneration(tx)
    })
    const groups = await db.transaction((tx) => allGroups(tx, nextGeneration))
    for (const piece of groupPieces(groups)) {
      signal?.throwIfAborted()
      await db.transaction((tx) => projectGroups(tx, piece, nextGeneration))
    }
    cursor = await catchUp(db, cursor)
    await db.transaction(async (tx) => {
      // The live projection waits here: what it has read so far we have read too once this catch-up is done, and what follows it writes to the new generation.
      await lockReadModel(tx)
      await catchUp(tx, cursor)
      await swapGeneration(tx)
    })
    await dropOldGeneration(db)
    return progress
  }

  async function catchUp(on: Db | Parameters<Parameters<Db['transaction']>[0]>[0], from: Cursor): Promise<Cursor> {
    for (let cursor = from; ; ) {
      signal?.throwIfAborted()
      const { events, next } = await readEvents(on, {
        after: cursor,
        types: [...SEARCH_EVENTS, ...SAVE_EVENTS],
        limit: 500,
      })
      if (events.length === 0) return cursor
      for (const piece of piecesOf(await affectedBy(on, events)))
        await on.transaction((tx) => project(tx, deepLink, piece, nextGeneration))
      cursor = next
    }
  }
}

/** The last event any reader may have seen. */
async function endOfLog(db: Db): Promise<Cursor> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events where xid < pg_snapshot_xmin(pg_current_snapshot()) order by xid desc, seq desc limit 1`,
  )
  return { xid: rows[0]?.xid_text ?? '0', seq: Number(rows[0]?.seq ?? 0) }
}
