import { characterCount, cleanText } from '../../clean-text.ts'
import { type Db, type DbOrTx, inTransaction } from '../../db/client.ts'
import { deleteInPieces } from '../../db/delete-in-pieces.ts'
import {
  accounts,
  apiKeys,
  grants,
  idempotencyKeys,
  type Role,
  sessions,
  signInLinks,
} from '../../db/schema/accounts.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, asc, eq, isNotNull, isNull, sql } from '../../sql/orm.ts'
import type { Plan } from '../../vocabulary.ts'
import { PRESENT } from '../collections/board-settings.ts'
import { deleteSomeBoard, sweepBoards } from '../collections/boards.ts'
import { deleteSomeSaves, sweepRemovedSaves } from '../collections/saves.ts'
import { isId, randomId } from '../ids.ts'
import { deleteExpiredRecords, endGrants } from './grants.ts'
import { VALID_KEY } from './key-checks.ts'
import { deleteDeadKeys, revokeAllKeys } from './keys.ts'

type AccountRow = typeof accounts.$inferSelect
/** Every account whose deletion has not begun has an address. */
export type Account = AccountRow & { email: string }

/** An account as programs see it. */
export function describeAccount({ id, email, role, plan, createdAt, disabledAt }: Account) {
  const disabled_at = disabledAt?.toISOString() ?? null
  return { id, email, role, plan, created_at: createdAt.toISOString(), disabled_at }
}

function hasAddress(row: AccountRow | undefined): row is Account {
  return row !== undefined && row.email !== null
}

/** In lower case, as stored. @throws AppError invalid_request. */
export function parseEmail(text: string): string {
  const email = text.trim().toLowerCase()
  // Loose on purpose (operator@localhost is valid): arriving mail proves an address. It becomes a mail header, so
  // control characters are refused.
  if (email.length > 254 || !/^[^\s@<>(),;:"\\\p{Cc}]+@[^\s@<>(),;:"\\\p{Cc}]+$/u.test(email))
    throw invalid('email', 'This is not an e-mail address. Check it.')
  return email
}

/** @throws AppError conflict when the address already has an account. */
export async function createAccount(
  db: DbOrTx,
  given: { email: string; plan?: Plan | undefined; role?: Role | undefined },
): Promise<Account> {
  const { account, created } = await ensureAccount(db, given)
  if (!created) throw new AppError('conflict', 'This address already has an account. Use another one.')
  return account
}

/** The account of this address, created if there is none. An existing account stays unchanged. */
export async function ensureAccount(
  db: DbOrTx,
  { email: given, plan = 'free', role = 'member' }: { email: string; plan?: Plan | undefined; role?: Role | undefined },
): Promise<{ account: Account; created: boolean }> {
  const email = parseEmail(given)
  return inTransaction(db, async (tx) => {
    const [made] = await tx
      .insert(accounts)
      .values({ id: randomId(), email, role, plan })
      .onConflictDoNothing()
      .returning()
    if (hasAddress(made)) {
      await appendEvent(tx, { type: 'account.created', subject: made.id, accountId: made.id, data: { role, plan } })
      return { account: made, created: true }
    }
    const account = await findAccountByEmail(tx, email)
    if (!account) throw new AppError('conflict', 'This account is being deleted. Try again in a moment.')
    return { account, created: false }
  })
}

export async function findAccountByEmail(db: DbOrTx, email: string): Promise<Account | undefined> {
  const [account] = await db
    .select()
    .from(accounts)
    .where(eq(accounts.email, parseEmail(email)))
  return hasAddress(account) ? account : undefined
}

/** @throws AppError not_found. */
export async function loadAccountByEmail(db: DbOrTx, email: string): Promise<Account> {
  const account = await findAccountByEmail(db, email)
  if (!account) throw notFound('account')
  return account
}

export async function listAccounts(db: DbOrTx): Promise<Account[]> {
  const rows = await db.select().from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id))
  return rows.filter(hasAddress)
}

export const MAX_ACCOUNT_NAME = 80

/**
 * What shared boards call their owner; empty: nothing. It is in no event, because the log is kept for ever.
 * @throws AppError invalid_request
 */
export async function nameAccount(db: DbOrTx, { accountId, name: given }: { accountId: string; name: string }) {
  const name = cleanText(given)
  if (characterCount(name) > MAX_ACCOUNT_NAME)
    throw invalid('name', `A name has at most ${MAX_ACCOUNT_NAME} characters.`)
  await db
    .update(accounts)
    .set({ name: name || null })
    .where(and(eq(accounts.id, accountId), isNotNull(accounts.email)))
}

/** Applies from the account's next request on. Repeating the plan changes nothing. @throws AppError not_found. */
export async function setPlan(db: DbOrTx, { accountId, plan }: { accountId: string; plan: Plan }): Promise<Account> {
  if (!isId(accountId)) throw notFound('account')
  return inTransaction(db, async (tx) => {
    const [account] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update')
    if (!hasAddress(account)) throw notFound('account')
    if (account.plan === plan) return account
    await tx.update(accounts).set({ plan }).where(eq(accounts.id, accountId))
    await appendEvent(tx, {
      type: 'account.plan_changed',
      subject: accountId,
      accountId,
      data: { plan, previous_plan: account.plan },
    })
    return { ...account, plan }
  })
}

/** What `deleteAccount` would delete. Expired and revoked keys are not counted. */
export async function whatAccountHolds(
  db: DbOrTx,
  accountId: string,
): Promise<{ keys: number; saves: number; boards: number }> {
  const { rows } = await db.execute<{ keys: number; saves: number; boards: number }>(sql`
    select (select count(*)::int from api_keys k where account_id = ${accountId} and ${sql.raw(VALID_KEY)}) as keys,
           (select count(*)::int from saves where account_id = ${accountId}) as saves,
           (select count(*)::int from boards where account_id = ${accountId} and ${PRESENT}) as boards`)
  return rows[0]!
}

/**
 * Ends an account at once: its keys, sessions and share links are refused, and its address is free. Its saves and
 * boards remain for `finishDeletions`. Nothing ties its events to an address any more. @throws AppError not_found.
 */
export async function markAccountDeleted(db: Db, accountId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [found] = await tx.select().from(accounts).where(eq(accounts.id, accountId))
    if (!hasAddress(found)) throw notFound('account')
    // Before the account's row, because a sign-in also locks its link first.
    await tx.delete(signInLinks).where(eq(signInLinks.email, found.email))
    const { rowCount } = await tx
      .update(accounts)
      .set({ email: null, name: null, disabledAt: new Date() })
      .where(and(eq(accounts.id, accountId), isNotNull(accounts.email)))
    if (rowCount === 0) throw notFound('account')
    await revokeAllKeys(tx, accountId)
    await tx.delete(apiKeys).where(eq(apiKeys.accountId, accountId))
    await endGrants(tx, eq(grants.accountId, accountId), 'server')
    await tx.delete(sessions).where(eq(sessions.accountId, accountId))
    await tx.delete(idempotencyKeys).where(eq(idempotencyKeys.accountId, accountId))
  })
}

/** Deletes an account and all that it holds. @throws AppError not_found. */
export async function deleteAccount(db: Db, accountId: string): Promise<void> {
  await markAccountDeleted(db, accountId)
  await finishDeletion(db, accountId)
}

/** Finishes the deletions that have begun. Safe at any time, in any process. Returns how many it finished. */
export async function finishDeletions(db: Db, signal?: AbortSignal): Promise<number> {
  const rows = await db.select({ id: accounts.id }).from(accounts).where(isNull(accounts.email))
  for (const { id } of rows) await finishDeletion(db, id, signal)
  return rows.length
}

/** Readers of the event log wait for each transaction. A full board's pins take as long as these saves. */
const SAVES_AT_ONCE = 2_000

/** Removes saves, pins and boards with an event for each, a board at most in a transaction, then the account. */
async function finishDeletion(db: Db, accountId: string, signal?: AbortSignal): Promise<void> {
  const removeSome = () =>
    db.transaction(async (tx) => {
      // One process at a time. Not `for update`: a pin that holds its board would wait for it, and this for the board.
      await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
      return (await deleteSomeSaves(tx, { accountId, limit: SAVES_AT_ONCE })) || deleteSomeBoard(tx, accountId)
    })
  const end = () =>
    db.transaction(async (tx) => {
      // Waits for the last writes of the account, and locks nothing else. Only the next statement sees what they wrote.
      const { rowCount } = await tx.execute(sql`select 1 from accounts where id = ${accountId} for update`)
      if (rowCount === 0) return true
      const { saves, boards } = await whatAccountHolds(tx, accountId)
      if (saves + boards > 0) return false
      await tx.delete(accounts).where(eq(accounts.id, accountId))
      await appendEvent(tx, { type: 'account.deleted', subject: accountId, accountId, data: {} })
      return true
    })
  while (!signal?.aborted) if (!(await removeSome()) && (await end())) return
}

/**
 * Deletes expired sessions, sign-in links, tokens and idempotent responses, keys that ended long ago, and what was
 * removed a day ago. Safe at any time, in any process. What fails does not keep the rest. @throws what failed
 */
export async function deleteExpired(db: Db): Promise<void> {
  const failed: unknown[] = []
  for (const sweep of [
    () => deleteInPieces(db, 'sessions', sql`expires_at < now()`),
    () => deleteInPieces(db, 'sign_in_links', sql`expires_at < now()`),
    () => deleteInPieces(db, 'idempotency_keys', sql`created_at < now() - interval '24 hours'`),
    () => sweepRemovedSaves(db),
    () => sweepBoards(db),
    () => deleteDeadKeys(db),
    () => deleteExpiredRecords(db),
  ])
    await sweep().catch((error: unknown) => failed.push(error))
  if (failed.length > 0) throw new AggregateError(failed, 'not everything that has expired was deleted')
}

/**
 * Disables an account or enables it again. From the next request on a disabled account's keys and sessions are refused,
 * it cannot sign in, and its share links show nothing. Sessions and sign-in links are deleted; the rest works again
 * once it is enabled. A repeat changes nothing. `by`: the operator who asks. @throws AppError not_found; conflict for
 * the operator's own account.
 */
export async function setDisabled(
  db: Db,
  { accountId, disabled, by }: { accountId: string; disabled: boolean; by?: string },
): Promise<Account> {
  if (disabled && accountId === by) throw new AppError('conflict', 'You cannot disable the account that you use now.')
  return db.transaction(async (tx) => {
    const [account] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update')
    if (!hasAddress(account)) throw notFound('account')
    if ((account.disabledAt !== null) === disabled) return account
    const disabledAt = disabled ? new Date() : null
    await tx.update(accounts).set({ disabledAt }).where(eq(accounts.id, accountId))
    if (disabled) {
      // In the order of `endAllSessions`.
      await tx.delete(signInLinks).where(eq(signInLinks.email, account.email))
      await tx.delete(sessions).where(eq(sessions.accountId, accountId))
    }
    const type = disabled ? 'account.disabled' : 'account.enabled'
    await appendEvent(tx, { type, subject: accountId, accountId, data: {} })
    return { ...account, disabledAt }
  })
}

/** An account as operators see it. */
export interface AccountOverview {
  id: string
  email: string
  role: Role
  plan: Plan
  created_at: string
  disabled_at: string | null
  /** Number of valid keys. */
  keys: number
  /** The last use of one of its keys. */
  last_used_at: string | null
  saves: number
  boards: number
}

/** Newest first. `like`: a part of the address. */
export async function listAccountOverviews(
  db: Db,
  { like = '', limit, skip }: { like?: string | undefined; limit: number; skip: number },
): Promise<{ accounts: AccountOverview[]; total: number }> {
  const pattern = `%${like.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const { rows } = await db.execute<AccountOverview & Record<string, unknown>>(sql`
    select a.id, a.email, a.role, a.plan, a.created_at, a.disabled_at,
           (select count(*)::int from api_keys k where k.account_id = a.id and ${sql.raw(VALID_KEY)}) as keys,
           (select max(last_used_at) from api_keys k where k.account_id = a.id) as last_used_at,
           (select count(*)::int from saves where account_id = a.id) as saves,
           (select count(*)::int from boards where account_id = a.id and ${PRESENT}) as boards
      from accounts a where a.email like ${pattern} order by a.created_at desc, a.id limit ${limit} offset ${skip}`)
  const { rows: counts } = await db.execute<{ n: number }>(
    sql`select count(*)::int as n from accounts where email like ${pattern}`,
  )
  return { accounts: rows, total: counts[0]!.n }
}
