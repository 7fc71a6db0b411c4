import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { webhookEndpoints } from '../../db/schema/webhooks.ts'
import { type EventType, isLater, type StoredEvent } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { readEvents } from '../../events/read.ts'
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
export async function insertDeliveries(
  tx: Tx,
  given: {
    endpointId: string
    events: readonly Pick<StoredEvent, 'id' | 'type' | 'cursor'>[]
    now: Date
    again: boolean
  },
): Promise<number> {
  const { endpointId, events, now, again } = given
  if (events.length === 0) return 0
  const list = <T>(of: (event: (typeof events)[number]) => T) => sql.param(events.map(of))
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
