import type { Db, Tx } from '../db/client.ts'
import type { Cursor, EventType } from '../events/catalogue.ts'
import { beginCheckpoint, checkpointOf, moveCheckpoint } from '../events/consume.ts'
import { type SQL, sql } from '../sql/orm.ts'

/** The name of the checkpoint. A new name counts from the beginning of the log, where another way must reach back. */
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
  await beginCheckpoint(db, ANALYTICS)
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
      const after = await checkpointOf(tx, ANALYTICS)
      const found = await findBatch(tx, after, batch)
      if (!found) return 0
      if (found.days.length > 0) await recountDays(tx, found.days)
      const isMoved = await moveCheckpoint(tx, ANALYTICS, { after, next: found.last })
      if (!isMoved) throw new Overtaken('the checkpoint of the figures was moved')
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

/** The figure that each type of event counts towards. */
const COUNTED = {
  'board.created': 'boards_created',
  'board.deleted': 'boards_deleted',
  'video.submitted': 'videos_queued',
  'video.ready': 'videos_ready',
  'video.failed': 'videos_failed',
  'video.cancelled': 'videos_cancelled',
} as const satisfies Partial<Record<EventType, string>>

const USES = {
  'frame.saved': 'saves',
  'frame.unsaved': 'unsaves',
  'board.frame_pinned': 'pins',
  'board.frame_unpinned': 'unpins',
} as const satisfies Partial<Record<EventType, string>>

/** Changes that an account makes in its own collection. It was active on that day. */
const ACTS = [
  'frame.saved',
  'frame.unsaved',
  'board.created',
  'board.renamed',
  'board.described',
  'board.deleted',
  'board.frame_pinned',
  'board.frame_unpinned',
  'board.frame_moved',
  'board.frame_noted',
  'board.cover_chosen',
  'board.shared',
  'board.unshared',
] as const satisfies readonly EventType[]

/** Others may act for an account: an operator ends a share, a deletion ends saves and shares. */
const BY_OWNER = sql`coalesce(data->>'cause', data->>'ended_by', 'owner') = 'owner'`

/** Event types that are rare compared with saves and pins: their events are read once and kept. */
const RARE = [...Object.keys(COUNTED), 'model.called', 'searches.counted']

/** Events that change a figure. */
const ANALYTICS_EVENTS: readonly EventType[] = [...new Set<EventType>([...ACTS, ...(RARE as EventType[])])]

/**
 * Writes saves and pins of the days from `counted`, by every dimension of the events. Writes only changed rows, because
 * the current day is counted again and again. No row is ever deleted: the log only grows. One sort, byte by byte, gives
 * both the groups and the order of the arrays. Frames are not grouped again, because events rarely differ in a frame's
 * facts.
 */
function writeUses(counted: SQL): SQL {
  const tally = (type: string) => sql`(count(*) filter (where type = ${sql.raw(`'${type}'`)}))::int`
  const [saved, unsaved, pinned, unpinned] = Object.keys(USES).map(tally)
  const counts = sql`array_agg(saves), array_agg(unsaves), array_agg(pins), array_agg(unpins)`
  return sql`
    with uses as materialized (
      select day, frame, video, brand, technique, subject,
             ${saved} as saves, ${unsaved} as unsaves, ${pinned} as pins, ${unpinned} as unpins
        from (select day, type, (data->>'frame_id') collate "C" as frame, (data->>'video_id') collate "C" as video,
                     nullif(data->>'author', '') collate "C" as brand, (data->>'technique') collate "C" as technique,
                     (data->>'subject') collate "C" as subject
                from (${counted}) c where type in ${listOf(Object.keys(USES))}
               order by day, frame, video, brand, technique, subject) e
       group by day, frame, video, brand, technique, subject)
    insert into analytics_uses (day, dimension, keys, saves, unsaves, pins, unpins)
    select day, 'frame', array_agg(frame), ${counts}
      from (select * from uses order by day, frame, video, brand, technique, subject) f group by day
    union all
    select day,
           case named when 7 then 'video' when 11 then 'brand' when 13 then 'technique' when 14 then 'subject'
                      else 'all' end,
           array_agg(key), ${counts}
      from (select day, grouping(video, brand, technique, subject) as named,
                   coalesce(video, brand, technique, subject, '') as key, sum(saves)::int as saves,
                   sum(unsaves)::int as unsaves, sum(pins)::int as pins, sum(unpins)::int as unpins
              from uses
             group by grouping sets ((day), (day, video), (day, brand), (day, technique), (day, subject))
             order by named, day, key) k
     group by named, day
    on conflict (dimension, day) do update
       set keys = excluded.keys, saves = excluded.saves, unsaves = excluded.unsaves, pins = excluded.pins,
           unpins = excluded.unpins
     where (analytics_uses.keys, analytics_uses.saves, analytics_uses.unsaves, analytics_uses.pins,
            analytics_uses.unpins)
           is distinct from (excluded.keys, excluded.saves, excluded.unsaves, excluded.pins, excluded.unpins)`
}

/** Writes everything else of the days from `counted`. Amounts are decimals, whose sum has no order. */
function writeFigures(counted: SQL): SQL {
  const figureOf = Object.entries(COUNTED).map(([type, figure]) => `when '${type}' then '${figure}'`)
  return sql`
    with e as (select * from (${counted}) e where type in ${listOf(RARE)})
    insert into analytics_figures (day, figure, key, count, amount)
    select day, case type ${sql.raw(figureOf.join(' '))} end,
           case when type = 'video.failed' then data->>'code' else '' end, count(*), null::numeric
      from e where type in ${listOf(Object.keys(COUNTED))} group by 1, 2, 3
    union all
    select day, 'active_accounts', '', count(*), null::numeric
      from (select distinct day, account_id from (${counted}) e
             where type in ${listOf(ACTS)} and account_id is not null and ${BY_OWNER}) a
     group by day
    union all
    select day, 'stages', s->>'stage', count(*), sum((s->>'seconds')::numeric)
      from e, jsonb_array_elements(data->'stages') s where type in ('video.ready', 'video.failed') group by 1, 2, 3
    union all
    select day, 'model_calls', data->>'model', count(*), sum((data->>'cost_usd')::numeric)
      from e where type = 'model.called' group by 1, 2, 3
    union all
    select day, t->>'kind', coalesce(t->>'term', ''), sum((t->>'count')::bigint), null::numeric
      from e, jsonb_array_elements(data->'terms') t where type = 'searches.counted' group by 1, 2, 3
    union all
    select day, 'searches_' || c.key, a->>'asker', sum(c.value::bigint), null::numeric
      from e, jsonb_array_elements(data->'askers') a, jsonb_each_text(a - 'asker') c
     where type = 'searches.counted' group by 1, 2, 3 having sum(c.value::bigint) > 0
    on conflict (figure, day, key) do update set count = excluded.count, amount = excluded.amount
     where (analytics_figures.count, analytics_figures.amount) is distinct from (excluded.count, excluded.amount)`
}

const listOf = (types: readonly string[]): SQL => sql.raw(`(${types.map((type) => `'${type}'`).join(', ')})`)
