import { cleanText } from '../../clean-text.ts'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { accounts, apiKeys, type Role } from '../../db/schema/accounts.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, desc, eq, type SQL, sql } from '../../sql/orm.ts'
import { isId, randomId, sha256 } from '../ids.ts'
import { generateKey, MEMBER_SCOPES, SCOPES, type Scope, VALID_KEY } from './key-checks.ts'

/** False for a scope that older keys may hold and that is no longer offered. It allows nothing. */
const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope)

/** Live keys an account may hold. A rotated key in its grace period does not count. */
export const MAX_KEYS = 25
/** Default seconds for which a rotated key stays valid beside its successor. */
export const ROTATION_GRACE_SEC = 24 * 60 * 60
const MAX_GRACE_SEC = 30 * 24 * 60 * 60
const MAX_NAME = 80

/** What is shown of a key after its creation. The key itself is not stored. */
export type KeyRecord = Omit<typeof apiKeys.$inferSelect, 'hash' | 'scopes'> & { scopes: Scope[] }

/**
 * @throws AppError invalid_request for scopes that the role may not hold, a bad name or a past expiry; conflict at
 * MAX_KEYS.
 */
export async function createKey(
  db: DbOrTx,
  given: { accountId: string; name: string; scopes?: readonly Scope[] | undefined; expiresAt?: Date | undefined },
): Promise<{ key: string; record: KeyRecord }> {
  const name = cleanText(given.name)
  if (name === '' || name.length > MAX_NAME || /\p{Cc}/u.test(given.name.trim()))
    throw invalid('name', `A key's name has 1 to ${MAX_NAME} characters and stands on one line.`)
  if (given.expiresAt && given.expiresAt.getTime() <= Date.now())
    throw invalid('expires_at', 'The expiry must be in the future.')
  return inTransactionOf(given.accountId, db, async (tx) => {
    const account = await lockAccount(tx, given.accountId)
    const scopes = given.scopes ?? scopesOf(account.role)
    if (scopes.length === 0) throw invalid('scopes', 'A key needs at least one scope.', scopesOf(account.role))
    const refused = scopes.filter((scope) => !scopesOf(account.role).includes(scope))
    if (refused.length > 0)
      throw invalid(
        'scopes',
        `This account may not grant ${refused.join(', ')}. Leave that out.`,
        scopesOf(account.role),
      )
    return mint(tx, { accountId: account.id, name, scopes: [...new Set(scopes)], expiresAt: given.expiresAt ?? null })
  })
}

function scopesOf(role: Role): readonly Scope[] {
  return role === 'operator' ? SCOPES : MEMBER_SCOPES
}

/** How long an invalid key is kept and listed. */
export const DEAD_KEY_DAYS = 30
/** Ended keys per page. Their number has no limit. */
export const DEAD_KEY_PAGE = 50

const ended = sql`least(${apiKeys.revokedAt}, ${apiKeys.expiresAt})`

/** Newest first: all that are valid, and the newest of those that ended within DEAD_KEY_DAYS. */
export async function listKeys(db: DbOrTx, accountId: string): Promise<KeyRecord[]> {
  const { keys } = await listDeadKeys(db, accountId)
  return [...(await listLiveKeys(db, accountId)), ...keys].sort((a, b) => +b.createdAt - +a.createdAt)
}

/** All that are valid, newest first. */
export async function listLiveKeys(db: DbOrTx, accountId: string): Promise<KeyRecord[]> {
  const rows = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), sql`coalesce(${ended}, 'infinity') > now()`))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
  return rows.map(toRecord)
}

/**
 * A page of the keys that ended within DEAD_KEY_DAYS, newest end first, from the key after `after` on. `next` is the
 * `after` of the next page, null at the end.
 */
export async function listDeadKeys(
  db: DbOrTx,
  accountId: string,
  { after }: { after?: string | undefined } = {},
): Promise<{ keys: KeyRecord[]; next: string | null }> {
  const place = sql`(select ${ended}, id from ${apiKeys} where id = ${after ?? ''} and account_id = ${accountId})`
  const behind = after === undefined ? undefined : sql`(${ended}, ${apiKeys.id}) < ${place}`
  const rows = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), sql`${ended} <= now() and ${ended} > ${deadSince}`, behind))
    .orderBy(sql`${ended} desc`, desc(apiKeys.id))
    .limit(DEAD_KEY_PAGE + 1)
  const page = rows.slice(0, DEAD_KEY_PAGE)
  return { keys: page.map(toRecord), next: rows.length > page.length ? page.at(-1)!.id : null }
}

const deadSince = sql.raw(`now() - interval '${DEAD_KEY_DAYS} days'`)

export async function deleteDeadKeys(db: Db): Promise<void> {
  await db.delete(apiKeys).where(sql`${ended} <= ${deadSince}`)
}

/**
 * Creates a key with the old one's name, scopes and lifetime. The old one expires after `graceSec`; a key that it had
 * replaced is revoked now, so that repeated rotation leaves at most two live keys. Of two concurrent rotations the
 * second is refused.
 * @throws AppError not_found, or conflict for a key that is invalid or already replaced.
 */
export async function rotateKey(
  db: DbOrTx,
  { accountId, keyId, graceSec = ROTATION_GRACE_SEC }: { accountId: string; keyId: string; graceSec?: number },
): Promise<{ key: string; record: KeyRecord }> {
  if (!Number.isInteger(graceSec) || graceSec < 0 || graceSec > MAX_GRACE_SEC)
    throw invalid('grace', `The grace period must be between 0 and ${MAX_GRACE_SEC} seconds.`)
  return inTransactionOf(accountId, db, async (tx) => {
    const account = await lockAccount(tx, accountId)
    const old = await lockKey(tx, accountId, keyId)
    if (old.replacedBy) throw new AppError('conflict', 'This key has already been replaced. Rotate its successor.')
    if (!isLive(old)) throw new AppError('conflict', 'This key is expired or revoked. Create a new one.')
    const lifetimeMs = old.expiresAt ? old.expiresAt.getTime() - old.createdAt.getTime() : null
    const kept = old.scopes.filter((scope) => scopesOf(account.role).includes(scope as Scope)) as Scope[]
    if (kept.length === 0)
      throw new AppError('conflict', 'The account may no longer hold any of this key’s scopes. Create a new key.')
    const made = await mint(
      tx,
      {
        accountId,
        name: old.name,
        scopes: kept,
        expiresAt: lifetimeMs === null ? null : new Date(Date.now() + lifetimeMs),
      },
      { replacing: true },
    )
    const [dying] = await tx
      .update(apiKeys)
      .set({
        replacedBy: made.record.id,
        revokedAt: sql`least(coalesce(${apiKeys.revokedAt}, 'infinity'),
                             clock_timestamp() + make_interval(secs => ${graceSec}))`,
      })
      .where(eq(apiKeys.id, keyId))
      .returning({ revokedAt: apiKeys.revokedAt })
    await endNow(tx, accountId, sql`replaced_by = ${keyId}`)
    await appendEvent(tx, {
      type: 'key.revoked',
      subject: keyId,
      accountId,
      data: { key_id: keyId, effective_at: dying!.revokedAt!.toISOString(), replaced_by: made.record.id },
    })
    return made
  })
}

/** The key is refused from the next request on. Idempotent. @throws AppError not_found. */
export async function revokeKey(db: DbOrTx, { accountId, keyId }: { accountId: string; keyId: string }): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    await lockKey(tx, accountId, keyId)
    await endNow(tx, accountId, sql`id = ${keyId}`)
  })
}

export async function revokeAllKeys(tx: Tx, accountId: string): Promise<void> {
  await endNow(tx, accountId, sql`coalesce(expires_at, 'infinity') > now()`)
}

async function endNow(tx: Tx, accountId: string, which: SQL): Promise<void> {
  // clock_timestamp(), not now(): a check that starts after the commit must find the moment in the past.
  const { rows } = await tx.execute<{ id: string }>(
    sql`update api_keys set revoked_at = clock_timestamp()
         where account_id = ${accountId} and ${which} and (revoked_at is null or revoked_at > clock_timestamp())
         returning id`,
  )
  for (const { id } of rows)
    await appendEvent(tx, { type: 'key.revoked', subject: id, accountId, data: { key_id: id } })
}

export function isLive({ revokedAt, expiresAt }: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>): boolean {
  const now = new Date()
  return (!revokedAt || revokedAt > now) && (!expiresAt || expiresAt > now)
}

async function mint(
  tx: Tx,
  { accountId, name, scopes, expiresAt }: { accountId: string; name: string; scopes: Scope[]; expiresAt: Date | null },
  { replacing = false } = {},
): Promise<{ key: string; record: KeyRecord }> {
  if (!replacing) {
    const { rows } = await tx.execute<{ live: number }>(
      sql`with live as (
            select id, replaced_by from api_keys k where account_id = ${accountId} and ${sql.raw(VALID_KEY)})
          select count(*)::int as live from live k where not exists (select 1 from live where id = k.replaced_by)`,
    )
    if (rows[0]!.live >= MAX_KEYS)
      throw new AppError('conflict', `An account holds at most ${MAX_KEYS} keys. Revoke one first.`)
  }
  const key = generateKey()
  const [row] = await tx
    .insert(apiKeys)
    .values({ id: randomId(), accountId, name, hash: sha256(key), hint: key.slice(-4), scopes, expiresAt })
    .returning()
  await appendEvent(tx, { type: 'key.created', subject: row!.id, accountId, data: { key_id: row!.id, scopes } })
  return { key, record: toRecord(row!) }
}

/** Serialises changes of an account's keys, so that counting them is safe. */
async function lockAccount(tx: Tx, accountId: string): Promise<{ id: string; role: Role }> {
  const [account] = await tx
    .select({ id: accounts.id, role: accounts.role })
    .from(accounts)
    .where(eq(accounts.id, accountId))
    .for('no key update')
  if (!account) throw notFound('account')
  return account
}

async function lockKey(tx: Tx, accountId: string, keyId: string) {
  if (!isId(keyId)) throw notFound('key')
  const [key] = await tx
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, keyId), eq(apiKeys.accountId, accountId)))
    .for('no key update')
  if (!key) throw notFound('key')
  return key
}

function toRecord(row: typeof apiKeys.$inferSelect): KeyRecord {
  const { hash: _hash, ...shown } = row
  return { ...shown, scopes: shown.scopes.filter(isScope) }
}
