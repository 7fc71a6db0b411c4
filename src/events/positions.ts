import type pg from 'pg'
import type { Db, DbOrTx, Tx } from '../db/client.ts'
import { type AppError, invalid } from '../errors.ts'
import { type SQL, sql } from '../sql/orm.ts'
import { type Cursor, formatCursor, isLater, parseCursor, START } from './catalogue.ts'
import { isIdle } from './consume.ts'
import { MOST_UNREAD } from './lag.ts'
import { findBreak, findEnd, findLast } from './read.ts'

/**
 * The position right before the first event of this time or later; the end of the log when there is none. The index on
 * `time` is asked for ranges, each twice as long as the one before. It knows which blocks hold a range, not which event
 * is the first.
 */
async function positionBefore(db: DbOrTx, time: Date): Promise<Cursor> {
  const { rows: oldest } = await db.execute<{ time: string }>(sql`select time from events order by xid, seq limit 1`)
  if (oldest[0] && new Date(oldest[0].time) >= time) return START
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

/** PostgreSQL has no year 0, and a later year has no ISO date of four digits. */
const [EARLIEST, LATEST] = [Date.parse('0001-01-01'), Date.parse('9999-12-31T23:59:59.999Z')]
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A place in the log as people give it: a cursor (after its event), or a date or time (before its first event). */
export async function readPosition(db: DbOrTx, name: string, text: string): Promise<Cursor> {
  const cursor = parseCursor(text)
  if (cursor) {
    const end = await findBreak(db, cursor)
    if (!end) return cursor
    throw invalid(name, `${name}: the log does not hold this event. Go on from ${formatCursor(end)}, or give a date.`)
  }
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN
  if (!(time >= EARLIEST && time <= LATEST))
    throw invalid(name, `${name}: give a cursor of the log, or a date such as 2026-11-20 or 2026-11-20T08:00:00Z.`)
  return positionBefore(db, new Date(time))
}

/** The position of the event right before this one; undefined for the first. */
export async function positionOfPrevious(db: DbOrTx, { xid, seq }: Cursor): Promise<Cursor | undefined> {
  return findLast(db, sql`(xid, seq) < (${xid}::xid8, ${seq}::bigint)`)
}

/**
 * Moves a consumer's checkpoint back, so that it handles the events behind `from` again. A batch that it is handling
 * does not count. Returns the number of events up to where it was, at most MOST_UNREAD.
 * @throws AppError invalid_request for an unknown consumer, and for a position that it has not reached
 */
export async function replay(
  db: Db,
  { consumer, from }: { consumer: string; from: Cursor },
): Promise<{ was: Cursor; events: number }> {
  const was = await db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ xid: string; seq: string }>(
      sql`select xid::text as xid, seq from checkpoints where consumer = ${consumer} for update`,
    )
    if (!rows[0]) throw await noConsumer(tx, consumer)
    const at = { xid: rows[0].xid, seq: Number(rows[0].seq) }
    if (isLater(from, at))
      throw invalid(
        'from',
        `from: ${consumer} is only at ${formatCursor(at)}. Going forward would skip events. Give an earlier position.`,
      )
    await tx.execute(sql`
      update checkpoints set xid = ${from.xid}::xid8, seq = ${from.seq}::bigint, updated_at = now()
       where consumer = ${consumer}`)
    await tx.execute(sql`select pg_notify('events', '')`)
    return at
  })
  const { rows: counted } = await db.execute<{ n: number }>(sql`
    select count(*)::int as n from (
      select from events where (xid, seq) > (${from.xid}::xid8, ${from.seq}::bigint)
         and (xid, seq) <= (${was.xid}::xid8, ${was.seq}::bigint) limit ${MOST_UNREAD}) between_them`)
  return { was, events: counted[0]!.n }
}

async function noConsumer(tx: Tx, consumer: string): Promise<AppError> {
  const { rows } = await tx.execute<{ consumer: string }>(sql`select consumer from checkpoints order by consumer`)
  const known = rows.map((row) => row.consumer)
  return invalid('consumer', `consumer: there is no ${consumer}. Use one of ${known.join(', ') || 'none yet'}.`, known)
}

/** Takes away the positions of consumers that begin so and that no process runs, except of one. */
export async function forgetConsumers(db: Db, beginning: string, except: string | undefined): Promise<void> {
  await db.execute(sql`
    delete from checkpoints where starts_with(consumer, ${beginning})
       and consumer is distinct from ${except ?? null} and ${isIdle(sql`consumer`)}`)
}

/**
 * Readies the log of a restored database, in the transaction that restored it: new events come behind all that were
 * ever written. The consumers in `rebuilt` begin at the start, because what they made was not restored. Returns where
 * they were.
 */
export async function continueRestoredLog(
  client: pg.ClientBase,
  { rebuilt }: { rebuilt: readonly string[] },
): Promise<Map<string, Cursor>> {
  const { rows } = await client.query<{ consumer: string; xid: string; seq: string }>(
    'select consumer, xid::text as xid, seq from checkpoints where consumer = any($1)',
    [rebuilt],
  )
  await client.query(`update event_log set cluster = 'restored'`)
  await client.query(`select set_config('frames.event_log_shift', '', true)`)
  await client.query('select event_log_shift()')
  await client.query(`update checkpoints set xid = '0', seq = 0 where consumer = any($1)`, [rebuilt])
  return new Map(rows.map(({ consumer, xid, seq }) => [consumer, { xid, seq: Number(seq) }]))
}

/** Puts consumers where they were, once what they make is built again. No consumer may run. */
export async function returnCheckpoints(client: pg.ClientBase, cursors: ReadonlyMap<string, Cursor>): Promise<void> {
  for (const [consumer, { xid, seq }] of cursors)
    await client.query('update checkpoints set xid = $2::xid8, seq = $3 where consumer = $1', [consumer, xid, seq])
}
