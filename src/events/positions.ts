import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../db/client.ts'
import type { Cursor } from './catalogue.ts'
import { findEnd } from './read.ts'

/**
 * The position right before the first event of this time or later; the end of the log when there is none. It reads the
 * log once: there is no index by time.
 */
export async function positionBefore(db: DbOrTx, time: Date): Promise<Cursor> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events
         where time >= ${time.toISOString()}::timestamptz and xid < event_log_horizon()
         order by events.xid, seq limit 1`,
  )
  return rows[0] ? { xid: rows[0].xid_text, seq: Number(rows[0].seq) - 1 } : findEnd(db)
}

/** The position of the event right before this one; undefined for the first. */
export async function positionOfPrevious(db: DbOrTx, { xid, seq }: Cursor): Promise<Cursor | undefined> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events where (xid, seq) < (${xid}::xid8, ${seq}::bigint)
         order by events.xid desc, seq desc limit 1`,
  )
  return rows[0] && { xid: rows[0].xid_text, seq: Number(rows[0].seq) }
}
