import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../db/client.ts'
import type { Cursor, EventType, StoredEvent } from './catalogue.ts'

interface Row extends Record<string, unknown> {
  seq: string
  // Not named xid: ORDER BY would use the text column and sort 10 before 9.
  xid_text: string
  id: string
  type: EventType
  version: number
  subject: string
  account_id: string | null
  data: Record<string, unknown>
  time: string
}

/**
 * The next events after `after`, oldest first, in commit-safe order. Only transactions older than every open one are
 * read, so no event can appear behind a cursor later. (`seq > last` alone misses the events of slow transactions.)
 * `next` is the cursor to continue from: the last event's, or `after` when there is none.
 */
export async function readEvents(
  db: DbOrTx,
  { after, types, limit }: { after: Cursor; types?: readonly EventType[] | undefined; limit: number },
): Promise<{ events: StoredEvent[]; next: Cursor }> {
  const { rows } = await db.execute<Row>(sql`
    select seq, xid::text as xid_text, id, type, version, subject, account_id, data, time
      from events
     where (xid, seq) > (${after.xid}::xid8, ${after.seq}::bigint)
       and xid < pg_snapshot_xmin(pg_current_snapshot())
       ${
         types
           ? sql`and type in (${sql.join(
               types.map((type) => sql`${type}`),
               sql`, `,
             )})`
           : sql``
       }
     order by xid, seq
     limit ${limit}`)
  const events = rows.map(toStored)
  return { events, next: events.at(-1)?.cursor ?? after }
}

/**
 * Events that no reader may see yet, because an older transaction is open in some database of the PostgreSQL server.
 * Usually there are none, or they are milliseconds old. `since` is the time of the oldest.
 */
export async function findHeldBack(db: DbOrTx): Promise<{ events: number; since: Date } | null> {
  const { rows } = await db.execute<{ n: number; since: Date | string | null }>(
    sql`select count(*)::int as n, min(time) as since from events
         where xid >= pg_snapshot_xmin(pg_current_snapshot())`,
  )
  const { n, since } = rows[0]!
  return since === null ? null : { events: n, since: new Date(since) }
}

function toStored(row: Row): StoredEvent {
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    subject: row.subject,
    accountId: row.account_id,
    data: row.data,
    time: new Date(row.time),
    cursor: { xid: row.xid_text, seq: Number(row.seq) },
  }
}
