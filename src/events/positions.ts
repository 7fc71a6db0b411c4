import { type SQL, sql } from 'drizzle-orm'
import type { DbOrTx } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { type Cursor, formatCursor, parseCursor, START } from './catalogue.ts'
import { findBreak, findEnd } from './read.ts'

/**
 * The position right before the first event of this time or later; the end of the log when there is none. The index on
 * `time` is asked for ranges, each twice as long as the one before. It knows which blocks hold a range, not which event
 * is the first.
 */
async function positionBefore(db: DbOrTx, time: Date): Promise<Cursor> {
  const first = await firstTimeFrom(db, time.getTime())
  if (first === undefined) return findEnd(db)
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(sql`
    with near as materialized (
      select xid, seq from events where ${isWithin(time.getTime(), first + MOST_OPEN)} and xid < event_log_horizon())
    select xid::text as xid_text, seq from near order by near.xid, seq limit 1`)
  if (!rows[0]) return findEnd(db)
  return (await positionOfPrevious(db, { xid: rows[0].xid_text, seq: Number(rows[0].seq) })) ?? START
}

const HOUR = 3_600_000
/**
 * An event has the time at which its transaction began, so a later one may stand before it. The difference is never
 * more than a transaction may be open.
 */
const MOST_OPEN = HOUR

/** The earliest time of an event, from one time on, in milliseconds. */
async function firstTimeFrom(db: DbOrTx, time: number): Promise<number | undefined> {
  for (let from = time, length = HOUR; ; length *= 2) {
    // The last range has no end: an event may be of a clock that was ahead.
    const before = from + length < Date.now() ? from + length : undefined
    const { rows } = await db.execute<{ first: string | null }>(
      sql`select min(time) as first from events where ${isWithin(from, before)} and xid < event_log_horizon()`,
    )
    const first = rows[0]?.first
    if (first) return new Date(first).getTime()
    if (before === undefined) return undefined
    from = before
  }
}

function isWithin(from: number, before: number | undefined): SQL {
  const at = (time: number) => sql`${new Date(time).toISOString()}::timestamptz`
  return before === undefined ? sql`time >= ${at(from)}` : sql`time >= ${at(from)} and time < ${at(before)}`
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
