import type { Db, DbOrTx } from '../db/client.ts'
import { type SQL, sql } from '../sql/orm.ts'

/** The right to send to one endpoint, until another process takes it. Its id is that of one lane. */
export interface Lease {
  endpointId: string
  lease: string
}

/** Another process may take a lease that was not renewed for this long. */
export const LEASE_SEC = 30
const UNTIL = sql.raw(`now() + interval '${LEASE_SEC} seconds'`)
const IS_FREE = sql`(e.lease_until is null or e.lease_until < now())`

/** Of the events `v` that an endpoint `e` gets and that its checkpoint has not passed. */
export function ofUnread(query: (isUnread: SQL) => SQL): SQL {
  const isBehind = sql`(v.xid, v.seq) > (e.xid, e.seq)`
  // Two queries, so that each can use its index of the log.
  return sql`case when e.types is null then ${query(isBehind)}
                  else ${query(sql`${isBehind} and v.type = any(e.types)`)} end`
}

/** Leases endpoints that have something to be sent, and that no process holds. */
export async function claimEndpoints(db: Db, now: Date): Promise<Lease[]> {
  const due = (more: SQL) => sql`exists (
    select from webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting'
       and d.next_at <= ${now.toISOString()}::timestamptz ${more})`
  const sends = sql`e.state = 'active' and (e.held_until is null or e.held_until <= ${now.toISOString()}::timestamptz)`
  const unread = ofUnread(
    (isUnread) => sql`exists (select from events v where ${isUnread} and v.xid < event_log_horizon())`,
  )
  const { rows } = await db.execute<{ id: string; lease: string }>(sql`
    update webhook_endpoints set lease = gen_random_uuid(), lease_until = ${UNTIL}
     where id in (
       select id from webhook_endpoints e
        where ${IS_FREE}
          and (${due(sql`and d.test is not null`)} or (${sends} and (${due(sql``)} or ${unread})))
        for update skip locked)
    returning id, lease`)
  return rows.map(({ id, lease }) => ({ endpointId: id, lease }))
}

/** Renews those that are still held: neither taken by another process nor given back. */
export async function renewLeases(db: Db, leases: readonly string[]): Promise<void> {
  await db.execute(sql`
    update webhook_endpoints set lease_until = ${UNTIL} where lease = any(${sql.param([...leases])}::uuid[])`)
}

export async function releaseLease(db: Db, lease: string): Promise<void> {
  await db.execute(sql`update webhook_endpoints set lease = null, lease_until = null where lease = ${lease}`)
}

/**
 * Moves the checkpoint of active endpoints, or of one, that no process sends to past events of other types. The next
 * look for events then need not read those again. One with unread events stays where it is.
 */
export async function passOtherTypes(db: DbOrTx, endpointId: string | null = null): Promise<void> {
  const unread = ofUnread(
    (isUnread) => sql`exists (select from events v
    where ${isUnread} and (v.xid, v.seq) <= (last.xid, last.seq))`,
  )
  await db.execute(sql`
    update webhook_endpoints e set xid = last.xid, seq = last.seq
      from (select xid, seq from events where xid < event_log_horizon() order by events.xid desc, seq desc limit 1) last
     where e.state = 'active' and ${IS_FREE} and (last.xid, last.seq) > (e.xid, e.seq) and not ${unread}
       and (${endpointId}::text is null or e.id = ${endpointId})`)
}
