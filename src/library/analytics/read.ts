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

/** The time of the last event that is counted; null before the first. */
export async function countedThrough(db: DbOrTx): Promise<string | null> {
  const { rows } = await db.execute<{ time: Date | string }>(sql`
    select e.time from checkpoints c join events e on e.xid = c.xid and e.seq = c.seq where c.consumer = 'analytics'`)
  return rows[0] ? new Date(rows[0].time).toISOString() : null
}

const daysOf = (from: string, to: string): SQL =>
  sql`generate_series(${from}::date::timestamp, ${to}::date::timestamp, interval '1 day')`

const toNumber = (amount: string | null): number | null => (amount === null ? null : Number(amount))
