import type { DbOrTx } from '../../db/client.ts'
import { formatCursor, parseCursor, type SentType, START, type StoredEvent } from '../../events/catalogue.ts'
import { currentVersion, toCloudEvent } from '../../events/cloud-event.ts'
import { positionOfPrevious } from '../../events/positions.ts'
import type { DueDelivery } from './leases.ts'

/** Standard Webhooks recommends less than 20 kB. */
const MAX_BODY = 20_000

/**
 * The body of a delivery: its event as CloudEvents JSON, as `GET /api/events` shows it. One that would be too long has
 * `dataref` instead of `data`: the address of the same event in the log (CloudEvents extension "Dataref").
 */
export async function toMessage(db: DbOrTx, delivery: DueDelivery, publicUrl: string): Promise<string> {
  const event = delivery.event ?? toTestEvent(delivery)
  const cloudEvent = toCloudEvent(event, publicUrl)
  const body = JSON.stringify(cloudEvent)
  if (Buffer.byteLength(body) < MAX_BODY) return body
  const { data: _, ...rest } = cloudEvent
  return JSON.stringify({ ...rest, dataref: await addressOf(db, event, publicUrl) })
}

async function addressOf(db: DbOrTx, { cursor }: Pick<StoredEvent, 'cursor'>, publicUrl: string): Promise<string> {
  const before = await positionOfPrevious(db, cursor)
  return `${publicUrl}/api/events?${before ? `after=${formatCursor(before)}&` : ''}limit=1`
}

function toTestEvent({ eventId, test }: DueDelivery): StoredEvent<SentType> {
  if (!test) throw new Error(`the log has no event ${eventId}`)
  return {
    id: eventId,
    type: 'webhook.test',
    version: currentVersion('webhook.test'),
    subject: test.data.endpoint_id,
    accountId: null,
    data: test.data,
    time: new Date(test.time),
    cursor: (test.cursor && parseCursor(test.cursor)) || START,
  }
}
