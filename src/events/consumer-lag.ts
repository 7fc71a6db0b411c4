import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'

/** How far a consumer of the log is behind its end. */
export interface ConsumerLag {
  consumer: string
  /** Events that it has not read, at most MOST_COUNTED. */
  behind: number
  /** When it last moved. */
  moved_at: string
  /** Events that it skipped after repeated failures. */
  dead: number
}

const MOST_COUNTED = 10_000

/** Every consumer, by name. */
export async function listConsumerLag(db: Db): Promise<ConsumerLag[]> {
  const { rows } = await db.execute<{ consumer: string; behind: number; moved_at: string; dead: number }>(sql`
    select c.consumer, c.updated_at as moved_at,
           (select count(*)::int from (select 1 from events e where (e.xid, e.seq) > (c.xid, c.seq)
                                        order by e.xid, e.seq limit ${MOST_COUNTED}) unread) as behind,
           (select count(*)::int from dead_events d where d.consumer = c.consumer) as dead
      from checkpoints c order by c.consumer`)
  return rows.map((row) => ({ ...row, moved_at: new Date(row.moved_at).toISOString() }))
}
