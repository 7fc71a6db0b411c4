import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import type { Cursor } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { ANALYTICS_EVENTS, writeFigures, writeUses } from './figures.ts'

/** The name of the checkpoint. Change it with the way of counting: a new name starts at the beginning of the log. */
export const ANALYTICS = 'analytics'

/** Events per transaction. While it writes it holds back other readers of the log: about a second at this size. */
const BATCH = 200_000

interface RecountOptions {
  batch?: number
  signal?: AbortSignal
  /** Called in the transaction, after its writes. Tests kill the process there. */
  beforeCommit?: () => void
}

/**
 * Brings the figures up to date with the log; returns the number of events that were new.
 * Each day that a new event belongs to is counted again from all its events, never incremented, before the checkpoint
 * moves. So events that come twice, any cut of the log into batches, and two runs at once give the same.
 */
export async function recountAnalytics(db: Db, { signal, ...options }: RecountOptions = {}): Promise<number> {
  await db.execute(sql`insert into checkpoints (consumer) values (${ANALYTICS}) on conflict do nothing`)
  let count = 0
  while (!signal?.aborted) {
    const events = await recountBatch(db, options)
    if (events === 0) break
    count += events
  }
  return count
}

/** The checkpoint was moved meanwhile, by another run or by a replay. Nothing was written. */
class Overtaken extends Error {}

async function recountBatch(db: Db, { batch = BATCH, beforeCommit }: Omit<RecountOptions, 'signal'>): Promise<number> {
  try {
    return await db.transaction(async (tx) => {
      // No row lock, which would hold back other readers of the log while this one counts.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${ANALYTICS}, 0))`)
      await prepareCount(tx)
      const from = await checkpointOf(tx, ANALYTICS)
      const found = await findBatch(tx, from, batch)
      if (!found) return 0
      if (found.days.length > 0) await recountDays(tx, found.days)
      const { xid, seq } = found.last
      const { rowCount } = await tx.execute(sql`
        update checkpoints set xid = ${xid}::xid8, seq = ${seq}::bigint, updated_at = now()
         where consumer = ${ANALYTICS} and xid = ${from.xid}::xid8 and seq = ${from.seq}::bigint`)
      if (rowCount !== 1) throw new Overtaken('the checkpoint of the figures was moved')
      beforeCommit?.()
      return found.events
    })
  } catch (error) {
    // The next run counts from the new checkpoint.
    if (error instanceof Overtaken) return 0
    throw error
  }
}

/** Groups of a batch fit into this memory. Compiling a query would take longer than running it. */
async function prepareCount(tx: Tx): Promise<void> {
  await tx.execute(sql`select set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`)
}

interface Batch {
  events: number
  /** The position of the last event. */
  last: Cursor
  /** `2026-11-22`, of the events that change a figure, in order. */
  days: string[]
}

async function findBatch(tx: Tx, from: Cursor, batch: number): Promise<Batch | undefined> {
  const isNew = sql`(xid, seq) > (${from.xid}::xid8, ${from.seq}::bigint) and xid < event_log_horizon()`
  const { rows: ends } = await tx.execute<{ xid_text: string; seq: string }>(sql`
    (select xid::text as xid_text, seq from events where ${isNew} order by events.xid, seq offset ${batch - 1} limit 1)
    union all
    (select xid::text, seq from events where ${isNew} order by events.xid desc, seq desc limit 1)
    limit 1`)
  if (!ends[0]) return undefined
  const last = { xid: ends[0].xid_text, seq: Number(ends[0].seq) }
  const { rows } = await tx.execute<{ day: string; events: number; counts: boolean }>(sql`
    select day::text, events, counts
      from (select (time at time zone 'UTC')::date as day, count(*)::int as events,
                   bool_or(type = any(${sql.param([...ANALYTICS_EVENTS])}::text[])) as counts
              from events where (xid, seq) > (${from.xid}::xid8, ${from.seq}::bigint)
               and (xid, seq) <= (${last.xid}::xid8, ${last.seq}::bigint) group by 1) d
     order by day`)
  return {
    events: rows.reduce((sum, { events }) => sum + events, 0),
    last,
    days: rows.filter(({ counts }) => counts).map(({ day }) => day),
  }
}

/** Counts all events of the days, also those behind the batch: a replay never takes figures back for a while. */
async function recountDays(tx: Tx, days: readonly string[]): Promise<void> {
  const counted = sql`
    select (time at time zone 'UTC')::date as day, type, account_id, data from events
     where time >= ${days[0]}::timestamp at time zone 'UTC'
       and time < (${days.at(-1)}::date + 1)::timestamp at time zone 'UTC'
       and (time at time zone 'UTC')::date = any(${sql.param([...days])}::date[])`
  await tx.execute(writeUses(counted))
  await tx.execute(writeFigures(counted))
}
