import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { type Cursor, formatCursor, isLater } from './catalogue.ts'

/**
 * Consumers whose effects outside must not happen twice, with what to do instead. The others write what the rows and
 * events say, however often they see them.
 */
const NOT_REPLAYED: ReadonlyMap<string, string> = new Map([
  ['webhooks', 'Send a range again with POST /api/webhooks/{id}/resend.'],
])

/**
 * Moves a consumer's checkpoint back, so that it handles the events behind `from` again. A batch that it is handling
 * does not count. Returns the number of events up to where it was.
 * @throws AppError invalid_request for an unknown consumer, and for a position that it has not reached
 */
export async function replay(
  db: Db,
  { consumer, from }: { consumer: string; from: Cursor },
): Promise<{ was: Cursor; events: number }> {
  const instead = NOT_REPLAYED.get(consumer)
  if (instead !== undefined) throw invalid('consumer', `consumer: ${consumer} would send everything again. ${instead}`)
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ consumer: string; xid: string; seq: string }>(
      sql`select consumer, xid::text as xid, seq from checkpoints order by consumer for update`,
    )
    const known = rows.map((row) => row.consumer).filter((name) => !NOT_REPLAYED.has(name))
    const found = rows.find((row) => row.consumer === consumer)
    if (!found)
      throw invalid(
        'consumer',
        `consumer: there is no ${consumer}. Use one of ${known.join(', ') || 'none yet'}.`,
        known,
      )
    const was = { xid: found.xid, seq: Number(found.seq) }
    if (isLater(from, was))
      throw invalid(
        'from',
        `from: ${consumer} is only at ${formatCursor(was)}. Going forward would skip events. Give an earlier place.`,
      )
    await tx.execute(sql`
      update checkpoints set xid = ${from.xid}::xid8, seq = ${from.seq}::bigint, updated_at = now()
       where consumer = ${consumer}`)
    const { rows: counted } = await tx.execute<{ n: string }>(sql`
      select count(*) as n from events where (xid, seq) > (${from.xid}::xid8, ${from.seq}::bigint)
         and (xid, seq) <= (${was.xid}::xid8, ${was.seq}::bigint)`)
    await tx.execute(sql`select pg_notify('events', '')`)
    return { was, events: Number(counted[0]!.n) }
  })
}
