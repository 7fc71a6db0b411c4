import { randomBytes, timingSafeEqual } from 'node:crypto'
import { and, gt, inArray, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { subscriptions } from '../../db/schema/webhooks.ts'
import { type EventType, isLater, type StoredEvent } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { readEventsById } from '../../events/read.ts'
import type { Wire } from '../../outbound/checked-connection.ts'
import { type DeliveryError, type Message, openReceiver } from '../../webhooks/receiver.ts'
import { openCipher, openSigner, type SecretsKeys } from '../../webhooks/secrets.ts'
import { type AuthenticationRow, toCaller, VALID_KEY } from '../accounts/keys.ts'
import { type Asked, concerns, KIND_NAMES, KINDS, type KindName, mayHear } from './kinds.ts'

/** The consumer of the log that writes deliveries. */
export const SUBSCRIPTIONS = 'subscriptions'

/** A host shows nothing that arrives during the turn in which its person, or the model, caused it. */
const OWN_EVENTS_WAIT_MS = 90_000

/**
 * Writes a delivery for each subscription and event, in the transaction that moves the consumer's checkpoint. Its lock
 * keeps new subscriptions out meanwhile: each then begins either before these events or after them.
 */
export async function writeSubscriptionDeliveries(tx: Tx, events: readonly StoredEvent[], now: Date): Promise<number> {
  const names = KIND_NAMES.filter((name) => {
    const types: readonly EventType[] = KINDS[name].types
    return events.some(({ type }) => types.includes(type))
  })
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${SUBSCRIPTIONS}, 0))`)
  const live = and(gt(subscriptions.refreshBefore, now), inArray(subscriptions.name, names))
  const rows = await tx.select().from(subscriptions).where(live)
  const due = rows.flatMap(({ id, accountId, ...row }) => {
    const asked = { name: row.name as KindName, arguments: row.arguments, accountId }
    return events
      .filter((event) => isLater(event.cursor, row) && concerns(asked, event))
      .map((event) => ({ subscriptionId: id, event, accountId }))
  })
  return insertDeliveries(tx, due, now)
}

/** Waits for the consumer's transaction, so that the position of a new subscription is exact. */
export async function holdFanOut(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(hashtextextended(${SUBSCRIPTIONS}, 0))`)
}

/** One that exists stays as it is. */
export async function insertDeliveries(
  tx: Tx,
  due: readonly { subscriptionId: string; event: StoredEvent; accountId: string }[],
  now: Date,
): Promise<number> {
  if (due.length === 0) return 0
  const at = ({ event, accountId }: (typeof due)[number]) =>
    event.accountId === accountId ? Math.max(now.getTime(), event.time.getTime() + OWN_EVENTS_WAIT_MS) : now.getTime()
  const { rowCount } = await tx.execute(sql`
    insert into subscription_deliveries (subscription_id, event_id, next_at)
    select * from unnest(${sql.param(due.map(({ subscriptionId }) => subscriptionId))}::text[],
                         ${sql.param(due.map(({ event }) => event.id))}::uuid[],
                         ${sql.param(due.map((one) => new Date(at(one)).toISOString()))}::timestamptz[])
    on conflict (subscription_id, event_id) do nothing`)
  return rowCount ?? 0
}

/** Another process may take a subscription after this time. */
const LEASE_SEC = 60
const AT_ONCE = 32
const PAGE = 20

/** The waits after each failed attempt, ms: five attempts within eleven minutes. */
const WAITS = [5_000, 30_000, 120_000, 480_000] as const

const at = (time: Date) => sql`${time.toISOString()}::timestamptz`

/** Leases at most `most` subscriptions with due deliveries that no process holds, those that wait longest first. */
export async function claimSubscriptions(db: Db, now: Date, most: number): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    update subscriptions set lease_until = now() + make_interval(secs => ${LEASE_SEC})
     where id in (
       select s.id from subscriptions s
        where (s.lease_until is null or s.lease_until < now()) and s.refresh_before > ${at(now)}
          and exists (select from subscription_deliveries d where d.subscription_id = s.id and d.next_at <= ${at(now)})
        order by s.lease_until nulls first limit ${Math.min(AT_ONCE, most)} for update skip locked)
    returning id`)
  return rows.map(({ id }) => id)
}

export async function releaseSubscription(db: Db, id: string): Promise<void> {
  await db.execute(sql`update subscriptions set lease_until = null where id = ${id}`)
}

export interface DueDelivery {
  id: number
  event: StoredEvent
  /** Of the first attempt; null before it. */
  body: string | null
  tries: number
}

export interface DuePage {
  asked: Asked
  url: string
  secrets: string[]
  /** False where its account, its key or grant, its plan or its scope is gone. */
  allowed: boolean
  deliveries: DueDelivery[]
  /** The read model does not have these videos yet. */
  early: DueDelivery[]
}

type Row = Omit<AuthenticationRow, 'hash' | 'is_disabled'> & {
  name: KindName
  arguments: Asked['arguments']
  url: string
  secret: string
  old_secret: string | null
  is_valid: boolean
} & Record<string, unknown>

/** Undefined where the subscription has ended. @throws UndecryptableSecret */
export async function loadDue(
  db: Db,
  id: string,
  { now, secretsKeys }: { now: Date; secretsKeys: SecretsKeys },
): Promise<DuePage | undefined> {
  const { rows } = await db.execute<Row>(sql`
    select s.name, s.arguments, s.url, s.secret, s.account_id, a.role, a.plan, null as last_used_at,
           case when s.old_secret_until > ${at(now)} then s.old_secret end as old_secret,
           coalesce(g.id, k.id) as id, coalesce(g.scopes, k.scopes) as scopes,
           a.disabled_at is null and (g.id is not null or k.id is not null and ${sql.raw(VALID_KEY)}) as is_valid
      from subscriptions s join accounts a on a.id = s.account_id
      left join grants g on g.id = s.grant_id left join api_keys k on k.id = s.key_id
     where s.id = ${id} and s.refresh_before > ${at(now)}`)
  const [row] = rows
  if (!row) return undefined
  const cipher = openCipher(secretsKeys)
  const due = await dueDeliveries(db, id, now)
  const reached = await checkpointOf(db, 'search')
  const isEarly = ({ event }: DueDelivery) => row.name === 'search.matched' && isLater(event.cursor, reached)
  return {
    asked: { name: row.name, arguments: row.arguments, accountId: row.account_id },
    url: row.url,
    secrets: [row.secret, row.old_secret].flatMap((one) => (one === null ? [] : [cipher.decrypt(one, id)])),
    allowed: row.is_valid && mayHear(toCaller(row), row.name),
    deliveries: due.filter((one) => !isEarly(one)),
    early: due.filter(isEarly),
  }
}

async function dueDeliveries(db: Db, id: string, now: Date): Promise<DueDelivery[]> {
  const { rows } = await db.execute<{ id: string; event_id: string; body: string | null; tries: number }>(sql`
    select id, event_id, body, tries from subscription_deliveries
     where subscription_id = ${id} and next_at <= ${at(now)} order by id limit ${PAGE}`)
  const events = await readEventsById(
    db,
    rows.map(({ event_id }) => event_id),
  )
  const byId = new Map(events.map((event) => [event.id, event]))
  return rows.flatMap(({ id: delivery, event_id, ...rest }) => {
    const event = byId.get(event_id)
    return event ? [{ ...rest, id: Number(delivery), event }] : []
  })
}

/** Deliveries that need nothing more: what was asked does not concern their events. */
export async function dropDeliveries(db: Db, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await db.execute(sql`delete from subscription_deliveries where id = any(${sql.param([...ids])}::bigint[])`)
}

export async function postpone(db: Db, ids: readonly number[], until: Date): Promise<void> {
  if (ids.length === 0) return
  await db.execute(sql`
    update subscription_deliveries set next_at = ${at(until)} where id = any(${sql.param([...ids])}::bigint[])`)
}

/** Before the first attempt, so that every attempt sends the same bytes: those that were kept first. */
export async function keepBody(db: Db, id: number, body: string): Promise<string> {
  const { rows } = await db.execute<{ body: string }>(
    sql`update subscription_deliveries set body = coalesce(body, ${body}) where id = ${id} returning body`,
  )
  return rows[0]?.body ?? body
}

/** Records an attempt. `final`: no other would help. An attempt that another process recorded too counts once. */
export async function recordAttempt(
  db: Db,
  {
    subscriptionId,
    delivery,
    fault,
    final,
    now,
  }: {
    subscriptionId: string
    delivery: Pick<DueDelivery, 'id' | 'tries'>
    /** Undefined: delivered. */
    fault: Fault | undefined
    final: boolean
    now: Date
  },
): Promise<void> {
  const wait = fault === undefined || final ? undefined : WAITS[delivery.tries]
  await db.transaction(async (tx) => {
    // The subscription first: its end deletes it, and its deliveries after it.
    await tx.execute(
      fault === undefined
        ? sql`update subscriptions set last_delivery_at = ${at(now)}, last_error = null, failed_since = null
               where id = ${subscriptionId}`
        : sql`update subscriptions set last_error = ${fault}, failed_since = coalesce(failed_since, ${at(now)})
               where id = ${subscriptionId}`,
    )
    await tx.execute(
      wait === undefined
        ? sql`delete from subscription_deliveries where id = ${delivery.id}`
        : sql`update subscription_deliveries set tries = tries + 1, next_at = ${at(new Date(now.getTime() + wait))}
               where id = ${delivery.id} and tries = ${delivery.tries}`,
    )
  })
}

const TIMEOUT_MS = 10_000

/** Why a subscription's address failed last, in the protocol's words. */
const FAULTS = ['connection_refused', 'timeout', 'tls_error', 'http_4xx', 'http_5xx', 'challenge_failed'] as const
export type Fault = (typeof FAULTS)[number]

/** The protocol has fewer words than we tell apart. */
export function faultOf(error: DeliveryError, status: number | null): Fault {
  if (error === 'timeout') return 'timeout'
  if (error === 'tls') return 'tls_error'
  if (status !== null) return status >= 500 ? 'http_5xx' : 'http_4xx'
  return 'connection_refused'
}

/** What every message of a subscription has beside its id, its body and its time. */
export function messageOf(subscriptionId: string, secrets: readonly string[]): Omit<Message, 'id' | 'body' | 'at'> {
  const headers = { 'x-mcp-subscription-id': subscriptionId }
  return { contentType: 'application/json', sign: openSigner(secrets), headers }
}

/**
 * Asks an address whether it wants these messages: it must send the challenge back. Undefined when it did.
 * Holds no lock and no transaction.
 */
export async function challengeAddress(
  { url, secret, subscriptionId, now }: { url: string; secret: string; subscriptionId: string; now: Date },
  { allowPrivate, wire = {} }: { allowPrivate: boolean; wire?: Wire | undefined },
): Promise<Fault | undefined> {
  const receiver = await openReceiver({ ...wire, allowPrivate, inFlight: 1, timeoutMs: TIMEOUT_MS })
  const challenge = randomBytes(32).toString('base64url')
  const id = `msg_verification_${randomBytes(12).toString('hex')}`
  const body = JSON.stringify({ type: 'verification', challenge })
  try {
    const message = { ...messageOf(subscriptionId, [secret]), id, body, at: now }
    const { error, status, answer } = await receiver.post(url, message)
    if (error !== null) return faultOf(error, status)
    return isEcho(answer ?? '', challenge) ? undefined : 'challenge_failed'
  } finally {
    await receiver.close()
  }
}

function isEcho(answer: string, challenge: string): boolean {
  try {
    const given = Buffer.from(String((JSON.parse(answer) as { challenge?: unknown } | null)?.challenge))
    const wanted = Buffer.from(challenge)
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  } catch {
    return false
  }
}
