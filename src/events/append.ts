import type { Tx } from '../db/client.ts'
import { events } from '../db/schema/events.ts'
import { EVENTS, type EventType, type NewEvent } from './catalogue.ts'

/** The only way to say that something happened: in the transaction that made it so. Data that does not fit the catalogue throws, and with it the transaction. */
export async function appendEvents(tx: Tx, list: readonly NewEvent[]): Promise<void> {
  // One statement may hold 65,535 parameters; a deleted video can undo more saves than that.
  for (let from = 0; from < list.length; from += 5_000) {
    const rows = list.slice(from, from + 5_000).map(({ type, subject, accountId, data }) => ({
      type,
      subject,
      accountId,
      data: EVENTS[type].parse(data) as Record<string, unknown>,
    }))
    await tx.insert(events).values(rows)
  }
}

export async function appendEvent<T extends EventType>(tx: Tx, event: NewEvent<T>): Promise<void> {
  await appendEvents(tx, [event])
}
