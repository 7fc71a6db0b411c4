import { randomUUID } from 'node:crypto'
import type { Db, DbOrTx } from '../db/client.ts'
import { deleteInPieces } from '../db/delete-in-pieces.ts'
import { type DeliveryState, webhookDeliveries as deliveries } from '../db/schema/webhooks.ts'
import { invalid, notFound } from '../errors.ts'
import { DATA_VERSION, type SentType, type StoredEvent } from '../events/catalogue.ts'
import { findEnd, readEventsById } from '../events/read.ts'
import { and, desc, eq, lt, sql } from '../sql/orm.ts'
import { loadEndpoint, lockEndpoint } from './endpoints.ts'

const KEPT_DAYS = 30

/** One event for one endpoint, as HTTP and the command line show it. */
export type Delivery = ReturnType<typeof toDelivery>

function toDelivery(row: typeof deliveries.$inferSelect) {
  return {
    event_id: row.eventId,
    type: row.type,
    state: row.state,
    next_attempt_at: row.nextAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    finished_at: row.finishedAt?.toISOString() ?? null,
    attempts: row.attempts,
  }
}

interface ListOptions {
  state?: DeliveryState | undefined
  /** The `next` of the previous page. */
  after?: string | undefined
  limit: number
}

/** Deliveries of an endpoint with their attempts, the newest first. @throws AppError not_found, invalid_request */
export async function listDeliveries(
  db: DbOrTx,
  endpointId: string,
  { state, after, limit }: ListOptions,
): Promise<{ deliveries: Delivery[]; next: string | null }> {
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    throw invalid('after', 'after: not a cursor of this list. Use the `next` of a page.')
  await loadEndpoint(db, endpointId)
  const rows = await db
    .select()
    .from(deliveries)
    .where(
      and(
        eq(deliveries.endpointId, endpointId),
        state && eq(deliveries.state, state),
        after === undefined ? undefined : lt(deliveries.id, Number(after)),
      ),
    )
    .orderBy(desc(deliveries.id))
    .limit(limit + 1)
  const page = rows.slice(0, limit)
  return { deliveries: page.map(toDelivery), next: rows.length > limit ? String(page.at(-1)!.id) : null }
}

/** @throws AppError not_found */
export async function loadDelivery(db: DbOrTx, endpointId: string, eventId: string): Promise<Delivery> {
  await loadEndpoint(db, endpointId)
  const isIt = and(eq(deliveries.endpointId, endpointId), eq(deliveries.eventId, eventId))
  const [row] = isUuid(eventId) ? await db.select().from(deliveries).where(isIt) : []
  if (!row) throw notFound('delivery')
  return toDelivery(row)
}

/**
 * Sends one event of the log once more, or for the first time, whatever the endpoint's types. The result of an attempt
 * that is in flight then changes nothing but the list of attempts.
 */
export async function resendEvent(db: Db, endpointId: string, eventId: string, now: Date): Promise<Delivery> {
  const again = { state: 'waiting', tries: 0, nextAt: now, finishedAt: null } as const
  return db.transaction(async (tx) => {
    await lockEndpoint(tx, endpointId)
    const [event] = isUuid(eventId) ? await readEventsById(tx, [eventId]) : []
    if (!event) throw notFound('event in the log')
    const [row] = await tx
      .insert(deliveries)
      .values({ endpointId, eventId, type: event.type, ...again })
      .onConflictDoUpdate({ target: [deliveries.endpointId, deliveries.eventId], set: again })
      .returning()
    return toDelivery(row!)
  })
}

/** Sends a test event: one attempt, whatever the endpoint's state and types. It changes neither. */
export async function sendTest(db: Db, endpointId: string, now: Date): Promise<Delivery> {
  await loadEndpoint(db, endpointId)
  const test: StoredEvent<SentType> = {
    ...{ id: randomUUID(), type: 'webhook.test', version: DATA_VERSION, subject: endpointId, accountId: null },
    ...{ data: { endpoint_id: endpointId }, time: now },
    // Its place is the end of the log, which it does not enter.
    cursor: await findEnd(db),
  }
  const values = { endpointId, eventId: test.id, type: test.type, test: { ...test }, nextAt: now }
  const [row] = await db.insert(deliveries).values(values).returning()
  return toDelivery(row!)
}

/**
 * Deletes deliveries that were over 30 days ago. Failed ones of an endpoint that was paused after failures stay,
 * because a resume may need them.
 */
export async function pruneDeliveries(db: Db, now: Date): Promise<void> {
  const before = sql`${new Date(now.getTime() - KEPT_DAYS * 86_400_000).toISOString()}::timestamptz`
  const isNeeded = sql`state = 'failed' and exists (
    select from webhook_endpoints e
     where e.id = endpoint_id and e.state <> 'active' and finished_at >= e.failing_since)`
  await deleteInPieces(db, 'webhook_deliveries', sql`finished_at < ${before} and not (${isNeeded})`)
}

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
