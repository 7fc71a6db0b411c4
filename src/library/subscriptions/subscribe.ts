import { and, eq, gt, sql } from 'drizzle-orm'
import { UNSTORABLE } from '../../clean-text.ts'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { grants } from '../../db/schema/accounts.ts'
import { subscriptions } from '../../db/schema/webhooks.ts'
import { AppError, invalid } from '../../errors.ts'
import { type Cursor, formatCursor, isLater, type StoredEvent } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { findBreak, findEnd, readEvents } from '../../events/read.ts'
import { canonicalKey } from '../../parameters.ts'
import { openCipher, type SecretsKeys, UndecryptableSecret } from '../../webhooks/secrets.ts'
import type { Caller } from '../accounts/keys.ts'
import { sha256 } from '../ids.ts'
import { holdFanOut, insertDeliveries, SUBSCRIPTIONS } from './deliveries.ts'
import { type Asked, concerns, KINDS, type MatchVideo, type Occurrence, positionOf, toOccurrence } from './kinds.ts'

/** Live subscriptions of one account. */
export const MAX_SUBSCRIPTIONS = 20
const DAY_MS = 24 * 60 * 60_000
const SHORTEST_MS = 60_000
/** For so long both secrets sign after a renewal with another one. */
const OVERLAP_MS = 5 * 60_000
/** Events that are read for a subscription that begins in the past. */
const PAGE = 500
const MAX_PAGES = 10

export type SubscriptionRow = typeof subscriptions.$inferSelect

interface Wanted {
  caller: Caller
  asked: Asked & { accountId: string }
  url: string
  secret: string
  /** Undefined: a day, which is also the longest. */
  ttlMs?: number | undefined
  /** Undefined: from now on. */
  after?: string | undefined
  /** Older events are skipped. */
  maxAgeMs?: number | undefined
  now: Date
  secretsKeys: SecretsKeys
}

export interface Subscribed {
  row: SubscriptionRow
  /** The position up to which nothing more is delivered by itself. */
  cursor: string
  /** Some events of the past were skipped. */
  truncated: boolean
}

/** Stable over restarts. Asking again with the same account, address, name and arguments renews. */
export function subscriptionIdOf({ name, arguments: given, accountId }: Wanted['asked'], url: string): string {
  return sha256([accountId, url, name, canonicalKey(given)].join('\n')).slice(0, 32)
}

/** Whether an address of this account has answered a challenge, and still receives. */
export async function isVerified(db: DbOrTx, accountId: string, url: string, now: Date): Promise<boolean> {
  const live = and(
    eq(subscriptions.accountId, accountId),
    eq(subscriptions.url, url),
    gt(subscriptions.refreshBefore, now),
  )
  return (await db.$count(subscriptions, live)) > 0
}

/** @throws AppError conflict at MAX_SUBSCRIPTIONS, invalid_request for characters that PostgreSQL cannot keep */
export async function subscribe(db: Db, wanted: Wanted): Promise<Subscribed> {
  const { asked, url, now } = wanted
  requireStorable(asked.arguments)
  const id = subscriptionIdOf(asked, url)
  return db.transaction(async (tx) => {
    // One at a time for an account, so that counting is safe.
    await tx.execute(sql`select 1 from accounts where id = ${asked.accountId} for no key update`)
    await holdFanOut(tx)
    await tx.execute(sql`delete from subscriptions where id = ${id} and refresh_before <= ${now.toISOString()}`)
    const live = and(eq(subscriptions.accountId, asked.accountId), gt(subscriptions.refreshBefore, now))
    const held = await tx.select({ id: subscriptions.id }).from(subscriptions).where(live)
    if (held.length >= MAX_SUBSCRIPTIONS && !held.some((one) => one.id === id))
      throw new AppError('conflict', `An account has at most ${MAX_SUBSCRIPTIONS} subscriptions. End one first.`)
    const reached = await checkpointOf(tx, SUBSCRIPTIONS)
    const end = await findEnd(tx)
    // With a past to replay, the consumer goes on from its own position.
    const start = wanted.after || isLater(reached, end) ? reached : end
    const row = await upsert(tx, { id, ...wanted, start })
    const truncated = wanted.after
      ? await replay(tx, row, { ...wanted, from: positionOf(wanted.after), upTo: reached })
      : false
    return { row, cursor: formatCursor(start), truncated }
  })
}

function requireStorable(given: Asked['arguments']): void {
  for (const [name, value] of Object.entries(given))
    if ([value].flat().some((one) => typeof one === 'string' && UNSTORABLE.test(one)))
      throw invalid(name, `${name}: holds a character that cannot be kept, such as NUL. Leave it out.`)
}

async function upsert(
  tx: Tx,
  { id, caller, asked, url, secret, ttlMs = DAY_MS, start, now, secretsKeys }: Wanted & { id: string; start: Cursor },
): Promise<SubscriptionRow> {
  const { name, arguments: given, accountId } = asked
  const ofGrant = (await tx.$count(grants, eq(grants.id, caller.key.id))) > 0
  const refreshBefore = new Date(now.getTime() + Math.min(DAY_MS, Math.max(SHORTEST_MS, ttlMs)))
  const by = ofGrant ? { grantId: caller.key.id, keyId: null } : { grantId: null, keyId: caller.key.id }
  const secrets = await secretsFor(tx, { id, secret, now, secretsKeys })
  const [row] = await tx
    .insert(subscriptions)
    .values({ id, accountId, ...by, name, arguments: { ...given }, url, ...secrets, ...start, refreshBefore })
    .onConflictDoUpdate({ target: subscriptions.id, set: { ...by, ...secrets, refreshBefore } })
    .returning()
  return row!
}

/** The secrets to store. A secret that another one replaces signs for a while beside it. */
async function secretsFor(
  tx: Tx,
  { id, secret, now, secretsKeys }: Pick<Wanted, 'secret' | 'now' | 'secretsKeys'> & { id: string },
) {
  const cipher = openCipher(secretsKeys)
  const stored = { secret: cipher.encrypt(secret, id) }
  const [held] = await tx.select().from(subscriptions).where(eq(subscriptions.id, id))
  if (!held) return stored
  try {
    if (cipher.decrypt(held.secret, id) === secret) return stored
  } catch (error) {
    if (!(error instanceof UndecryptableSecret)) throw error
    return { ...stored, oldSecret: null }
  }
  return { ...stored, oldSecret: held.secret, oldSecretUntil: new Date(now.getTime() + OVERLAP_MS) }
}

/** Writes the deliveries of the past. True when some were skipped. */
async function replay(
  tx: Tx,
  { id }: SubscriptionRow,
  { asked, from: begin, upTo, maxAgeMs, now }: Wanted & { from: Cursor; upTo: Cursor },
): Promise<boolean> {
  const common = await findBreak(tx, begin)
  let truncated = common !== undefined
  let from = common ?? begin
  for (let page = 0; isLater(upTo, from); page++) {
    if (page === MAX_PAGES) return true
    const { events, next } = await readEvents(tx, { after: from, upTo, types: KINDS[asked.name].types, limit: PAGE })
    const { all, recent } = concerning(asked, events, { maxAgeMs, now })
    truncated ||= recent.length < all
    const { accountId } = asked
    await insertDeliveries(
      tx,
      recent.map((event) => ({ subscriptionId: id, event, accountId })),
      now,
    )
    if (events.length < PAGE) return truncated
    from = next
  }
  return truncated
}

/** How many events concern what is asked for, and those of them that are not too old. */
function concerning(
  asked: Asked,
  events: readonly StoredEvent[],
  { maxAgeMs = Number.POSITIVE_INFINITY, now }: { maxAgeMs: number | undefined; now: Date },
) {
  const all = events.filter((event) => concerns(asked, event))
  return { all: all.length, recent: all.filter(({ time }) => time.getTime() >= now.getTime() - maxAgeMs) }
}

/** False where there is none. */
export async function unsubscribe(db: Db, asked: Wanted['asked'], url: string): Promise<boolean> {
  const { rowCount } = await db.execute(sql`delete from subscriptions where id = ${subscriptionIdOf(asked, url)}`)
  return rowCount === 1
}

/** The live ones of an account, the newest first. */
export async function listSubscriptions(db: DbOrTx, accountId: string, now: Date): Promise<SubscriptionRow[]> {
  const live = and(eq(subscriptions.accountId, accountId), gt(subscriptions.refreshBefore, now))
  return db.select().from(subscriptions).where(live).orderBy(sql`created_at desc, id`)
}

/** Ends one of an account's subscriptions. False where there is none. */
export async function endSubscription(db: Db, { id, accountId }: { id: string; accountId: string }): Promise<boolean> {
  const { rowCount } = await db.execute(sql`delete from subscriptions where id = ${id} and account_id = ${accountId}`)
  return rowCount === 1
}

/** Deletes what has ended, and deliveries that no worker could send for as long as a subscription lasts. */
export async function pruneSubscriptions(db: Db, now: Date): Promise<void> {
  const at = now.toISOString()
  await db.execute(sql`delete from subscriptions where refresh_before < ${at}::timestamptz`)
  await db.execute(sql`
    delete from subscription_deliveries where next_at < ${new Date(now.getTime() - DAY_MS).toISOString()}::timestamptz`)
}

/** Events of the log that one poll reads at most. A question is asked of each. */
const MOST_READ = 500
const MOST_ASKED = 20

export interface Polled {
  events: Occurrence[]
  cursor: string
  /** Some were skipped: the cursor is not of this log, or they are too old. */
  truncated: boolean
  hasMore: boolean
}

/** What happened after a position of the log, oldest first; without one nothing, and the position to begin at. */
export async function pollEvents(
  db: Db,
  asked: Asked,
  {
    after,
    maxAgeMs,
    limit,
    now,
  }: { after: string | undefined; maxAgeMs: number | undefined; limit: number; now: Date },
  deps: { match: MatchVideo; publicUrl: string; charge(questions: number): Promise<void> },
): Promise<Polled> {
  const searches = asked.name === 'search.matched'
  if (!after) return { events: [], cursor: formatCursor(await findEnd(db)), truncated: false, hasMore: false }
  const position = positionOf(after)
  const common = await findBreak(db, position)
  const most = searches ? MOST_ASKED : MOST_READ
  const { events, next } = await readEvents(db, {
    after: common ?? position,
    types: KINDS[asked.name].types,
    limit: most,
    // The read model does not have later videos yet.
    ...(searches ? { upTo: await checkpointOf(db, 'search') } : {}),
  })
  const { all, recent } = concerning(asked, events, { maxAgeMs, now })
  if (searches) await deps.charge(all)
  const truncated = common !== undefined || recent.length < all
  const told: Occurrence[] = []
  for (const event of recent) {
    if (told.length === limit) return { events: told, cursor: told.at(-1)!.cursor, truncated, hasMore: true }
    const occurrence = await toOccurrence(asked, event, deps)
    if (occurrence) told.push(occurrence)
  }
  return { events: told, cursor: formatCursor(next), truncated, hasMore: events.length === most }
}
