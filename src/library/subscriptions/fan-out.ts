import { and, gt, inArray, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { subscriptions } from '../../db/schema/subscriptions.ts'
import { type EventType, isLater, type StoredEvent } from '../../events/catalogue.ts'
import { concerns, KIND_NAMES, KINDS, type KindName } from './kinds.ts'

/** The consumer of the log that writes deliveries. */
export const SUBSCRIPTIONS = 'subscriptions'

/** A host shows nothing that arrives during the turn in which its person, or the model, caused it. */
const OWN_EVENTS_WAIT_MS = 90_000

/**
 * Writes a delivery for each subscription and event, in the transaction that moves the consumer's checkpoint. Its lock
 * keeps new subscriptions out meanwhile: each then begins either before these events or after them.
 */
export async function writeSubscriptionDeliveries(tx: Tx, events: readonly StoredEvent[], now: Date): Promise<number> {
  const names = KIND_NAMES.filter((name) => {
    const types: readonly EventType[] = KINDS[name].types
    return events.some(({ type }) => types.includes(type))
  })
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${SUBSCRIPTIONS}, 0))`)
  const live = and(gt(subscriptions.refreshBefore, now), inArray(subscriptions.name, names))
  const rows = await tx.select().from(subscriptions).where(live)
  const due = rows.flatMap(({ id, accountId, ...row }) => {
    const asked = { name: row.name as KindName, arguments: row.arguments, accountId }
    return events
      .filter((event) => isLater(event.cursor, row) && concerns(asked, event))
      .map((event) => ({ subscriptionId: id, event, accountId }))
  })
  return insertDeliveries(tx, due, now)
}

/** Waits for the consumer's transaction, so that the position of a new subscription is exact. */
export async function holdFanOut(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(hashtextextended(${SUBSCRIPTIONS}, 0))`)
}

/** One that exists stays as it is. */
export async function insertDeliveries(
  tx: Tx,
  due: readonly { subscriptionId: string; event: StoredEvent; accountId: string }[],
  now: Date,
): Promise<number> {
  if (due.length === 0) return 0
  const at = ({ event, accountId }: (typeof due)[number]) =>
    event.accountId === accountId ? Math.max(now.getTime(), event.time.getTime() + OWN_EVENTS_WAIT_MS) : now.getTime()
  const { rowCount } = await tx.execute(sql`
    insert into subscription_deliveries (subscription_id, event_id, next_at)
    select * from unnest(${sql.param(due.map(({ subscriptionId }) => subscriptionId))}::text[],
                         ${sql.param(due.map(({ event }) => event.id))}::uuid[],
                         ${sql.param(due.map((one) => new Date(at(one)).toISOString()))}::timestamptz[])
    on conflict (subscription_id, event_id) do nothing`)
  return rowCount ?? 0
}
