import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Db, DbOrTx } from '../../db/client.ts'
import { type Role, sessions, signInLinks } from '../../db/schema/accounts.ts'
import { eq, sql } from '../../sql/orm.ts'
import type { Plan } from '../../vocabulary.ts'
import { randomBase62, sha256 } from '../ids.ts'
import { ensureAccount, findAccountByEmail, parseEmail } from './accounts.ts'

/** Lifetime of a session, from the sign-in. */
export const SESSION_SEC = 30 * 24 * 60 * 60
export const LINK_SEC = 15 * 60
/** Lifetime of a link that an operator creates and hands over. */
export const OPERATOR_LINK_SEC = 60 * 60

export interface Session {
  account: { id: string; email: string; name: string | null; role: Role; plan: Plan }
}

/**
 * A one-time code for the reader of this address's mail; only its hash is stored. `newPlan`: the plan of the account
 * that the code creates for an address without one; null: it creates none. Undefined when the address has no account
 * and gets none. The page must not reveal which (web/sign-in.ts).
 */
export async function createSignInCode(
  db: Db,
  { email: given, newPlan, lifetimeSec = LINK_SEC }: { email: string; newPlan: Plan | null; lifetimeSec?: number },
): Promise<{ code: string; email: string } | undefined> {
  const email = parseEmail(given)
  if (newPlan === null && !(await findAccountByEmail(db, email))) return undefined
  const code = `fll_${randomBase62(32)}`
  await db.insert(signInLinks).values({
    hash: sha256(code),
    email,
    plan: newPlan,
    expiresAt: sql`now() + make_interval(secs => ${lifetimeSec})` as unknown as Date,
  })
  return { code, email }
}

/**
 * Redeems a code and signs in. An address without an account becomes a member if the code was made to create one. Of
 * two concurrent uses one succeeds. Undefined for a code that is unknown, used or expired.
 */
export async function redeemSignInCode(db: Db, { code }: { code: string }): Promise<{ token: string } | undefined> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ email: string; plan: Plan | null; fresh: boolean }>(
      sql`delete from sign_in_links where hash = ${sha256(code.trim().slice(0, 200))}
          returning email, plan, expires_at > now() as fresh`,
    )
    const link = rows[0]
    if (!link?.fresh) return undefined
    const account = link.plan
      ? (await ensureAccount(tx, { email: link.email, plan: link.plan })).account
      : await findAccountByEmail(tx, link.email)
    if (!account || account.disabledAt) return undefined
    const token = `fls_${randomBase62(43)}`
    await tx.insert(sessions).values({
      hash: sha256(token),
      accountId: account.id,
      expiresAt: sql`now() + make_interval(secs => ${SESSION_SEC})` as unknown as Date,
    })
    return { token }
  })
}

/** Read live: a session that was ended elsewhere is refused at the next request. */
export async function findSession(db: Db, token: string): Promise<Session | undefined> {
  const { rows } = await db.execute<Session['account']>(
    sql`select a.id, a.email, a.name, a.role, a.plan from sessions s join accounts a on a.id = s.account_id
         where s.hash = ${sha256(token.slice(0, 200))} and s.expires_at > now() and a.disabled_at is null`,
  )
  return rows[0] ? { account: rows[0] } : undefined
}

export async function endSession(db: DbOrTx, token: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.hash, sha256(token.slice(0, 200))))
}

/** Signs the account out everywhere and revokes its unused links. */
export async function endAllSessions(db: Db, account: { id: string; email: string }): Promise<void> {
  await db.transaction(async (tx) => {
    // The links first: a sign-in under way holds its link, and the session that it makes is then seen.
    await tx.delete(signInLinks).where(eq(signInLinks.email, account.email))
    await tx.delete(sessions).where(eq(sessions.accountId, account.id))
  })
}

/**
 * The CSRF token of a session's forms. It is derived, so nothing is stored, and it is useless without the cookie.
 */
export function formToken(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('form').digest('base64url')
}

export function isFormToken(sessionToken: string, given: unknown): boolean {
  if (typeof given !== 'string') return false
  const expected = Buffer.from(formToken(sessionToken))
  const actual = Buffer.from(given)
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}
