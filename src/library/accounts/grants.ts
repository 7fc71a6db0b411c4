import { and, desc, eq, sql } from 'drizzle-orm'
import { type Db, type DbOrTx, inTransactionOf } from '../../db/client.ts'
import { grants } from '../../db/schema/oauth.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { isId, randomId } from '../ids.ts'
import { type AuthenticationRow, type Caller, type Scope, toCaller } from './keys.ts'

/** An app that acts for an account. */
export interface Grant {
  id: string
  clientId: string
  clientName: string
  returnsTo: string
  scopes: readonly Scope[]
  createdAt: Date
  lastUsedAt: Date | null
}

/** Apps that may act for one account. */
const MAX_GRANTS = 100

/** Records a consent. The authorization server ties its tokens to the id. @throws AppError conflict at MAX_GRANTS */
export async function createGrant(
  db: Db,
  given: { accountId: string; clientId: string; clientName: string; returnsTo: string; scopes: readonly Scope[] },
): Promise<string> {
  const id = randomId()
  const { accountId, clientName, returnsTo, scopes } = given
  await inTransactionOf(accountId, db, async (tx) => {
    // One consent at a time, so that counting is safe.
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
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
 * used twice or was asked by the app. @throws AppError not_found where it has ended.
 */
export async function revokeGrant(
  db: Db,
  { id, accountId, by }: { id: string; accountId?: string; by: 'owner' | 'server' },
): Promise<void> {
  if (!isId(id)) throw notFound('app')
  await db.transaction(async (tx) => {
    const owned = accountId === undefined ? undefined : eq(grants.accountId, accountId)
    const [gone] = await tx
      .delete(grants)
      .where(and(eq(grants.id, id), owned))
      .returning()
    if (!gone) throw notFound('app')
    const data = { grant_id: id, client: gone.clientName, by }
    await appendEvent(tx, { type: 'grant.revoked', subject: id, accountId: gone.accountId, data })
  })
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
export async function lookUpTokens(
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
