import { randomUUID } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { type DeliveryState, webhookDeliveries, webhookEndpoints } from '../../db/schema/webhooks.ts'
import { invalid, notFound } from '../../errors.ts'
import { type EventType, formatCursor, isLater, type StoredEvent, type TEST_EVENT } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { findEnd, readEvents, readEventsById } from '../../events/read.ts'
import type { DeliveryError } from '../../webhooks/receiver.ts'
import { loadEndpoint, lockEndpoint } from './endpoints.ts'
import { WEBHOOKS } from './leases.ts'

/**
 * Writes a delivery for each endpoint and event, in the transaction that moves the consumer's checkpoint. Returns the
 * number written.
 *
 * Locks every endpoint, also those that are paused. An endpoint that begins to follow at this moment is then seen
 * either here or by `catchUp`, once the checkpoint has moved.
 */
export async function writeDeliveries(tx: Tx, events: readonly StoredEvent[], now: Date): Promise<number> {
  const rows = await tx.select().from(webhookEndpoints).orderBy(webhookEndpoints.id).for('share')
  let written = 0
  for (const { id, state, types, following, ...start } of rows) {
    if (state !== 'active' || !following) continue
    const wanted = events.filter(
      ({ type, cursor }) => (types === null || types.includes(type)) && isLater(cursor, start),
    )
    written += await insertDeliveries(tx, { endpointId: id, events: wanted, now, again: false })
  }
  return written
}

/** Deliveries that may wait for an endpoint before more are written from its position on. */
const MAX_WAITING = 5_000
const BATCH = 1_000

/**
 * Writes deliveries for active endpoints that are behind the consumer, from their own positions on, until they reach
 * it. Any process may do it at any time. Returns the number written.
 */
export async function catchUp(db: Db, now: Date): Promise<number> {
  // Without a transaction, because this runs every second and mostly finds nothing.
  const behind = sql`select from webhook_endpoints where state = 'active' and not following limit 1`
  if ((await db.execute(behind)).rows.length === 0) return 0
  for (let written = 0; ; ) {
    const batch = await db.transaction((tx) => catchUpOnce(tx, now))
    if (batch === undefined) return written
    written += batch
  }
}

async function catchUpOnce(tx: Tx, now: Date): Promise<number | undefined> {
  const [endpoint] = await tx
    .select()
    .from(webhookEndpoints)
    .where(sql`state = 'active' and not following
       and (select count(*) from (select from webhook_deliveries d
              where d.endpoint_id = ${webhookEndpoints.id} and d.state = 'waiting' limit ${MAX_WAITING}) waiting)
           < ${MAX_WAITING}`)
    .orderBy(webhookEndpoints.id)
    .limit(1)
    .for('update', { skipLocked: true })
  if (!endpoint) return undefined
  const { xid, seq } = endpoint
  const after = { xid, seq }
  // Read after the lock. The consumer needs the same lock, so it cannot move on meanwhile.
  const end = await checkpointOf(tx, WEBHOOKS)
  const types = (endpoint.types as EventType[] | null) ?? undefined
  const behind = isLater(end, after)
  const { events, next } = behind
    ? await readEvents(tx, { after, upTo: end, types, limit: BATCH })
    : { events: [], next: after }
  const reached = events.length < BATCH
  await insertDeliveries(tx, { endpointId: endpoint.id, events, now, again: true })
  const position = behind && reached ? end : next
  await tx.execute(sql`
    update webhook_endpoints set following = ${reached}, xid = ${position.xid}::xid8, seq = ${position.seq}::bigint
     where id = ${endpoint.id}`)
  return events.length
}

/** `again`: also resends deliveries that ended. Otherwise a delivery that exists stays as it is. */
async function insertDeliveries(
  tx: Tx,
  given: {
    endpointId: string
    events: readonly StoredEvent[]
    now: Date
    again: boolean
  },
): Promise<number> {
  const { endpointId, events, now, again } = given
  if (events.length === 0) return 0
  const list = <T>(of: (event: StoredEvent) => T) => sql.param(events.map(of))
  const { rowCount } = await tx.execute(sql`
    insert into webhook_deliveries (endpoint_id, event_id, xid, seq, type, next_at)
    select ${endpointId}, id, xid::xid8, seq, type, ${now.toISOString()}::timestamptz
      from unnest(${list(({ id }) => id)}::uuid[], ${list(({ cursor }) => cursor.xid)}::text[],
                  ${list(({ cursor }) => cursor.seq)}::bigint[], ${list(({ type }) => type)}::text[])
        as event (id, xid, seq, type)
    on conflict (endpoint_id, event_id) do ${again ? AGAIN : sql`nothing`}`)
  return rowCount ?? 0
}

/** Begins a new round: the result of an attempt in flight no longer counts. */
const AGAIN = sql`update set state = 'waiting', tries = 0, round = webhook_deliveries.round + 1,
  next_at = excluded.next_at, finished_at = null`

/** Days for which the delivery log is kept. */
const KEPT_DAYS = 30

export interface DeliveryEntry {
  /** The id that receivers see as `webhook-id`. */
  eventId: string
  /** Orders deliveries by the time they were first written. */
  id: number
  type: string
  state: DeliveryState
  nextAt: Date | null
  createdAt: Date
  finishedAt: Date | null
  attempts: AttemptEntry[]
}

interface AttemptEntry {
  at: Date
  status: number | null
  latencyMs: number
  error: DeliveryError | null
  answer: string | null
}

interface ListOptions {
  state?: DeliveryState | undefined
  /** The `id` of the last row of the previous page. */
  before?: number | undefined
  limit: number
}

/** Deliveries of an endpoint with their attempts, newest first. */
export async function listDeliveries(
  db: DbOrTx,
  endpointId: string,
  { state, before, limit }: ListOptions,
): Promise<{ deliveries: DeliveryEntry[]; next: number | null }> {
  await loadEndpoint(db, endpointId)
  const deliveries = await selectDeliveries(
    db,
    sql`endpoint_id = ${endpointId}
        ${state ? sql`and state = ${state}` : sql``} ${before ? sql`and id < ${before}::bigint` : sql``}`,
    limit,
  )
  return { deliveries, next: deliveries.length < limit ? null : (deliveries.at(-1)?.id ?? null) }
}

/** @throws AppError not_found */
export async function loadDelivery(db: DbOrTx, endpointId: string, eventId: string): Promise<DeliveryEntry> {
  await loadEndpoint(db, endpointId)
  const [delivery] = isUuid(eventId)
    ? await selectDeliveries(db, sql`endpoint_id = ${endpointId} and event_id = ${eventId}`, 1)
    : []
  if (!delivery) throw notFound('delivery')
  return delivery
}

/** Times come from raw queries as text. */
type DeliveryRow = Pick<DeliveryEntry, 'eventId' | 'type' | 'state'> & {
  id: string
  nextAt: string
  createdAt: string
  finishedAt: string | null
  attempts: (Omit<AttemptEntry, 'at'> & { at: string })[]
}

async function selectDeliveries(db: DbOrTx, where: SQL, limit: number): Promise<DeliveryEntry[]> {
  const { rows } = await db.execute<DeliveryRow>(sql`
    select d.id, d.event_id as "eventId", d.type, d.state, d.next_at as "nextAt", d.created_at as "createdAt",
           d.finished_at as "finishedAt", coalesce(a.list, '[]') as attempts
      from (select * from webhook_deliveries where ${where} order by id desc limit ${limit}) d
      left join lateral (
        select json_agg(json_build_object('at', at, 'status', status, 'latencyMs', latency_ms, 'error', error,
                                          'answer', answer) order by id) as list
          from webhook_attempts where delivery_id = d.id) a on true
     order by d.id desc`)
  return rows.map(({ id, nextAt, createdAt, finishedAt, attempts, ...row }) => ({
    ...row,
    id: Number(id),
    nextAt: row.state === 'waiting' ? new Date(nextAt) : null,
    createdAt: new Date(createdAt),
    finishedAt: finishedAt === null ? null : new Date(finishedAt),
    attempts: attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
  }))
}

/** Sends one event of the log once more, or for the first time, whatever the endpoint's types. */
export async function resendEvent(db: Db, endpointId: string, eventId: string, now: Date): Promise<DeliveryEntry> {
  await db.transaction(async (tx) => {
    await lockEndpoint(tx, endpointId)
    const events = isUuid(eventId) ? await readEventsById(tx, [eventId]) : []
    if (events.length === 0) throw notFound('event in the log')
    await insertDeliveries(tx, { endpointId, events, now, again: true })
  })
  return loadDelivery(db, endpointId, eventId)
}

/** Sends a test event: one attempt, whatever the endpoint's state and types. It changes neither. */
export async function sendTest(db: Db, endpointId: string, now: Date): Promise<DeliveryEntry> {
  await loadEndpoint(db, endpointId)
  const eventId = randomUUID()
  await db.insert(webhookDeliveries).values({
    endpointId,
    eventId,
    type: 'webhook.test' satisfies keyof typeof TEST_EVENT,
    // Its place is the end of the log, which it does not enter.
    test: { time: now.toISOString(), cursor: formatCursor(await findEnd(db)), data: { endpoint_id: endpointId } },
    nextAt: now,
  })
  return loadDelivery(db, endpointId, eventId)
}

/**
 * Deletes entries of the delivery log that are older than 30 days. Waiting deliveries stay. Failed deliveries of an
 * endpoint that was paused after failures stay too, because they may be sent again.
 */
export async function pruneDeliveries(db: Db, now: Date): Promise<void> {
  const before = sql`${new Date(now.getTime() - KEPT_DAYS * 86_400_000).toISOString()}::timestamptz`
  await db.execute(sql`
    delete from webhook_deliveries d using webhook_endpoints e
     where e.id = d.endpoint_id and d.finished_at < ${before}
       and not (e.state <> 'active' and e.failing_since is not null and d.finished_at >= e.failing_since
                and d.state = 'failed')`)
  await db.execute(sql`delete from webhook_attempts where at < ${before}`)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const isUuid = (text: string) => UUID.test(text)

/** @throws AppError invalid_request */
export function parseBefore(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalid('after', 'after: not a cursor of this list. Use the `next` of a page.')
  return Number(text)
}
