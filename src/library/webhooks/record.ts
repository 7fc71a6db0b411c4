import { eq, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { type EndpointState, webhookEndpoints } from '../../db/schema/webhooks.ts'
import type { DeliveryError, Outcome } from '../../webhooks/receiver.ts'
import { type DueDelivery, type Lease, stopFollowing } from './leases.ts'

/** An attempt that has ended. */
export interface Attempt {
  lease: Lease
  delivery: Pick<DueDelivery, 'id' | 'round' | 'tries' | 'test'>
  at: Date
  outcome: Outcome
}

/** The state of an endpoint after the attempts. */
export interface Recorded {
  lease: Lease
  state: EndpointState
  /** Whether the attempts made it one that is struggling. */
  strugglesNow: boolean
  /** Why the endpoint stopped being active just now. */
  ended: 'failures' | 'gone' | undefined
  revision: string
  /** Failed attempts since the last success. */
  failures: number
  /** Nothing is sent before. */
  heldUntil: Date | null
}

interface Result {
  id: number
  round: number
  state: 'waiting' | 'delivered' | 'failed'
  tries: number
  nextAt: Date | null
  at: Date
}

/**
 * Records attempts and their consequences: the next attempt or the end of a delivery, and the state of its endpoint.
 * Attempts without a valid lease are not recorded: another process sends them again. Returns the new states of the
 * endpoints whose leases are valid.
 */
export async function recordAttempts(db: Db, attempts: readonly Attempt[], random: () => number): Promise<Recorded[]> {
  return db.transaction(async (tx) => {
    // A crash of PostgreSQL may lose the last of these transactions. Their deliveries are then sent again.
    await tx.execute(sql`set local synchronous_commit = off`)
    const endpoints = await lockEndpoints(tx, [...new Set(attempts.map(({ lease }) => lease.endpointId))])
    const held = attempts.filter(({ lease }) => endpoints.get(lease.endpointId)?.epoch === lease.epoch)
    if (held.length === 0) return []
    await writeResults(
      tx,
      held.map((attempt) => resultOf(attempt, random)),
    )
    await writeAttempts(tx, held)
    await countAttempts(tx, held)
    for (const attempt of held) applyTo(endpoints.get(attempt.lease.endpointId)!, attempt)
    const touched = [...new Set(held.map(({ lease }) => lease.endpointId))].map((id) => endpoints.get(id)!)
    await writeEndpoints(tx, touched)
    for (const { id, ended } of touched) if (ended) await stopFollowing(tx, id)
    return touched.map(({ id, epoch, state, revision, strugglesNow, ended, failures, heldUntil }) => ({
      lease: { endpointId: id, epoch },
      ...{ state, revision, strugglesNow, ended, failures, heldUntil },
    }))
  })
}

async function lockEndpoints(tx: Tx, ids: readonly string[]) {
  const { id, leaseEpoch: epoch, state, failures, failingSince, heldUntil, lastSuccessAt } = webhookEndpoints
  const revision = sql<string>`${webhookEndpoints.updatedAt}::text`
  const rows = await tx
    .select({ id, epoch, state, failures, failingSince, heldUntil, lastSuccessAt, revision })
    .from(webhookEndpoints)
    .where(sql`${id} = any(${sql.param(ids)}::text[])`)
    .orderBy(id)
    .for('update')
  return new Map(rows.map((row) => [row.id, { ...row, strugglesNow: false, ended: undefined as Recorded['ended'] }]))
}

type Endpoint = Awaited<ReturnType<typeof lockEndpoints>> extends Map<string, infer One> ? One : never

function resultOf({ delivery, at, outcome }: Attempt, random: () => number): Result {
  const { id, round } = delivery
  const known = { id, round, at }
  const tries = delivery.tries + 1
  if (outcome.error === null) return { ...known, state: 'delivered', tries: delivery.tries, nextAt: null }
  // The delivery is sent when the endpoint is resumed.
  if (outcome.error === 'gone' && !delivery.test) return { ...known, state: 'waiting', tries, nextAt: at }
  const wait = delivery.test ? undefined : waitAfter(tries, random)
  if (wait === undefined) return { ...known, state: 'failed', tries, nextAt: null }
  const asked = parseRetryAfter(outcome.retryAfter, at) ?? 0
  const ended = at.getTime() + outcome.latencyMs
  return { ...known, state: 'waiting', tries, nextAt: new Date(ended + Math.max(wait, asked)) }
}

/** Statuses of an overloaded receiver: its `Retry-After` applies to the whole endpoint. */
const OVERLOADED = [429, 502, 503, 504]

function applyTo(endpoint: Endpoint, { delivery, at, outcome }: Attempt): void {
  if (delivery.test) return
  if (outcome.error === null) {
    endpoint.lastSuccessAt = at
    if (endpoint.state === 'active') Object.assign(endpoint, { failures: 0, failingSince: null })
    return
  }
  if (endpoint.state !== 'active') return
  endpoint.failures++
  if (endpoint.failures === STRUGGLING) endpoint.strugglesNow = true
  endpoint.failingSince ??= at
  const rest = OVERLOADED.includes(outcome.status ?? 0) ? parseRetryAfter(outcome.retryAfter, at) : null
  if (rest !== null) endpoint.heldUntil = new Date(at.getTime() + rest)
  if (outcome.error === 'gone') Object.assign(endpoint, { state: 'gone', ended: 'gone' })
  else if (
    endpoint.failures >= PAUSE_AFTER.failures &&
    at.getTime() - endpoint.failingSince.getTime() >= PAUSE_AFTER.ms
  )
    Object.assign(endpoint, { state: 'paused', ended: 'failures' })
}

/** A delivery of a later round was resent meanwhile, so this result does not apply to it. */
async function writeResults(tx: Tx, results: readonly Result[]): Promise<void> {
  const list = <T>(of: (result: Result) => T) => sql.param(results.map(of))
  await tx.execute(sql`
    update webhook_deliveries d
       set state = r.state, tries = r.tries, next_at = coalesce(r.next_at, d.next_at),
           finished_at = case when r.state <> 'waiting' then r.finished_at end
      from unnest(${list(({ id }) => id)}::bigint[], ${list(({ round }) => round)}::integer[],
                  ${list(({ state }) => state)}::text[], ${list(({ tries }) => tries)}::smallint[],
                  ${list(({ nextAt }) => nextAt?.toISOString() ?? null)}::timestamptz[],
                  ${list(({ at }) => at.toISOString())}::timestamptz[])
        as r (id, round, state, tries, next_at, finished_at)
     where d.id = r.id and d.round = r.round and d.state = 'waiting'`)
}

async function writeAttempts(tx: Tx, attempts: readonly Attempt[]): Promise<void> {
  const list = <T>(of: (attempt: Attempt) => T) => sql.param(attempts.map(of))
  // The endpoint's row is locked, so it cannot be deleted with its deliveries meanwhile.
  await tx.execute(sql`
    insert into webhook_attempts (delivery_id, at, status, latency_ms, error, answer)
    select a.* from unnest(${list(({ delivery }) => delivery.id)}::bigint[],
                           ${list(({ at }) => at.toISOString())}::timestamptz[],
                           ${list(({ outcome }) => outcome.status)}::smallint[],
                           ${list(({ outcome }) => outcome.latencyMs)}::integer[],
                           ${list(({ outcome }) => outcome.error)}::text[],
                           ${list(({ outcome }) => outcome.answer || null)}::text[])
        as a (delivery_id, at, status, latency_ms, error, answer)`)
}

async function countAttempts(tx: Tx, attempts: readonly Attempt[]): Promise<void> {
  const counts = new Map<DeliveryError | 'delivered', number>()
  for (const { outcome } of attempts) {
    const name = outcome.error ?? 'delivered'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([a], [b]) => a.localeCompare(b))
  await tx.execute(sql`
    insert into webhook_counts (outcome, attempts)
    select * from unnest(${sql.param(sorted.map(([outcome]) => outcome))}::text[],
                         ${sql.param(sorted.map(([, n]) => n))}::bigint[])
    on conflict (outcome) do update set attempts = webhook_counts.attempts + excluded.attempts`)
}

async function writeEndpoints(tx: Tx, endpoints: readonly Endpoint[]): Promise<void> {
  for (const { id, epoch: _, revision: __, strugglesNow: ___, ended, ...columns } of endpoints)
    await tx
      .update(webhookEndpoints)
      .set(ended === 'failures' ? { ...columns, pausedBecause: ended } : columns)
      .where(eq(webhookEndpoints.id, id))
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The waits before each attempt, in ms: the example of Standard Webhooks, 75.6 hours in all. */
const WAITS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** Milliseconds to wait after this many failed attempts, within 20 % of the schedule. Undefined: no attempt follows. */
function waitAfter(tries: number, random: () => number): number | undefined {
  const wait = WAITS[tries]
  return wait === undefined ? undefined : Math.round(wait * (0.8 + 0.4 * random()))
}

/** No receiver puts off an attempt for longer. */
const MAX_RETRY_AFTER = DAY

/** Milliseconds that a `Retry-After` asks for: seconds or an HTTP date. Null when it says nothing. */
function parseRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null
  const text = value.trim()
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, MAX_RETRY_AFTER) : null
}

/** After this many failures without a success an endpoint gets one request at a time, until one succeeds. */
export const STRUGGLING = 20

/** An endpoint that failed for so long, and so often, without one success is paused. */
const PAUSE_AFTER = { ms: 5 * DAY, failures: 20 } as const
