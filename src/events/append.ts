import type { Tx } from '../db/client.ts'
import { events } from '../db/schema/events.ts'
import { EVENTS, type EventType, type NewEvent } from './catalogue.ts'
import { currentVersion } from './versions.ts'

/**
 * Appends events in the transaction of the change they report: the only way to do so. Data that does not match the
 * catalogue throws, which rolls the transaction back.
 */
export async function appendEvents(tx: Tx, list: readonly NewEvent[]): Promise<void> {
  // A statement takes at most 65,535 parameters. Deleting a video can undo more saves than fit.
  for (let from = 0; from < list.length; from += 5_000) {
    const rows = list.slice(from, from + 5_000).map(({ type, subject, accountId, data }) => ({
      type,
      version: currentVersion(type),
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
