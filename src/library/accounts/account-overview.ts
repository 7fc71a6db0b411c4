import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { Role } from '../../db/schema/accounts.ts'
import type { Plan } from '../../vocabulary.ts'

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
           (select count(*)::int from api_keys k where k.account_id = a.id
             and (k.revoked_at is null or k.revoked_at > now())
             and (k.expires_at is null or k.expires_at > now())) as keys,
           (select max(last_used_at) from api_keys k where k.account_id = a.id) as last_used_at,
           (select count(*)::int from saves where account_id = a.id) as saves,
           (select count(*)::int from boards where account_id = a.id) as boards
      from accounts a where a.email like ${pattern} order by a.created_at desc, a.id limit ${limit} offset ${skip}`)
  const { rows: counts } = await db.execute<{ n: number }>(
    sql`select count(*)::int as n from accounts where email like ${pattern}`,
  )
  return { accounts: rows, total: counts[0]!.n }
}
