import type { Db, DbOrTx } from '../db/client.ts'
import { type SQL, sql } from '../sql/orm.ts'
import { type Cursor, type EventType, START, type StoredEvent } from './catalogue.ts'

interface Row extends Record<string, unknown> {
  seq: string
  // Not named xid: ORDER BY would use the text column and sort 10 before 9.
  xid_text: string
  id: string
  type: EventType
  version: number
  subject: string
  account_id: string | null
  data: Record<string, unknown>
  time: string
}

/** The stored events of a condition, with what orders and bounds them. */
async function selectEvents(db: DbOrTx, rest: SQL): Promise<StoredEvent[]> {
  const { rows } = await db.execute<Row>(sql`
    select seq, xid::text as xid_text, id, type, version, subject, account_id, data, time from events where ${rest}`)
  return rows.map(toStored)
}

interface Range {
  after: Cursor
  /** The last position to read, which every reader may see already. */
  upTo?: Cursor
  types?: readonly EventType[] | undefined
  limit: number
  /** The last of them instead of the first. */
  last?: boolean
}

/**
 * The next events after `after`, oldest first, in commit-safe order. Only transactions older than every open one are
 * read, so no event can appear behind a cursor later. (`seq > last` alone misses the events of slow transactions.)
 * `next` is the cursor to continue from: the last event's, or `after` when there is none.
 */
export async function readEvents(
  db: DbOrTx,
  { after, upTo, types, limit, last }: Range,
): Promise<{ events: StoredEvent[]; next: Cursor }> {
  const wanted = types?.map((type) => sql`${type}`)
  const events = await selectEvents(
    db,
    sql`(xid, seq) > (${after.xid}::xid8, ${after.seq}::bigint)
       and xid < event_log_horizon()
       ${upTo ? sql`and (xid, seq) <= (${upTo.xid}::xid8, ${upTo.seq}::bigint)` : sql``}
       ${wanted ? sql`and type in (${sql.join(wanted, sql`, `)})` : sql``}
     order by ${last ? sql`xid desc, seq desc` : sql`xid, seq`}
     limit ${limit}`,
  )
  if (last) events.reverse()
  return { events, next: events.at(-1)?.cursor ?? after }
}

/** The position of the last readable event. Every later event comes after it. */
export async function findEnd(db: DbOrTx): Promise<Cursor> {
  return (await findLast(db, sql`xid < event_log_horizon()`)) ?? START
}

/** The position of the last event of which this holds. */
export async function findLast(db: DbOrTx, where: SQL): Promise<Cursor | undefined> {
  const { rows } = await db.execute<{ xid_text: string; seq: string }>(
    sql`select xid::text as xid_text, seq from events where ${where} order by xid desc, seq desc limit 1`,
  )
  return rows[0] && { xid: rows[0].xid_text, seq: Number(rows[0].seq) }
}

/** The events of these ids that readers may see, in no order. */
export async function readEventsById(db: DbOrTx, ids: readonly string[]): Promise<StoredEvent[]> {
  return selectEvents(db, sql`id = any(${sql.param([...ids])}::uuid[]) and xid < event_log_horizon()`)
}

/**
 * All events of one account, oldest first, in batches. The log has no index for it: it is read once, from its
 * beginning.
 */
export async function* readAccountEvents(db: DbOrTx, accountId: string, batch: number): AsyncGenerator<StoredEvent[]> {
  for (let after = 0; ; ) {
    const events = await selectEvents(
      db,
      sql`account_id = ${accountId} and seq > ${after}::bigint order by seq limit ${batch}`,
    )
    yield events
    if (events.length < batch) return
    after = events.at(-1)!.cursor.seq
  }
}

/**
 * Events that no reader may see yet, because an older transaction is open in some database of the PostgreSQL server.
 * Usually there are none, or they are milliseconds old. `since` is the time of the oldest.
 */
export async function findHeldBack(db: DbOrTx): Promise<{ events: number; since: Date } | null> {
  const { rows } = await db.execute<{ n: number; since: Date | string | null }>(
    sql`select count(*)::int as n, min(time) as since from events
         where xid >= event_log_horizon()`,
  )
  const { n, since } = rows[0]!
  return since === null ? null : { events: n, since: new Date(since) }
}

/**
 * Undefined when the log holds the event that a cursor names, or for the beginning. Otherwise the cursor is of another
 * library, or of events written after the backup from which this one was restored. Then it is the end of what both have
 * in common.
 */
export async function findBreak(db: DbOrTx, cursor: Cursor): Promise<Cursor | undefined> {
  const { xid, seq } = cursor
  if (xid === START.xid && seq === START.seq) return undefined
  const { rows: same } = await db.execute(sql`select 1 from events where seq = ${seq}::bigint and xid = ${xid}::xid8`)
  if (same.length > 0) return undefined
  return (await findLast(db, sql`(xid, seq) < (${xid}::xid8, ${seq}::bigint) and xid < event_log_horizon()`)) ?? START
}

/**
 * Whether the database was brought to this PostgreSQL cluster and no event has been written here since. Writes what
 * the next writer would write: where new events are placed.
 */
export async function settleLog(db: Db): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ moved: boolean }>(
      sql`select not exists (select from event_log where cluster = event_log_cluster()) as moved`,
    )
    if (rows[0]!.moved) await tx.execute(sql`select event_log_shift()`)
    return rows[0]!.moved
  })
}

function toStored({ account_id, xid_text, seq, time, ...same }: Row): StoredEvent {
  const cursor = { xid: xid_text, seq: Number(seq) }
  return { ...same, accountId: account_id, cursor, time: new Date(time) }
}
