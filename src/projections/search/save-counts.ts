import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import type { Cursor, EventType, StoredEvent } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import type { READS_ONLY } from '../../events/lag.ts'
import { readEvents } from '../../events/read.ts'
import { rowsOf } from '../../search/postgres/tables.ts'
import { type Affected, affectedBy, piecesOf, SAVE_EVENTS, SEARCH_EVENTS } from './affected.ts'
import { type ProjectionDeps, projectLocked } from './project.ts'

export const SAVE_COUNTS = 'search-save-counts' satisfies keyof typeof READS_ONLY

/**
 * Projects the counts and strengths of frames saved or unsaved since the last run; returns the number of events.
 * Run it at most every five minutes: the version stays until then, and a busy library still answers 304.
 * Two runs at once repeat the same work and do no harm. A replay that comes meanwhile is carried out too.
 */
export async function refreshSaveCounts({ db, deepLink }: ProjectionDeps): Promise<number> {
  await db.execute(sql`insert into checkpoints (consumer) values (${SAVE_COUNTS}) on conflict do nothing`)
  let count = 0
  for (;;) {
    const after = await checkpointOf(db, SAVE_COUNTS)
    const { events, next } = await readEvents(db, { after, types: SAVE_EVENTS, limit: 5_000 })
    if (events.length === 0) return count
    for (const piece of piecesOf(await affectedBy(db, events)))
      await db.transaction((tx) => projectLocked(tx, deepLink, piece))
    await moveOn(db, after, next)
    count += events.length
  }
}

/** Nothing happens where the checkpoint was moved meanwhile: the next turn reads from there. */
async function moveOn(db: Db, after: Cursor, next: Cursor): Promise<void> {
  await db.execute(sql`
    update checkpoints set xid = ${next.xid}::xid8, seq = ${next.seq}::bigint, updated_at = now()
     where consumer = ${SAVE_COUNTS} and xid = ${after.xid}::xid8 and seq = ${after.seq}::bigint`)
}

/** Documents that wait for an event that is not projected yet. */
export interface Pending extends Affected {
  /** Videos with any such event: a change of a frame shows in its video, too. */
  ofVideos: Set<unknown>
  any: boolean
}

/**
 * Call it under the writer's lock, after reading the rows that are compared.
 * Every change seen in them then has a visible event, and the projection cannot move.
 */
export async function loadPending(tx: Tx): Promise<Pending> {
  const rows = await rowsOf<StoredEvent>(
    tx,
    sql`select type, data from events
         where ${isPending('search', SEARCH_EVENTS)} or ${isPending(SAVE_COUNTS, SAVE_EVENTS)}`,
  )
  return {
    ...(await affectedBy(tx, rows)),
    ofVideos: new Set(rows.map(({ data }) => data.video_id)),
    any: rows.length > 0,
  }
}

function isPending(consumer: string, types: readonly EventType[]): SQL {
  return sql`((xid, seq) > (coalesce((select xid from checkpoints where consumer = ${consumer}), '0'::xid8),
                            coalesce((select seq from checkpoints where consumer = ${consumer}), 0))
              and type = any(${sql.param([...types])}::text[]))`
}
