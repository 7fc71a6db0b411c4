import type { Db, Tx } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { readPosition } from '../events/positions.ts'
import { findEnd } from '../events/read.ts'
import { sql } from '../sql/orm.ts'
import { type EndpointRow, loadEndpoint, lockEndpoint, setColumns } from './endpoints.ts'

/** Stops sending. The checkpoint stays, so that nothing is lost. Pausing twice changes nothing. */
export async function pauseEndpoint(db: Db, id: string): Promise<EndpointRow> {
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, id)
    if (endpoint.state !== 'active') return endpoint
    return setColumns(tx, id, { state: 'paused', pausedBecause: 'operator' })
  })
}

/**
 * Resumes an endpoint that is paused or gone, with `stopped`: sends everything that was not delivered, including what
 * failed for good since it began to fail. `now`, a cursor or a date sets the checkpoint, also that of an active
 * endpoint: nothing up to it is sent, and everything after it is, delivered before or not.
 */
export async function resumeEndpoint(db: Db, id: string, from: string, now: Date): Promise<EndpointRow> {
  await loadEndpoint(db, id)
  const isPlace = from !== 'stopped' && from !== 'now'
  const place = isPlace ? await readPosition(db, 'from', from) : undefined
  return db.transaction(async (tx) => {
    const { state, failingSince } = await lockEndpoint(tx, id)
    const isActive = state === 'active'
    if (from === 'stopped' && isActive)
      throw new AppError('conflict', 'This webhook is active. To send events again, name the place where they begin.')
    if (from === 'stopped') await sendAgain(tx, id, { givenUpSince: failingSince, now })
    else await skipWaiting(tx, id, now)
    return setColumns(tx, id, {
      ...(from === 'stopped' ? {} : { ...(place ?? (await findEnd(tx))), epoch: sql`epoch + 1` as never }),
      ...(isActive ? {} : { state: 'active', pausedBecause: null, failures: 0, failingSince: null, heldUntil: null }),
    })
  })
}

/** Takes back what waits, except a test: from here on the checkpoint says what is sent. */
async function skipWaiting(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.execute(sql`
    update webhook_deliveries set state = 'skipped', next_at = null, finished_at = ${now.toISOString()}::timestamptz
     where endpoint_id = ${id} and state = 'waiting' and test is null`)
}

/** Begins the schedule anew, of what waits and of what failed for good since the endpoint began to fail. */
async function sendAgain(
  tx: Tx,
  id: string,
  { givenUpSince, now }: { givenUpSince: Date | null; now: Date },
): Promise<void> {
  await tx.execute(sql`
    update webhook_deliveries set state = 'waiting', tries = 0, finished_at = null,
           next_at = ${now.toISOString()}::timestamptz
     where endpoint_id = ${id} and test is null
       and (state = 'waiting'
            or (state = 'failed' and finished_at >= ${givenUpSince?.toISOString() ?? null}::timestamptz))`)
}
