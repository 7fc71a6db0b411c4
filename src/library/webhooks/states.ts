import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import type { Cursor } from '../../events/catalogue.ts'
import { readPosition } from '../../events/positions.ts'
import { findEnd } from '../../events/read.ts'
import { type EndpointRow, loadEndpoint, lockEndpoint, setColumns } from './endpoints.ts'
import { stopFollowing } from './positions.ts'

/**
 * Stops sending. The endpoint keeps its position in the log, so that nothing is lost. Pausing twice changes nothing.
 */
export async function pauseEndpoint(db: Db, id: string): Promise<EndpointRow> {
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, id)
    if (endpoint.state !== 'active') return endpoint
    await stopFollowing(tx, id)
    return setColumns(tx, id, { state: 'paused', pausedBecause: 'operator' })
  })
}

/**
 * Resumes an endpoint that is paused or gone. `stopped`: sends everything that was not delivered, including what failed
 * for good since the endpoint began to fail. `now`: sends only new events. A cursor or a date: sends every event after
 * it, delivered or not.
 */
export async function resumeEndpoint(db: Db, id: string, from: string, now: Date): Promise<EndpointRow> {
  await loadEndpoint(db, id)
  const place = from === 'stopped' || from === 'now' ? undefined : await readPosition(db, 'from', from)
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, id)
    if (endpoint.state === 'active')
      throw new AppError('conflict', 'This webhook endpoint is active. To send events again, resend a range of them.')
    const position = place ?? (from === 'now' ? await findEnd(tx) : { xid: endpoint.xid, seq: endpoint.seq })
    if (from !== 'stopped') await skipUntil(tx, id, position, now)
    await sendAgain(tx, id, { givenUpSince: from === 'stopped' ? endpoint.failingSince : null, now })
    return setColumns(tx, id, {
      state: 'active',
      pausedBecause: null,
      following: false,
      ...position,
      failures: 0,
      failingSince: null,
      told: 0,
      heldUntil: null,
    })
  })
}

async function skipUntil(tx: Tx, id: string, { xid, seq }: Cursor, now: Date): Promise<void> {
  await tx.execute(sql`
    update webhook_deliveries set state = 'skipped', round = round + 1, finished_at = ${now.toISOString()}::timestamptz
     where endpoint_id = ${id} and state = 'waiting' and (xid, seq) <= (${xid}::xid8, ${seq}::bigint)`)
}

/** Restarts the schedule of waiting deliveries, and of those that failed for good since the endpoint began to fail. */
async function sendAgain(
  tx: Tx,
  id: string,
  { givenUpSince, now }: { givenUpSince: Date | null; now: Date },
): Promise<void> {
  await tx.execute(sql`
    update webhook_deliveries set state = 'waiting', tries = 0, round = round + 1, finished_at = null,
           next_at = ${now.toISOString()}::timestamptz
     where endpoint_id = ${id} and test is null
       and (state = 'waiting'
            or (state = 'failed' and finished_at >= ${givenUpSince?.toISOString() ?? null}::timestamptz))`)
}
