import { sql } from 'drizzle-orm'
import type { DbOrTx, Tx } from '../../db/client.ts'
import { invalid } from '../../errors.ts'
import { type Cursor, formatCursor, isLater, parseCursor } from '../../events/catalogue.ts'
import { positionBefore } from '../../events/positions.ts'
import { findBreak } from '../../events/read.ts'

/** The consumer of the log that writes deliveries. Its checkpoint is the position of every endpoint that follows. */
export const WEBHOOKS = 'webhooks'

const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A place in the log as people give it: a cursor (after its event), or a date or time (before its first event). */
export async function readPosition(db: DbOrTx, name: string, text: string): Promise<Cursor> {
  const cursor = parseCursor(text)
  if (cursor) {
    const end = await findBreak(db, cursor)
    if (!end) return cursor
    throw invalid(name, `${name}: the log does not hold this event. Go on from ${formatCursor(end)}, or give a date.`)
  }
  if (!DATE.test(text) || Number.isNaN(Date.parse(text)))
    throw invalid(name, `${name}: give a cursor of the log, or a date such as 2026-11-20 or 2026-11-20T08:00:00Z.`)
  return positionBefore(db, new Date(text))
}

/**
 * From here on the consumer writes nothing for the endpoint, which keeps the position that it had reached. The caller
 * has locked the endpoint: the consumer locks it too, so the checkpoint read here is the one it wrote for.
 */
export async function stopFollowing(tx: Tx, endpointId: string): Promise<void> {
  await tx.execute(sql`
    update webhook_endpoints e set xid = c.xid, seq = c.seq from checkpoints c
     where e.id = ${endpointId} and e.following and c.consumer = ${WEBHOOKS} and (c.xid, c.seq) > (e.xid, e.seq)`)
  await tx.execute(sql`update webhook_endpoints set following = false where id = ${endpointId}`)
}

/** @throws AppError invalid_request unless something can lie between the two */
export function checkOrder(from: Cursor, to: Cursor): void {
  if (isLater(from, to)) throw invalid('from', 'from: it is after `to`. Give the earlier place first.')
}
