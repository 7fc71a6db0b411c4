import type { Db } from '../db/client.ts'
import { webhookDeliveries as deliveries, webhookEndpoints } from '../db/schema/webhooks.ts'
import type { Cursor, EventType, SentType, StoredEvent } from '../events/catalogue.ts'
import { readEvents, readEventsById } from '../events/read.ts'
import { and, asc, eq, isNotNull, lte, notInArray } from '../sql/orm.ts'
import type { EndpointRow } from './endpoints.ts'
import type { Due } from './record.ts'

/** What is sent next: an event from the log, or a delivery that is due. */
export interface Item {
  event: StoredEvent<SentType>
  due?: Due | undefined
}

/** The endpoint as it is. Undefined when the lease has ended. */
export async function findLeased(db: Db, lease: string): Promise<EndpointRow | undefined> {
  const [row] = await db.select().from(webhookEndpoints).where(eq(webhookEndpoints.lease, lease))
  return row
}

/** False while nothing but a test may be sent. */
export function isSending({ state, heldUntil }: EndpointRow, now: Date): boolean {
  return state === 'active' && (heldUntil === null || heldUntil <= now)
}

interface Options {
  now: Date
  /** The position in the log to read on from. */
  after: Cursor
  /** Deliveries in flight. */
  except: ReadonlySet<number>
  limit: number
}

/**
 * What is sent next, by time: a delivery since it is due, an event since it was written. So neither holds the other up.
 */
export async function findNext(db: Db, endpoint: EndpointRow, { now, after, except, limit }: Options): Promise<Item[]> {
  const due = await findDue(db, endpoint, { now, except, limit })
  const types = (endpoint.types as EventType[] | null) ?? undefined
  const { events } = isSending(endpoint, now) ? await readEvents(db, { after, types, limit }) : { events: [] }
  const items: Item[] = []
  // The events stay in the order of the log.
  for (let [d, e] = [0, 0]; items.length < limit && (d < due.length || e < events.length); ) {
    const isDueNext = e === events.length || (d < due.length && due[d]!.due.nextAt <= events[e]!.time)
    items.push(isDueNext ? due[d++]! : { event: events[e++]! })
  }
  return items
}

async function findDue(
  db: Db,
  endpoint: EndpointRow,
  { now, except, limit }: Omit<Options, 'after'>,
): Promise<Required<Item & { due: Due }>[]> {
  const rows = await db
    .select()
    .from(deliveries)
    .where(
      and(
        eq(deliveries.endpointId, endpoint.id),
        eq(deliveries.state, 'waiting'),
        lte(deliveries.nextAt, now),
        notInArray(deliveries.id, [...except]),
        isSending(endpoint, now) ? undefined : isNotNull(deliveries.test),
      ),
    )
    .orderBy(asc(deliveries.nextAt), asc(deliveries.id))
    .limit(limit)
  const ids = rows.flatMap(({ test, eventId }) => (test === null ? [eventId] : []))
  const events = new Map((ids.length > 0 ? await readEventsById(db, ids) : []).map((event) => [event.id, event]))
  return rows.flatMap(({ id, eventId, tries, nextAt, test }) => {
    const event = test === null ? events.get(eventId) : toTestEvent(test)
    return event ? [{ event, due: { id, tries, nextAt: nextAt!, isTest: test !== null } }] : []
  })
}

function toTestEvent(test: Record<string, unknown>): StoredEvent<SentType> {
  const event = test as unknown as StoredEvent<SentType>
  return { ...event, time: new Date(event.time) }
}
