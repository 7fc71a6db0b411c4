import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { EndpointState } from '../../db/schema/webhooks.ts'
import { TELL_AFTER } from '../../webhooks/schedule.ts'

/** A failing endpoint whose owner must be notified. */
export interface Trouble {
  id: string
  host: string
  /** The owner's address for the notice; null when there is none that receives mail. */
  to: string | null
  since: Date
  failures: number
  /** After the first day, after the third day, at the pause. */
  stage: 'first' | 'second' | 'paused'
}

const STAGES = ['first', 'second', 'paused'] as const

interface TroubleRow extends Record<string, unknown> {
  id: string
  url: string
  state: EndpointState
  told: number
  failing_since: string
  failures: number
  email: string | null
}

export async function troubledEndpoints(db: Db, now: Date): Promise<Trouble[]> {
  const { rows } = await db.execute<TroubleRow>(sql`
    select e.id, e.url, e.state, e.told, e.failing_since, e.failures, coalesce(e.email, a.email) as email
      from webhook_endpoints e left join accounts a on a.id = e.account_id
     where e.failing_since is not null and e.told < ${STAGES.length}
       and (e.state = 'active' or e.paused_because = 'failures')
     order by e.id`)
  return rows.flatMap((row) => {
    const since = new Date(row.failing_since)
    const active = row.state === 'active'
    const reached = active ? TELL_AFTER.filter((ms) => now.getTime() - since.getTime() >= ms).length : STAGES.length
    if (reached <= row.told) return []
    return [
      {
        id: row.id,
        host: new URL(row.url).host,
        to: toMailbox(row.email),
        since,
        failures: row.failures,
        stage: STAGES[reached - 1]!,
      },
    ]
  })
}

/** The account of the first start has no mailbox. */
function toMailbox(email: string | null): string | null {
  return email === null || email.endsWith('@localhost') ? null : email
}

/** Records that the owner was notified. Has no effect when the endpoint has had a success since. */
export async function markTold(db: Db, { id, since, stage }: Trouble): Promise<void> {
  await db.execute(sql`
    update webhook_endpoints set told = ${STAGES.indexOf(stage) + 1}
     where id = ${id} and failing_since = ${since.toISOString()}::timestamptz`)
}
