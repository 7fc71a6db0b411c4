import { createHmac, timingSafeEqual } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { type Plan, type Role, sessions, signInLinks } from '../../db/schema/accounts.ts'
import { randomBase62, sha256 } from '../ids.ts'
import { ensureAccount, findAccountByEmail, parseEmail } from './accounts.ts'

/** How long somebody stays signed in, counted from the sign-in. */
export const SESSION_SEC = 30 * 24 * 60 * 60
/** How long an e-mailed link may be used. */
export const LINK_SEC = 15 * 60
/** How long a link made by an operator may be used: it is handed over by hand. */
export const OPERATOR_LINK_SEC = 60 * 60

export interface Session {
  account: { id: string; email: string; role: Role; plan: Plan }
}

/**
 * A one-time code for whoever reads the mail of this address; only its hash is kept. Undefined when the address has no account and may not get one.
 * The look of the answer must not tell a stranger which: see web/sign-in.ts.
 */
export async function createSignInCode(
  db: Db,
  { email: given, signup, lifetimeSec = LINK_SEC }: { email: string; signup: boolean; lifetimeSec?: number },
): Promise<{ code: string; email: string } | undefined> {
  const email = parseEmail(given)
  if (!signup && !(await findAccountByEmail(db, email))) return undefined
  const code = `fll_${randomBase62(32)}`
  await db.insert(signInLinks).values({
    hash: sha256(code),
    email,
    expiresAt: sql`now() + make_interval(secs => ${lifetimeSec})` as unknown as Date,
  })
  return { code, email }
}

/**
 * Uses a code up and signs in; an address without an account becomes a free member where that is allowed. Of two uses at once one wins; undefined for a code
 * that is unknown, used or too old.
 */
export async function redeemSignInCode(
  db: Db,
  { code, signup }: { code: string; signup: boolean },
): Promise<{ token: string } | undefined> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ email: string; fresh: boolean }>(
      sql`delete from sign_in_links where hash = ${sha256(code.trim().slice(0, 200))} returning email, expires_at > now() as fresh`,
    )
    const link = rows[0]
    if (!link?.fresh) return undefined
    const account = signup
      ? (await ensureAccount(tx, { email: link.email })).account
      : await findAccountByEmail(tx, link.email)
    if (!account) return undefined
    const token = `fls_${randomBase62(43)}`
    await tx.insert(sessions).values({
      hash: sha256(token),
      accountId: account.id,
      expiresAt: sql`now() + make_interval(secs => ${SESSION_SEC})` as unknown as Date,
    })
    return { token }
  })
}

/** Read live: a session ended elsewhere is over at the next request. */
export async function findSession(db: Db, token: string): Promise<Session | undefined> {
  const { rows } = await db.execute<{ id: string; email: string; role: Role; plan: Plan }>(
    sql`select a.id, a.email, a.role, a.plan from sessions s join accounts a on a.id = s.account_id
         where s.hash = ${sha256(token.slice(0, 200))} and s.expires_at > now()`,
  )
  return rows[0] ? { account: rows[0] } : undefined
}

export async function endSession(db: DbOrTx, token: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.hash, sha256(token.slice(0, 200))))
}

/** Signs the account out everywhere; links that are still under way die too. */
export async function endAllSessions(db: Db, account: { id: string; email: string }): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.delete(sessions).where(eq(sessions.accountId, account.id))
    await tx.delete(signInLinks).where(eq(signInLinks.email, account.email))
  })
}

/** What a form of this session carries to show that our page made it. Derived, so that nothing is stored; useless without the cookie. */
export function formToken(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('form').digest('base64url')
}

export function isFormToken(sessionToken: string, given: unknown): boolean {
  if (typeof given !== 'string') return false
  const expected = Buffer.from(formToken(sessionToken))
  const actual = Buffer.from(given)
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}
