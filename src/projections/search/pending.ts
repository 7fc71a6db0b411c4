import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { EventType, StoredEvent } from '../../events/catalogue.ts'
import { rowsOf } from '../../search/postgres/tables.ts'
import { type Affected, affectedBy, SAVE_EVENTS, SEARCH_EVENTS } from './affected.ts'
import { SAVE_COUNTS } from './save-counts.ts'

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
