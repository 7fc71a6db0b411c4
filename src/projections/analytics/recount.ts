import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
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
 * Each day that a new event belongs to is counted again from all its events, never incremented, in the transaction that
 * moves the checkpoint. So events that come twice, any cut of the log into batches, and two runs at once give the same.
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
      const from = await checkpointOf(tx, ANALYTICS)
      const found = await findBatch(tx, from, batch)
      if (!found) return 0
      if (found.days.length > 0) await recountDays(tx, found.days)
      const { rowCount } = await tx.execute(sql`
        update checkpoints set xid = ${found.xid}::xid8, seq = ${found.seq}::bigint, updated_at = now()
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

interface Batch {
  events: number
  xid: string
  seq: string
  /** `2026-11-22`, of the events that change a figure. */
  days: string[]
}

async function findBatch(tx: Tx, from: { xid: string; seq: number }, batch: number): Promise<Batch | undefined> {
  const types = sql.param([...ANALYTICS_EVENTS])
  const { rows } = await tx.execute<{ events: number; days: string[] | null; xid: string; seq: string }>(sql`
    with batch as (
      select xid, seq, type, (time at time zone 'UTC')::date as day from events
       where (xid, seq) > (${from.xid}::xid8, ${from.seq}::bigint) and xid < event_log_horizon()
       order by xid, seq limit ${batch})
    select counts.events, counts.days, last.xid::text as xid, last.seq
      from (select count(*)::int as events,
                   (select array_agg(day::text)
                      from (select distinct day from batch where type = any(${types}::text[])) d) as days
              from batch) counts,
           (select xid, seq from batch order by batch.xid desc, seq desc limit 1) last`)
  const [row] = rows
  return row && { ...row, days: row.days ?? [] }
}

/** Counts all events of the days, also those after the batch, so that a replay never lowers a figure for a while. */
async function recountDays(tx: Tx, days: readonly string[]): Promise<void> {
  await tx.execute(sql`select set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`)
  const sorted = days.toSorted()
  const counted = sql`
    select (time at time zone 'UTC')::date as day, type, account_id, data from events
     where time >= ${sorted[0]}::timestamp at time zone 'UTC'
       and time < (${sorted.at(-1)}::date + 1)::timestamp at time zone 'UTC'
       and (time at time zone 'UTC')::date = any(${sql.param([...days])}::date[])`
  await tx.execute(writeUses(counted))
  await tx.execute(writeFigures(counted))
}
