import type { DbOrTx } from '../db/client.ts'
import { DELIVERY_ERRORS, ENDPOINT_STATES, type EndpointState } from '../db/schema/webhooks.ts'
import { formatCursor } from '../events/catalogue.ts'
import { MOST_UNREAD } from '../events/lag.ts'
import { sql } from '../sql/orm.ts'
import type { EndpointRow } from './endpoints.ts'
import { ofUnread } from './leases.ts'
import { keyIdOf, keyIdOfStored, type SecretsKeys } from './secrets.ts'

/** Endpoints as HTTP and the command line show them: never with a secret. */
export async function describeEndpoints(db: DbOrTx, endpoints: readonly EndpointRow[]) {
  const unread = ofUnread(
    (isUnread) => sql`(
    select count(*) from (select from events v where ${isUnread} limit ${MOST_UNREAD}) unread)`,
  )
  const { rows } = await db.execute<{ id: string; n: number }>(sql`
    select id, least(${MOST_UNREAD}, ${unread} + (select count(*) from (
             select from webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting'
              limit ${MOST_UNREAD}) waiting))::int as n
      from webhook_endpoints e where id = any(${sql.param(endpoints.map(({ id }) => id))}::text[])`)
  const waiting = new Map(rows.map(({ id, n }) => [id, n]))
  return endpoints.map((row) => ({
    id: row.id,
    url: row.url,
    description: row.description,
    types: row.types,
    state: row.state,
    paused_because: row.pausedBecause,
    old_secret_until: row.oldSecretUntil && row.oldSecretUntil > new Date() ? row.oldSecretUntil.toISOString() : null,
    waiting: waiting.get(row.id) ?? 0,
    cursor: formatCursor(row),
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

/**
 * For metrics: attempts ever made, by outcome, and endpoints by state. Every name is present, also with 0. The lag is
 * the age of the oldest event that was not sent yet to an active endpoint.
 */
export async function countWebhooks(
  db: DbOrTx,
): Promise<{ attempts: Record<string, number>; endpoints: Record<EndpointState, number>; lagSeconds: number }> {
  const attempts = await db.execute<{ name: string; n: string }>(
    sql`select outcome as name, attempts as n from webhook_counts`,
  )
  const endpoints = await db.execute<{ name: string; n: string }>(
    sql`select state as name, count(*) as n from webhook_endpoints group by 1`,
  )
  const oldest = ofUnread(
    (isUnread) => sql`(
    select v.time from events v where ${isUnread} order by v.xid, v.seq limit 1)`,
  )
  const lag = await db.execute<{ seconds: number }>(sql`
    select coalesce(extract(epoch from clock_timestamp() - min(${oldest})), 0)::float8 as seconds
      from webhook_endpoints e where state = 'active'`)
  return {
    attempts: toCounts(['delivered', ...DELIVERY_ERRORS], attempts.rows),
    endpoints: toCounts(ENDPOINT_STATES, endpoints.rows),
    lagSeconds: lag.rows[0]!.seconds,
  }
}

function toCounts<T extends string>(names: readonly T[], rows: readonly { name: string; n: string }[]) {
  const found = new Map(rows.map(({ name, n }) => [name, Number(n)]))
  return Object.fromEntries(names.map((name) => [name, found.get(name) ?? 0])) as Record<T, number>
}
