import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import type { EndpointState } from '../../db/schema/webhooks.ts'
import type { StoredEvent } from '../../events/catalogue.ts'
import { readEventsById } from '../../events/read.ts'
import { openCipher, type SecretsKeys } from '../../webhooks/secrets.ts'

/** The right to send to one endpoint. It ends when another process raises the epoch. */
export interface Lease {
  endpointId: string
  epoch: number
}

/** Another process may take a lease that was not renewed for this long. */
export const LEASE_SEC = 30

/** Leases endpoints with due deliveries that no process holds. */
export async function claimEndpoints(db: Db, now: Date): Promise<Lease[]> {
  const { rows } = await db.execute<{ id: string; epoch: string }>(sql`
    update webhook_endpoints
       set lease_epoch = lease_epoch + 1, lease_until = now() + make_interval(secs => ${LEASE_SEC})
     where id in (
       select id from webhook_endpoints e
        where (lease_until is null or lease_until < now())
          and exists (select from webhook_deliveries d
                       where d.endpoint_id = e.id and d.state = 'waiting' and d.next_at <= ${at(now)}
                         and (d.test is not null
                              or (e.state = 'active' and (e.held_until is null or e.held_until <= ${at(now)}))))
        for update skip locked)
    returning id, lease_epoch as epoch`)
  return rows.map(({ id, epoch }) => ({ endpointId: id, epoch: Number(epoch) }))
}

/** Renews leases. Returns the leases that are still held: neither taken by another process nor given back. */
export async function renewLeases(db: Db, leases: readonly Lease[]): Promise<Lease[]> {
  const { rows } = await db.execute<{ id: string; epoch: string }>(sql`
    update webhook_endpoints set lease_until = now() + make_interval(secs => ${LEASE_SEC})
     where (id, lease_epoch) in (select * from ${listOf(leases)}) and lease_until is not null
    returning id, lease_epoch as epoch`)
  return rows.map(({ id, epoch }) => ({ endpointId: id, epoch: Number(epoch) }))
}

export async function releaseLease(db: Db, lease: Lease): Promise<void> {
  await db.execute(sql`
    update webhook_endpoints set lease_until = null where (id, lease_epoch) in (select * from ${listOf([lease])})`)
}

function listOf(leases: readonly Lease[]) {
  return sql`unnest(${sql.param(leases.map(({ endpointId }) => endpointId))}::text[],
                    ${sql.param(leases.map(({ epoch }) => epoch))}::bigint[])`
}

export interface DueDelivery {
  id: number
  eventId: string
  round: number
  tries: number
  type: string
  /** Set for a test event. */
  test: { time: string; cursor?: string; data: { endpoint_id: string } } | null
  /** Null for a test event. */
  event: StoredEvent | null
}

/** The endpoint as it is now, and its due deliveries. */
export interface DuePage {
  url: string
  /** The secrets that sign: during the overlap the old one too. */
  secrets: string[]
  state: EndpointState
  /** Failed attempts since the last success. */
  failures: number
  /** Changes with the endpoint's settings. */
  revision: string
  deliveries: DueDelivery[]
}

/** The columns of the delivery are null when none is due. */
type DueRow = Omit<DuePage, 'secrets' | 'deliveries'> &
  Omit<DueDelivery, 'id' | 'event'> & { id: string | null; secret: string; old_secret: string | null }

/**
 * Undefined when the lease has ended or the endpoint is deleted. `except`: deliveries in flight.
 * @throws UndecryptableSecret
 */
export async function loadDue(
  db: Db,
  { endpointId, epoch }: Lease,
  options: { now: Date; except: readonly number[]; limit: number; secretsKeys: SecretsKeys },
): Promise<DuePage | undefined> {
  const { now, except, limit } = options
  const { rows } = await db.execute<DueRow>(sql`
    select e.url, e.secret, e.state, e.failures, e.updated_at::text as revision,
           case when e.old_secret_until > ${at(now)} then e.old_secret end as old_secret,
           d.id, d.event_id as "eventId", d.round, d.tries, d.type, d.test
      from webhook_endpoints e
      left join lateral (
        select * from webhook_deliveries d
         where d.endpoint_id = e.id and d.state = 'waiting' and d.next_at <= ${at(now)}
           and d.id <> all(${sql.param([...except])}::bigint[])
           and (d.test is not null
                or (e.state = 'active' and (e.held_until is null or e.held_until <= ${at(now)})))
         order by d.next_at, d.id limit ${limit}) d on true
     where e.id = ${endpointId} and e.lease_epoch = ${epoch}
     order by d.next_at, d.id`)
  const [first] = rows
  if (!first) return undefined
  const cipher = openCipher(options.secretsKeys)
  const due = rows.filter(({ id }) => id !== null)
  const ids = due.flatMap(({ test, eventId }) => (test === null ? [eventId] : []))
  const events = ids.length > 0 ? await readEventsById(db, ids) : []
  const byId = new Map(events.map((event) => [event.id, event]))
  const { url, secret, old_secret, state, failures, revision } = first
  return {
    url,
    secrets: [secret, old_secret].flatMap((one) => (one === null ? [] : [cipher.decrypt(one, endpointId)])),
    state,
    failures,
    revision,
    deliveries: due.map(({ id, eventId, round, tries, type, test }) => {
      return { id: Number(id), eventId, round, tries, type, test, event: byId.get(eventId) ?? null }
    }),
  }
}

const at = (time: Date) => sql`${time.toISOString()}::timestamptz`

/** The consumer of the log that writes deliveries. Its checkpoint is the position of every endpoint that follows. */
export const WEBHOOKS = 'webhooks'

/**
 * From here on the consumer writes nothing for the endpoint, which keeps its position. The caller has locked the
 * endpoint. The consumer locks it too, so the checkpoint read here covers exactly what it wrote.
 */
export async function stopFollowing(tx: Tx, endpointId: string): Promise<void> {
  await tx.execute(sql`
    update webhook_endpoints e set xid = c.xid, seq = c.seq from checkpoints c
     where e.id = ${endpointId} and e.following and c.consumer = ${WEBHOOKS} and (c.xid, c.seq) > (e.xid, e.seq)`)
  await tx.execute(sql`update webhook_endpoints set following = false where id = ${endpointId}`)
}
