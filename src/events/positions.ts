import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { type Cursor, formatCursor, parseCursor } from './catalogue.ts'
import { findBreak, findEnd } from './read.ts'

/**
 * The position right before the first event of this time or later; the end of the log when there is none. It reads the
 * log once: there is no index by time.
 */
async function positionBefore(db: DbOrTx, time: Date): Promise<Cursor> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events
         where time >= ${time.toISOString()}::timestamptz and xid < event_log_horizon()
         order by events.xid, seq limit 1`,
  )
  return rows[0] ? { xid: rows[0].xid_text, seq: Number(rows[0].seq) - 1 } : findEnd(db)
}

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A place in the log as people give it: a cursor (after its event), or a date or time (before its first event). */
export async function readPosition(db: DbOrTx, name: string, text: string): Promise<Cursor> {
  const cursor = parseCursor(text)
  if (cursor) {
    const end = await findBreak(db, cursor)
    if (!end) return cursor
    throw invalid(name, `${name}: the log does not hold this event. Go on from ${formatCursor(end)}, or give a date.`)
  }
  if (!DATE.test(text) || Number.isNaN(Date.parse(text)))
    throw invalid(name, `${name}: give a cursor of the log, or a date such as 2026-11-20 or 2026-11-20T08:00:00Z.`)
  return positionBefore(db, new Date(text))
}

/** The position of the event right before this one; undefined for the first. */
export async function positionOfPrevious(db: DbOrTx, { xid, seq }: Cursor): Promise<Cursor | undefined> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events where (xid, seq) < (${xid}::xid8, ${seq}::bigint)
         order by events.xid desc, seq desc limit 1`,
  )
  return rows[0] && { xid: rows[0].xid_text, seq: Number(rows[0].seq) }
}
