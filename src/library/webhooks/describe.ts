import { sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { ENDPOINT_STATES, type EndpointState } from '../../db/schema/webhooks.ts'
import { AppError } from '../../errors.ts'
import { type Cursor, formatCursor } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { readPosition } from '../../events/positions.ts'
import { findEnd } from '../../events/read.ts'
import { ERRORS } from '../../webhooks/receiver.ts'
import { keyIdOf, keyIdOfStored, type SecretsKeys } from '../../webhooks/secrets.ts'
import type { DeliveryEntry } from './deliveries.ts'
import { type EndpointRow, loadEndpoint, lockEndpoint, setColumns } from './endpoints.ts'
import { stopFollowing, WEBHOOKS } from './leases.ts'

/** Endpoints as HTTP and the command line show them: never with a secret. */
export async function describeEndpoints(db: DbOrTx, endpoints: readonly EndpointRow[]) {
  const { rows } = await db.execute<{ id: string; n: number }>(sql`
    select endpoint_id as id, count(*)::int as n from webhook_deliveries
     where state = 'waiting' and endpoint_id = any(${sql.param(endpoints.map(({ id }) => id))}::text[]) group by 1`)
  const waiting = new Map(rows.map(({ id, n }) => [id, n]))
  const reached = await checkpointOf(db, WEBHOOKS)
  return endpoints.map((row) => ({
    id: row.id,
    url: row.url,
    description: row.description,
    types: row.types,
    state: row.state,
    paused_because: row.pausedBecause,
    old_secret_until: row.oldSecretUntil && row.oldSecretUntil > new Date() ? row.oldSecretUntil.toISOString() : null,
    waiting: waiting.get(row.id) ?? 0,
    cursor: formatCursor(row.following ? reached : { xid: row.xid, seq: row.seq }),
    failures: row.failures,
    failing_since: row.failingSince?.toISOString() ?? null,
    last_success_at: row.lastSuccessAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }))
}

export async function describeEndpoint(db: DbOrTx, endpoint: EndpointRow) {
  return (await describeEndpoints(db, [endpoint]))[0]!
}

export function describeDelivery(delivery: DeliveryEntry) {
  return {
    event_id: delivery.eventId,
    type: delivery.type,
    state: delivery.state,
    next_attempt_at: delivery.nextAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    finished_at: delivery.finishedAt?.toISOString() ?? null,
    attempts: delivery.attempts.map(({ at, status, latencyMs, error, answer }) => ({
      at: at.toISOString(),
      status,
      latency_ms: latencyMs,
      error,
      answer,
    })),
  }
}

/** The ids of the keys with which stored secrets are encrypted, and which of them `SECRETS_KEY` does not hold. */
export async function secretKeysOf(
  db: DbOrTx,
  secretsKeys: SecretsKeys,
): Promise<{ used: string[]; missing: string[] }> {
  const { rows } = await db.execute<{ stored: string }>(sql`
    select secret as stored from webhook_endpoints
    union all select old_secret from webhook_endpoints where old_secret_until > now()`)
  const used = [...new Set(rows.flatMap(({ stored }) => keyIdOfStored(stored) ?? []))].sort()
  const held = new Set(secretsKeys.map(keyIdOf))
  return { used, missing: used.filter((id) => !held.has(id)) }
}

/** Counts for metrics: attempts ever made, by outcome, and endpoints by state. Every name is present, also with 0. */
export async function countWebhooks(
  db: DbOrTx,
): Promise<{ attempts: Record<string, number>; endpoints: Record<EndpointState, number> }> {
  const attempts = await db.execute<{ name: string; n: string }>(
    sql`select outcome as name, attempts as n from webhook_counts`,
  )
  const endpoints = await db.execute<{ name: string; n: string }>(
    sql`select state as name, count(*) as n from webhook_endpoints group by 1`,
  )
  return {
    attempts: toCounts(['delivered', ...ERRORS], attempts.rows),
    endpoints: toCounts(ENDPOINT_STATES, endpoints.rows),
  }
}

function toCounts<T extends string>(names: readonly T[], rows: readonly { name: string; n: string }[]) {
  const found = new Map(rows.map(({ name, n }) => [name, Number(n)]))
  return Object.fromEntries(names.map((name) => [name, found.get(name) ?? 0])) as Record<T, number>
}

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
      throw new AppError(
        'conflict',
        'This webhook is active. To send events again, pause it and resume it from a place.',
      )
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
