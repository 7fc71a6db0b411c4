import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'
import { ENDPOINT_STATES, type EndpointState } from '../../db/schema/webhooks.ts'
import { formatCursor } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { describeStored, keyIdOf, type SecretsKeys } from '../../webhooks/encryption.ts'
import { ERRORS } from '../../webhooks/errors.ts'
import type { DeliveryEntry } from './deliveries.ts'
import type { EndpointRow } from './endpoints.ts'
import { WEBHOOKS } from './positions.ts'

/** Endpoints as HTTP and the command line show them: never with a secret. */
export async function describeEndpoints(db: DbOrTx, endpoints: readonly EndpointRow[]) {
  const { rows } = await db.execute<{ id: string; n: number }>(sql`
    select endpoint_id as id, count(*)::int as n from webhook_deliveries
     where state = 'waiting' and endpoint_id = any(${sql.param(endpoints.map(({ id }) => id))}::text[]) group by 1`)
  const waiting = new Map(rows.map(({ id, n }) => [id, n]))
  const reached = await checkpointOf(db, WEBHOOKS)
  return endpoints
    .map((row) => ({ row, ...describeStored(row.secret) }))
    .map(({ row, signing, publicKey }) => ({
      id: row.id,
      url: row.url,
      description: row.description,
      types: row.types,
      email: row.email,
      state: row.state,
      paused_because: row.pausedBecause,
      signing,
      public_key: publicKey,
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

/**
 * The ids of the keys with which stored secrets are encrypted, and which of them `SECRETS_KEY` does not hold. Also for
 * the database of an older version.
 */
export async function secretKeysOf(
  db: DbOrTx,
  secretsKeys: SecretsKeys,
): Promise<{ used: string[]; missing: string[] }> {
  const { rows: tables } = await db.execute(sql`select 1 where to_regclass('webhook_endpoints') is not null`)
  if (tables.length === 0) return { used: [], missing: [] }
  const { rows } = await db.execute<{ stored: string }>(sql`
    select secret as stored from webhook_endpoints
    union all select old_secret from webhook_endpoints where old_secret_until > now()`)
  const used = [...new Set(rows.flatMap(({ stored }) => describeStored(stored).keyId ?? []))].sort()
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
