import { type SQL, sql } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'

/** The figures that the analytics projection has counted. Days are in UTC; `from` and `to` both belong to the range. */
export interface FigureRange {
  /** `2026-11-22` */
  from: string
  to: string
  limit: number
}

/** A day, an id, a name or a slug. Null where the events name none. */
type Keyed = { key: string | null }

export type UseRow = Keyed & { saves: number; unsaves: number; pins: number; unpins: number }

export type UseDimension = 'frame' | 'video' | 'brand' | 'technique' | 'subject'

/** Saves and pins: every day of the range in order, or the keys with the most saves and pins first. */
export async function readUses(
  db: DbOrTx,
  by: 'day' | UseDimension,
  { from, to, limit }: FigureRange,
): Promise<UseRow[]> {
  const columns = ['saves', 'unsaves', 'pins', 'unpins'] as const
  const arrays = sql.raw(columns.map((name) => `a.${name}`).join(', '))
  const { rows } = await db.execute<UseRow>(
    by === 'day'
      ? sql`
    select d::date::text as key, ${sql.raw(columns.map((name) => `coalesce(${name}[1], 0) as ${name}`).join(', '))}
      from ${daysOf(from, to)} d left join analytics_uses on dimension = 'all' and day = d::date order by 1`
      : sql`
    select nullif(key, '') as key, ${sql.raw(columns.map((name) => `sum(u.${name})::int as ${name}`).join(', '))}
      from analytics_uses a, unnest(a.keys, ${arrays}) u (key, ${sql.raw(columns.join(', '))})
     where dimension = ${by} and day between ${from}::date and ${to}::date
     group by u.key
     order by sum(u.saves) + sum(u.pins) desc, sum(u.saves) desc, u.key limit ${limit}`,
  )
  return rows
}

/** Figures by name, each summed over its keys: every day of the range in order. */
export async function readFiguresByDay(
  db: DbOrTx,
  figures: readonly string[],
  { from, to }: Omit<FigureRange, 'limit'>,
): Promise<(Keyed & { figure: string; count: number; amount: number | null })[]> {
  const { rows } = await db.execute<Keyed & { figure: string; count: string; amount: string | null }>(sql`
    select d::date::text as key, f.figure, coalesce(sum(count), 0) as count, sum(amount) as amount
      from ${daysOf(from, to)} d cross join unnest(${sql.param([...figures])}::text[]) with ordinality f (figure, at)
      left join analytics_figures a on a.figure = f.figure and a.day = d::date
     group by d, f.figure, f.at order by d, f.at`)
  return rows.map((row) => ({ ...row, count: Number(row.count), amount: toNumber(row.amount) }))
}

/** One figure by its keys, the greatest first. */
export async function readFigureByKey(
  db: DbOrTx,
  figure: string,
  { from, to, limit }: FigureRange,
): Promise<(Keyed & { count: number; amount: number | null })[]> {
  const { rows } = await db.execute<Keyed & { count: string; amount: string | null }>(sql`
    select nullif(key, '') as key, sum(count) as count, sum(amount) as amount
      from analytics_figures where figure = ${figure} and day between ${from}::date and ${to}::date
     group by analytics_figures.key order by sum(count) desc, analytics_figures.key limit ${limit}`)
  return rows.map((row) => ({ ...row, count: Number(row.count), amount: toNumber(row.amount) }))
}

/**
 * Every event before this time is counted; null before the first. Ask before the figures are read: they may only be
 * newer. `lateMs`: how much later than what they tell of such events are written.
 */
export async function countedThrough(db: DbOrTx, lateMs = 0): Promise<string | null> {
  // First: what an open transaction still writes has the time of its start.
  const { rows: open } = await db.execute<{ since: string | null }>(sql`
    select min(xact_start) as since from pg_stat_activity
     where backend_xid is not null and datname = current_database()`)
  const { rows } = await db.execute<{ last: string; next: string | null; now: string }>(sql`
    select e.time as last, clock_timestamp() as now,
           (select min(time) from events where (xid, seq) > (c.xid, c.seq)) as next
      from checkpoints c join events e on e.xid = c.xid and e.seq = c.seq where c.consumer = 'analytics'`)
  if (!rows[0]) return null
  const { last, next, now } = rows[0]
  const times = [lateMs > 0 ? now : last, next, open[0]?.since ?? null].filter((time) => time !== null)
  return new Date(Math.min(...times.map((time) => Date.parse(time))) - lateMs).toISOString()
}

const daysOf = (from: string, to: string): SQL =>
  sql`generate_series(${from}::date::timestamp, ${to}::date::timestamp, interval '1 day')`

const toNumber = (amount: string | null): number | null => (amount === null ? null : Number(amount))
