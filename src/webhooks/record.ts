import type { Db, Tx } from '../db/client.ts'
import { type AttemptEntry, webhookEndpoints } from '../db/schema/webhooks.ts'
import type { Cursor } from '../events/catalogue.ts'
import { eq, sql } from '../sql/orm.ts'
import type { EndpointRow } from './endpoints.ts'
import type { Outcome } from './post.ts'

/** A delivery that is due: an event that was tried before, resent, or a test. */
export interface Due {
  id: number
  tries: number
  nextAt: Date
  isTest: boolean
}

export interface Attempt {
  event: { id: string; type: string }
  /** Undefined for an event that the lane read from the log itself. */
  due: Due | undefined
  /** The epoch of the endpoint when the event was read. */
  epoch: number
  at: Date
  outcome: Outcome
}

/** The endpoint after the attempts. */
export interface Recorded extends EndpointRow {
  /** Whether the attempts made it one that is struggling. */
  strugglesNow: boolean
  /** Why the endpoint stopped being active just now. */
  ended: 'failures' | 'gone' | undefined
}

interface Given {
  attempts: readonly Attempt[]
  /** Where the checkpoint moves to, if the endpoint is still of this epoch. */
  passed: { cursor: Cursor; epoch: number } | undefined
  random: () => number
}

/**
 * Records attempts and their consequences in one transaction: each delivery with its next attempt or its end, the state
 * of the endpoint, and its checkpoint. Undefined without a valid lease: another process sends these events again.
 * Events read from the log before somebody set the checkpoint are not recorded: the new one says what is sent.
 */
export async function recordAttempts(db: Db, lease: string, given: Given): Promise<Recorded | undefined> {
  return db.transaction(async (tx) => {
    // A crash of PostgreSQL may lose the last of these transactions. Their events are then sent again.
    await tx.execute(sql`set local synchronous_commit = off`)
    const [found] = await tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.lease, lease)).for('update')
    if (!found) return undefined
    const endpoint: Recorded = { ...found, strugglesNow: false, ended: undefined }
    const attempts = given.attempts.filter(({ due, epoch }) => due !== undefined || epoch === endpoint.epoch)
    await writeDeliveries(tx, endpoint.id, attempts, given.random)
    for (const attempt of attempts) if (!attempt.due?.isTest) applyTo(endpoint, attempt)
    if (given.passed?.epoch === endpoint.epoch) Object.assign(endpoint, given.passed.cursor)
    const { state, pausedBecause, failures, failingSince, heldUntil, lastSuccessAt, xid, seq } = endpoint
    await tx
      .update(webhookEndpoints)
      .set({ state, pausedBecause, failures, failingSince, heldUntil, lastSuccessAt, xid, seq })
      .where(eq(webhookEndpoints.id, endpoint.id))
    await countAttempts(tx, attempts)
    return endpoint
  })
}

/** What becomes of the delivery. */
function resultOf({ due, at, outcome }: Attempt, random: () => number) {
  const tries = (due?.tries ?? 0) + (outcome.error === null ? 0 : 1)
  const waits = (until: Date) => ({ state: 'waiting', tries, next_at: until, finished_at: null })
  const ends = (state: 'delivered' | 'failed') => ({ state, tries, next_at: null, finished_at: at })
  if (outcome.error === null) return ends('delivered')
  if (due?.isTest) return ends('failed')
  // Nothing is sent to it before it is resumed. This event is then, too.
  if (outcome.error === 'gone') return waits(at)
  const wait = waitAfter(tries, random)
  if (wait === undefined) return ends('failed')
  const asked = parseRetryAfter(outcome.retryAfter, at) ?? 0
  return waits(new Date(at.getTime() + outcome.latencyMs + Math.max(wait, asked)))
}

/** The most attempts that a delivery lists: somebody may resend one event again and again. */
const LISTED = 50

/**
 * Adds each attempt to the list of its delivery, and decides what becomes of that, unless it was resent or skipped
 * meanwhile: one that was due waits for the same time then as before, and one from the log does not wait.
 */
async function writeDeliveries(tx: Tx, endpointId: string, attempts: readonly Attempt[], random: () => number) {
  const rows = attempts.map((attempt) => {
    const { event, due, at, outcome } = attempt
    const { status, latencyMs: latency_ms, error } = outcome
    const entry: AttemptEntry = { at: at.toISOString(), status, latency_ms, error, answer: outcome.answer || null }
    return { event_id: event.id, type: event.type, due_at: due?.nextAt ?? null, entry, ...resultOf(attempt, random) }
  })
  const list = sql`(case when jsonb_array_length(d.attempts) < ${LISTED} then d.attempts else d.attempts - 0 end)
                   || r.entry`
  // Two statements, because a delivery that was resent meanwhile may be in both. One must not write a row twice.
  for (const those of [rows.filter((row) => row.due_at === null), rows.filter((row) => row.due_at !== null)])
    if (those.length > 0)
      await tx.execute(sql`
        merge into webhook_deliveries d
        using jsonb_to_recordset(${JSON.stringify(those)}::jsonb)
              as r (event_id uuid, type text, due_at timestamptz, entry jsonb, state text, tries smallint,
                    next_at timestamptz, finished_at timestamptz)
           on d.endpoint_id = ${endpointId} and d.event_id = r.event_id
         when matched and case when r.due_at is null then d.state <> 'waiting'
                               else d.state = 'waiting' and d.next_at = r.due_at end then update
          set state = r.state, tries = r.tries, next_at = r.next_at, finished_at = r.finished_at, attempts = ${list}
         when matched then update set attempts = ${list}
         when not matched then insert (endpoint_id, event_id, type, state, tries, next_at, finished_at, attempts)
              values (${endpointId}, r.event_id, r.type, r.state, r.tries, r.next_at, r.finished_at,
                      jsonb_build_array(r.entry))`)
}

/** In one order, and last: lanes of all processes write these rows. */
async function countAttempts(tx: Tx, attempts: readonly Attempt[]): Promise<void> {
  const outcomes = sql.param(attempts.map(({ outcome }) => outcome.error ?? 'delivered'))
  await tx.execute(sql`
    insert into webhook_counts (outcome, attempts)
    select outcome, count(*) from unnest(${outcomes}::text[]) as given (outcome) group by 1 order by 1
    on conflict (outcome) do update set attempts = webhook_counts.attempts + excluded.attempts`)
}

/** Statuses of an overloaded receiver: its `Retry-After` applies to the whole endpoint. */
const OVERLOADED = [429, 502, 503, 504]

function applyTo(endpoint: Recorded, { at, outcome }: Attempt): void {
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
  const failedFor = at.getTime() - endpoint.failingSince.getTime()
  if (outcome.error === 'gone') Object.assign(endpoint, { state: 'gone', ended: 'gone' })
  else if (endpoint.failures >= PAUSE_AFTER.failures && failedFor >= PAUSE_AFTER.ms)
    Object.assign(endpoint, { state: 'paused', pausedBecause: 'failures', ended: 'failures' })
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
