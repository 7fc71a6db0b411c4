import { z } from 'zod'
import type { DbOrTx } from '../../db/client.ts'
import { type SQL, sql } from '../../sql/orm.ts'
import { SEARCHES_WRITTEN_EVERY_MS } from '../search-counts.ts'

/** One row: its key (a day, or a value of `by`; null where the events name none) and its figures. */
export interface FigureRow {
  [column: string]: string | number | null
  key: string | null
}

/** A table of figures: the dimensions it can be split by, its columns, and its reader. */
export interface Figure {
  summary: string
  /** How much later than what they tell of its events are written. */
  lateMs?: number
  /** The first is the default. */
  by: readonly [string, ...string[]]
  columns: Record<string, z.ZodType<number | null>>
  read(db: DbOrTx, by: string, range: FigureRange): Promise<FigureRow[]>
}

const whole = z.int().min(0)
const seconds = z.number().min(0)

/** The public tables of figures by name. */
export const FIGURES = {
  saves: {
    summary: 'Saves and pins by day, frame, video, brand, technique or subject',
    by: ['day', 'frame', 'video', 'brand', 'technique', 'subject'],
    columns: { saves: whole, unsaves: whole, pins: whole, unpins: whole },
    read: (db, by, range) => readUses(db, by as 'day' | UseDimension, range),
  },
  activity: {
    summary: 'Active accounts and boards by day',
    by: ['day'],
    columns: { active_accounts: whole, boards_created: whole, boards_deleted: whole },
    read: (db, _by, range) => readDays(db, ['active_accounts', 'boards_created', 'boards_deleted'], range),
  },
  videos: {
    summary: 'Videos queued, ready, failed and cancelled by day; failures by their code',
    by: ['day', 'failure'],
    columns: {
      queued: whole.nullable(),
      ready: whole.nullable(),
      failed: whole,
      cancelled: whole.nullable(),
    },
    async read(db, by, range) {
      if (by === 'day') {
        const names = ['videos_queued', 'videos_ready', 'videos_failed', 'videos_cancelled']
        return readDays(db, names, range, (name) => name.replace('videos_', ''))
      }
      const rows = await readFigureByKey(db, 'videos_failed', range)
      return rows.map(({ key, count }) => ({ key, queued: null, ready: null, failed: count, cancelled: null }))
    },
  },
  stages: {
    summary: 'The time that videos took, by stage or day',
    by: ['stage', 'day'],
    columns: {
      videos: whole.describe('Videos that ended this stage; by day, the stages that ended.'),
      seconds,
      seconds_mean: seconds.nullable().describe('Null without videos.'),
    },
    async read(db, by, range) {
      const rows = await readOne(db, 'stages', by, range)
      return rows.map(({ key, count, amount }) => {
        const total = amount ?? 0
        return {
          key,
          videos: count,
          seconds: thousandth(total),
          seconds_mean: count ? thousandth(total / count) : null,
        }
      })
    },
  },
  model: {
    summary: 'Calls of vision and text models and their cost, by day or model',
    by: ['day', 'model'],
    columns: { calls: whole, cost_usd: z.number().nullable().describe('Null where no call had a price.') },
    async read(db, by, range) {
      const rows = await readOne(db, 'model_calls', by, range)
      return rows.map(({ key, count, amount }) => ({ key, calls: count, cost_usd: amount }))
    },
  },
  searches: {
    summary: 'Searches in words: all, those that found nothing, and those whose best frame lacked a word',
    lateMs: SEARCHES_WRITTEN_EVERY_MS,
    by: ['term', 'day', 'asker'],
    columns: {
      searches: whole.nullable().describe('All of them. Null by term: only terms of the other two are kept.'),
      unanswered: whole,
      weak: whole,
    },
    async read(db, by, range) {
      if (by === 'term') {
        const rows = await readFiguresByKey(db, ['unanswered', 'weak'], range)
        return rows.map((row) => ({ searches: null, ...row }))
      }
      if (by === 'day') {
        const rows = await readDays(db, ['searches_searches', 'unanswered', 'weak'], range)
        // Days before all searches were counted have terms only.
        return rows.map(({ key, searches_searches: searches, unanswered, weak }) => ({
          key,
          searches: searches || (unanswered ? null : 0),
          unanswered: unanswered!,
          weak: weak!,
        }))
      }
      const names = ['searches_searches', 'searches_unanswered', 'searches_weak']
      return readFiguresByKey(db, names, range, (name) => name.replace('searches_', ''))
    },
  },
} as const satisfies Record<string, Figure>

/** Figures by their keys, side by side: the greatest sum first. */
async function readFiguresByKey(
  db: DbOrTx,
  figures: readonly string[],
  { from, to, limit }: FigureRange,
  nameOf = (figure: string) => figure,
): Promise<FigureRow[]> {
  const counts = figures.map((figure) => {
    const count = sql`coalesce(sum(count) filter (where figure = ${figure}), 0)::float8`
    return sql`${count} as ${sql.identifier(nameOf(figure))}`
  })
  const { rows } = await db.execute<FigureRow>(sql`
    select nullif(key, '') as key, ${sql.join(counts, sql`, `)} from analytics_figures
     where figure = any(${sql.param([...figures])}::text[]) and day between ${from}::date and ${to}::date
     group by analytics_figures.key order by sum(count) desc, analytics_figures.key limit ${limit}`)
  return rows
}

function readOne(db: DbOrTx, figure: string, by: string, range: FigureRange) {
  return by === 'day' ? readFiguresByDay(db, [figure], range) : readFigureByKey(db, figure, range)
}

/** The figures side by side, one row for each day. */
async function readDays(
  db: DbOrTx,
  figures: readonly string[],
  range: FigureRange,
  nameOf = (figure: string) => figure,
): Promise<FigureRow[]> {
  const rows = await readFiguresByDay(db, figures, range)
  const days = new Map<string | null, FigureRow>()
  for (const { key, figure, count } of rows) {
    const row = days.get(key) ?? { key }
    row[nameOf(figure)] = count
    days.set(key, row)
  }
  return [...days.values()]
}

const thousandth = (value: number): number => Math.round(value * 1_000) / 1_000

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
async function readUses(db: DbOrTx, by: 'day' | UseDimension, { from, to, limit }: FigureRange): Promise<UseRow[]> {
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
async function readFiguresByDay(
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
async function readFigureByKey(
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
