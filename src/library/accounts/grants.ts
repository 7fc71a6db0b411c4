import { randomBytes } from 'node:crypto'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { deleteInPieces } from '../../db/delete-in-pieces.ts'
import { grants, oauthRecords } from '../../db/schema/accounts.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, desc, eq, type SQL, sql } from '../../sql/orm.ts'
import { isId, randomId, sha256 } from '../ids.ts'
import {
  type AuthenticationRow,
  type Caller,
  type CheckOptions,
  type KeyChecks,
  openChecks,
  type Scope,
  toCaller,
} from './key-checks.ts'

/** An app that acts for an account. */
export type Grant = Omit<typeof grants.$inferSelect, 'accountId' | 'scopes'> & { scopes: readonly Scope[] }

/** Apps that may act for one account. */
const MAX_GRANTS = 100

interface NewGrant {
  /** Of the same consent, however often it is given; a new one if absent. */
  id?: string
  accountId: string
  clientId: string
  clientName: string
  returnsTo: string
  scopes: readonly Scope[]
}

/** A person may press twice, and a process may die before it sends the browser on. */
export function grantIdOf(accountId: string, request: string): string {
  return sha256(`${accountId} ${request}`).slice(0, 32)
}

/**
 * Records a consent. The authorization server ties its tokens to the id. A repeat changes nothing.
 * @throws AppError conflict at MAX_GRANTS
 */
export async function createGrant(db: Db, { id = randomId(), ...given }: NewGrant): Promise<string> {
  const { accountId, clientName, returnsTo, scopes } = given
  await inTransactionOf(accountId, db, async (tx) => {
    // One consent at a time, so that counting is safe.
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    if ((await tx.$count(grants, eq(grants.id, id))) > 0) return
    if ((await tx.$count(grants, eq(grants.accountId, accountId))) >= MAX_GRANTS)
      throw new AppError('conflict', `An account has at most ${MAX_GRANTS} connected apps. Disconnect one first.`)
    await tx.insert(grants).values({ ...given, id, scopes: [...scopes] })
    const data = { grant_id: id, client: clientName, host: returnsTo, scopes: [...scopes] }
    await appendEvent(tx, { type: 'grant.created', subject: id, accountId, data })
  })
  return id
}

/** Newest first. */
export async function listGrants(db: DbOrTx, accountId: string): Promise<Grant[]> {
  const rows = await db
    .select()
    .from(grants)
    .where(eq(grants.accountId, accountId))
    .orderBy(desc(grants.createdAt), desc(grants.id))
  return rows.map(({ accountId: _, scopes, ...grant }) => ({ ...grant, scopes: scopes as Scope[] }))
}

/**
 * Ends a grant. Its tokens are refused from the next request on. `by`: its owner, or the server, which has seen a token
 * used twice, was asked by the app, or gave it no token. @throws AppError not_found where it has ended.
 */
export async function revokeGrant(
  db: Db,
  { id, accountId, by }: { id: string; accountId?: string; by: 'owner' | 'server' },
): Promise<void> {
  if (!isId(id)) throw notFound('app')
  const owned = accountId === undefined ? undefined : eq(grants.accountId, accountId)
  const ended = await db.transaction((tx) => endGrants(tx, and(eq(grants.id, id), owned), by))
  if (ended === 0) throw notFound('app')
}

/** Ends the grants of a condition. Returns how many there were. */
export async function endGrants(tx: Tx, where: SQL | undefined, by: 'owner' | 'server'): Promise<number> {
  const ended = await tx.delete(grants).where(where).returning()
  for (const { id, accountId, clientId, clientName } of ended.sort((a, b) => a.clientId.localeCompare(b.clientId))) {
    // The app can ask again.
    await tx
      .update(oauthRecords)
      .set({ expiresAt: sql`now() + make_interval(days => ${IDLE_CLIENT_DAYS})` as never })
      .where(isRecord('Client', clientId))
    const data = { grant_id: id, client: clientName, by }
    await appendEvent(tx, { type: 'grant.revoked', subject: id, accountId, data })
  }
  return ended.length
}

/** `asked`: the scopes of the token, which may be fewer than those of its grant. */
type TokenRow = AuthenticationRow & { asked: string | null }

const LOOK_UP = {
  name: 'look-up-tokens',
  text: `select t.hash, t.payload ->> 'scope' as asked, g.id, g.scopes, g.last_used_at,
                a.id as account_id, a.role, a.plan, a.disabled_at is not null as is_disabled
           from oauth_records t join grants g on g.id = t.grant_id join accounts a on a.id = g.account_id
          where t.kind = 'AccessToken' and t.hash = any($1::text[]) and t.expires_at > now()
            and rtrim(t.payload ->> 'aud', '/') = $2`,
}

/** The callers of the access tokens of these hashes, issued for one resource. What has no entry is dead. */
async function lookUpTokens(
  { $client }: Pick<Db, '$client'>,
  hashes: readonly string[],
  resource: string,
): Promise<Map<string, Caller | 'disabled'>> {
  const { rows } = await $client.query<TokenRow>({ ...LOOK_UP, values: [hashes, resource] })
  return new Map(rows.map((row) => [row.hash, row.is_disabled ? 'disabled' : callerOf(row)]))
}

function callerOf({ asked, scopes, ...row }: TokenRow): Caller {
  const own = (asked ?? '').split(' ')
  return toCaller({ ...row, scopes: scopes.filter((scope) => own.includes(scope)) })
}

type Payload = Record<string, unknown>

/** A refresh token that was used may be used again within this time: tabs of an app refresh at once. */
const REFRESH_OVERLAP_SEC = 30
/** How long a client that registered itself is known after its last grant. */
const IDLE_CLIENT_DAYS = 30

/**
 * Stores a record. The id is a secret, so that only its hash is kept. `lifetimeSec` absent: it does not expire.
 * @throws AppError not_found where its grant has ended
 */
export async function putRecord(
  db: DbOrTx,
  { kind, id, payload, lifetimeSec }: { kind: string; id: string; payload: Payload; lifetimeSec?: number | undefined },
): Promise<void> {
  const { jti: _, ...kept } = payload
  const values = {
    kind,
    hash: sha256(id),
    payload: kept,
    grantId: kind === 'Grant' ? id : ((kept.grantId as string | undefined) ?? null),
    expiresAt: lifetimeSec === undefined ? null : new Date(Date.now() + lifetimeSec * 1000),
  }
  try {
    await db
      .insert(oauthRecords)
      .values(values)
      .onConflictDoUpdate({ target: [oauthRecords.kind, oauthRecords.hash], set: values })
  } catch (error) {
    throw hasNoGrant(error) ? notFound('grant') : error
  }
}

/**
 * With its id, and `consumed` where it was used up. Undefined for an unknown and for an expired one. A client is there
 * until it is deleted: a grant keeps it.
 */
export async function findRecord(db: DbOrTx, kind: string, id: string): Promise<Payload | undefined> {
  const [row] = await db
    .select()
    .from(oauthRecords)
    .where(and(isRecord(kind, id), sql`(kind = 'Client' or coalesce(expires_at, 'infinity') > now())`))
  if (!row) return undefined
  const overlapMs = kind === 'RefreshToken' ? REFRESH_OVERLAP_SEC * 1000 : 0
  const isUsedUp = row.consumedAt !== null && row.consumedAt.getTime() + overlapMs <= Date.now()
  return { ...row.payload, jti: id, ...(isUsedUp ? { consumed: Math.floor(row.consumedAt!.getTime() / 1000) } : {}) }
}

/** True for the one of many concurrent uses that came first. */
export async function consumeRecord(db: DbOrTx, kind: string, id: string): Promise<boolean> {
  const { rowCount } = await db
    .update(oauthRecords)
    .set({ consumedAt: new Date() })
    .where(and(isRecord(kind, id), sql`consumed_at is null`))
  return rowCount === 1
}

export async function deleteRecord(db: DbOrTx, kind: string, id: string): Promise<void> {
  await db.delete(oauthRecords).where(isRecord(kind, id))
}

/** Deletes what has expired, and grants that no token is left of. Safe at any time. */
export async function deleteExpiredRecords(db: Db): Promise<void> {
  const isClient = sql`kind = 'Client' and exists (select from grants where client_id = payload ->> 'client_id')`
  await deleteInPieces(db, 'oauth_records', sql`expires_at < now() and not (${isClient})`)
  // Their apps never came for a token, because the way back to them was lost, or all has expired since.
  const isLeft = sql`created_at < now() - interval '1 day' and not exists (
    select from oauth_records where grant_id = ${grants.id} and kind <> 'Grant')`
  const rows = await db.select({ id: grants.id }).from(grants).where(isLeft)
  for (const { id } of rows) await db.transaction((tx) => endGrants(tx, and(eq(grants.id, id), isLeft), 'server'))
}

/** A foreign key that finds nothing (SQLSTATE 23503). */
const hasNoGrant = (error: unknown) => (error as { cause?: { code?: string } } | undefined)?.cause?.code === '23503'

const isRecord = (kind: string, id: string) => and(eq(oauthRecords.kind, kind), eq(oauthRecords.hash, sha256(id)))

const ROTATE_AFTER_DAYS = 90
/** All processes know a new key before one of them signs with it: they read the keys every day. */
const KNOWN_AFTER_DAYS = 2

/** A key that the authorization server signs with, and a secret for its cookies. */
export interface ServerKey {
  jwk: Record<string, unknown>
  cookie: string
}

/**
 * The keys of the authorization server, first the one that signs. All processes use the same. A new one is made when
 * the newest is 90 days old. It signs two days later, and the one before stays valid. `make`: a private key as a JWK.
 */
export async function loadServerKeys(db: Db, make: () => Promise<ServerKey['jwk']>): Promise<ServerKey[]> {
  const jwk = await make()
  const made = { jwk, cookie: randomBytes(32).toString('base64url'), at: new Date().toISOString() }
  return db.transaction(async (tx) => {
    await tx.execute(sql`
      insert into settings (name, value) values ('oauth-keys', ${JSON.stringify([made])}::jsonb)
      on conflict do nothing`)
    const { rows } = await tx.execute<{ value: (ServerKey & { at: string })[] }>(
      sql`select value from settings where name = 'oauth-keys' for update`,
    )
    const [newest, before] = rows[0]!.value
    const days = (Date.now() - Date.parse(newest!.at)) / 86_400_000
    if (days < ROTATE_AFTER_DAYS) return days < KNOWN_AFTER_DAYS && before ? [before, newest!] : rows[0]!.value
    const rotated = JSON.stringify([made, newest])
    await tx.execute(sql`
      update settings set value = ${rotated}::jsonb, updated_at = now() where name = 'oauth-keys'`)
    return [newest!, made]
  })
}

/** `resource`: the address that the tokens were issued for. */
export function openTokenChecks(db: Pick<Db, '$client'>, resource: string, used: CheckOptions['used']): KeyChecks {
  return openChecks({ isWellFormed: isToken, lookUp: (hashes) => lookUpTokens(db, hashes, resource), used })
}

/** As the authorization server makes them. */
const isToken = (bearer: string) => /^[\w-]{43}$/.test(bearer)
