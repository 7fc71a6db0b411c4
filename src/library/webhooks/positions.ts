import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { invalid } from '../../errors.ts'
import { type Cursor, isLater } from '../../events/catalogue.ts'

/** The consumer of the log that writes deliveries. Its checkpoint is the position of every endpoint that follows. */
export const WEBHOOKS = 'webhooks'

/**
 * From here on the consumer writes nothing for the endpoint, which keeps its position. The caller has locked the
 * endpoint. The consumer locks it too, so the checkpoint read here covers exactly what it wrote.
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
