import { type Db, type DbOrTx, inTransaction, type Tx } from '../db/client.ts'
import { notFound } from '../errors.ts'
import { sql } from '../sql/orm.ts'
import type { StoredEvent } from './catalogue.ts'
import { toCloudEvent } from './cloud-event.ts'
import { readEventsById } from './read.ts'

/** An event that a consumer skipped after repeated failures. */
export interface DeadEvent {
  consumer: string
  event: StoredEvent
  /** Why the last attempt failed. */
  error: string
  attempts: number
  at: Date
  /** Whether another attempt is asked for. */
  waiting: boolean
}

/** As programs see it. */
export function describeDead({ at, event, ...rest }: DeadEvent, publicUrl: string) {
  return { ...rest, at: at.toISOString(), event: toCloudEvent(event, publicUrl) }
}

type Row = Omit<DeadEvent, 'event' | 'at'> & { event_id: string; at: string }

interface DeadOptions {
  consumer?: string | null | undefined
  eventId?: string | null
  /** The last one of the page before. */
  after?: { at: Date; eventId: string; consumer: string } | undefined
  limit?: number
}

/** The newest first; of one consumer, or one event, where these are given. */
export async function listDeadEvents(
  db: DbOrTx,
  { consumer = null, eventId = null, after, limit = 1_000 }: DeadOptions,
): Promise<DeadEvent[]> {
  const { rows } = await db.execute<Row>(sql`
    select consumer, event_id, error, attempts, at, retry_at is not null as waiting from dead_events
     where (${consumer}::text is null or consumer = ${consumer})
       and (${eventId}::text is null or event_id::text = ${eventId})
       ${
         after
           ? sql`and (at, event_id, consumer)
                     < (${after.at.toISOString()}::timestamptz, ${after.eventId}::uuid, ${after.consumer})`
           : sql``
       }
     order by at desc, event_id desc, consumer desc limit ${limit}`)
  const events = new Map(
    (await readEventsById(db, [...new Set(rows.map((row) => row.event_id))])).map((e) => [e.id, e]),
  )
  return rows.flatMap(({ event_id, at, ...row }) => {
    const event = events.get(event_id)
    return event ? [{ ...row, event, at: new Date(at) }] : []
  })
}

/**
 * Asks the consumers for another attempt at dead events; returns their number. The consumers make it at once, or when a
 * worker runs again. @throws AppError not_found where nothing fits
 */
export async function requestRetries(
  db: Db,
  { consumer = null, eventIds = null }: { consumer?: string | null; eventIds?: readonly string[] | null },
): Promise<number> {
  const ids = eventIds && sql.param([...eventIds])
  return inTransaction(db, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update dead_events set retry_at = now()
       where (${consumer}::text is null or consumer = ${consumer})
         and (${ids}::text[] is null or event_id::text = any(${ids}::text[]))`)
    if (!rowCount) throw notFound('dead event')
    await tx.execute(sql`select pg_notify('events', '')`)
    return rowCount
  })
}

const RETRIES_AT_ONCE = 100

/** The dead events that a consumer is asked to try again, the oldest first. */
export async function findRetries(db: Db, consumer: string): Promise<StoredEvent[]> {
  const { rows } = await db.execute<{ event_id: string }>(sql`
    select event_id from dead_events where consumer = ${consumer} and retry_at is not null
     order by at, event_id limit ${RETRIES_AT_ONCE}`)
  const events = await readEventsById(
    db,
    rows.map((row) => row.event_id),
  )
  return events.sort((a, b) => a.cursor.seq - b.cursor.seq)
}

export async function forgetDeadEvent(tx: Tx, consumer: string, eventId: string): Promise<void> {
  await tx.execute(sql`delete from dead_events where consumer = ${consumer} and event_id = ${eventId}`)
}

const MAX_ERROR = 2_000

/** Records an event as dead with its reason, or adds the attempts to those of a dead one. */
export async function moveToDeadEvents(
  tx: Tx,
  given: { consumer: string; eventId: string; error: unknown; attempts: number },
): Promise<void> {
  const { consumer, eventId, error, attempts } = given
  const message = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR)
  await tx.execute(sql`
    insert into dead_events (consumer, event_id, error, attempts)
    values (${consumer}, ${eventId}, ${message}, ${attempts})
    on conflict (consumer, event_id) do update
       set error = excluded.error, attempts = dead_events.attempts + excluded.attempts, at = now(), retry_at = null`)
}
