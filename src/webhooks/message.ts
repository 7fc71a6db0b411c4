import type { DbOrTx } from '../db/client.ts'
import { formatCursor, type SentType, type StoredEvent } from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { positionOfPrevious } from '../events/positions.ts'

/** Standard Webhooks recommends less than 20 kB. */
const MAX_BODY = 20_000

/**
 * The body of a delivery: its event as CloudEvents JSON, as `GET /api/events` shows it. One that would be too long has
 * `dataref` instead of `data`: the address of the same event in the log (CloudEvents extension "Dataref").
 */
export async function toMessage(db: DbOrTx, event: StoredEvent<SentType>, publicUrl: string): Promise<string> {
  const cloudEvent = toCloudEvent(event, publicUrl)
  const body = JSON.stringify(cloudEvent)
  if (Buffer.byteLength(body) < MAX_BODY) return body
  const { data: _, ...rest } = cloudEvent
  const before = await positionOfPrevious(db, event.cursor)
  const dataref = `${publicUrl}/api/events?${before ? `after=${formatCursor(before)}&` : ''}limit=1`
  return JSON.stringify({ ...rest, dataref })
}
