import type { Db, Tx } from '../db/client.ts'
import type { EndpointState } from '../db/schema/webhooks.ts'
import { AppError } from '../errors.ts'
import { readPosition } from '../events/positions.ts'
import { findEnd } from '../events/read.ts'
import { type SQL, sql } from '../sql/orm.ts'
import { type EndpointRow, lockEndpoint, setColumns } from './endpoints.ts'

/** Stops sending. The checkpoint stays, so that nothing is lost. Pausing twice changes nothing. */
export async function pauseEndpoint(db: Db, id: string): Promise<EndpointRow> {
  return inLock(db, id, async (tx, endpoint) => (endpoint.state === 'active' ? setColumns(tx, id, PAUSED) : endpoint))
}

/**
 * Resumes an endpoint that is paused or gone, with `stopped`: sends everything that was not delivered, including what
 * failed for good since it began to fail. `now`, a cursor or a date sets the checkpoint, also that of an active
 * endpoint: nothing up to it is sent, and everything after it is, delivered before or not. What fails on the way leaves
 * the endpoint paused at its new place.
 */
export async function resumeEndpoint(db: Db, id: string, from: string, now: Date): Promise<EndpointRow> {
  const isPlace = from !== 'stopped' && from !== 'now'
  const place = isPlace ? await readPosition(db, 'from', from) : undefined
  const goTo = async (tx: Tx) =>
    from === 'stopped' ? {} : { ...(place ?? (await findEnd(tx))), epoch: sql`epoch + 1` as never }
  const before = await inLock(db, id, async (tx, endpoint) => {
    requireStopped(from, endpoint.state)
    const pause = endpoint.state === 'active' ? PAUSED : {}
    await setColumns(tx, id, { ...(await goTo(tx)), ...pause })
    return endpoint
  })
  const change = from === 'stopped' ? sendAgain(before.failingSince, now) : skipWaiting(now)
  await changeInPieces(db, id, change)
  return inLock(db, id, async (tx, { state }) => {
    requireStopped(from, state)
    // What came since the last piece.
    await tx.execute(sql`update webhook_deliveries set ${change.set} where endpoint_id = ${id} and ${change.which}`)
    return setColumns(tx, id, { ...(await goTo(tx)), ...(before.state === 'active' ? ACTIVE : AFRESH) })
  })
}

/** A transaction that locks the endpoint first, as what records attempts does: both then lock its deliveries. */
async function inLock<T>(db: Db, id: string, act: (tx: Tx, endpoint: EndpointRow) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => act(tx, await lockEndpoint(tx, id)))
}

const PAUSED = { state: 'paused', pausedBecause: 'operator' } as const
const ACTIVE = { state: 'active', pausedBecause: null } as const
const AFRESH = { ...ACTIVE, failures: 0, failingSince: null, heldUntil: null } as const

function requireStopped(from: string, state: EndpointState): void {
  if (from === 'stopped' && state === 'active')
    throw new AppError('conflict', 'This webhook is active. To send events again, name the place where they begin.')
}

/** What becomes of which deliveries. None of them is a test. */
interface Change {
  which: SQL
  set: SQL
}

/** Takes back what waits: from here on the checkpoint says what is sent. */
function skipWaiting(now: Date): Change {
  const set = sql`state = 'skipped', next_at = null, finished_at = ${now.toISOString()}::timestamptz`
  return { which: sql`test is null and state = 'waiting'`, set }
}

/** Begins the schedule anew, of what waits and of what failed for good since the endpoint began to fail. */
function sendAgain(givenUpSince: Date | null, now: Date): Change {
  const at = sql`${now.toISOString()}::timestamptz`
  const waits = sql`state = 'waiting' and (tries > 0 or next_at <> ${at})`
  const failed = sql`state = 'failed' and finished_at >= ${givenUpSince?.toISOString() ?? null}::timestamptz`
  return {
    which: sql`test is null and (${waits} or ${failed})`,
    set: sql`state = 'waiting', tries = 0, finished_at = null, next_at = ${at}`,
  }
}

const AT_ONCE = 5_000

/** A receiver may have missed a million events, and every reader of the log waits for each transaction. */
async function changeInPieces(db: Db, id: string, { which, set }: Change): Promise<void> {
  for (let after: string | null = '0'; after; )
    after = await inLock(db, id, async (tx) => {
      const { rows } = await tx.execute<{ last: string | null }>(sql`
        with piece as (
          select id from webhook_deliveries
           where endpoint_id = ${id} and id > ${after}::bigint and ${which} order by id limit ${AT_ONCE}),
        changed as (update webhook_deliveries set ${set} where id = any(array(select id from piece)) and ${which})
        select max(id) as last from piece`)
      return rows[0]!.last
    })
}
