import { z } from 'zod'
import type { DbOrTx } from '../../db/client.ts'
import { SEARCHES_WRITTEN_EVERY_MS } from '../search-counts.ts'
import { type FigureRange, readFigureByKey, readFiguresByDay, readUses, type UseDimension } from './read.ts'

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
    summary: 'Calls of the vision model and their cost, by day or model',
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
      const rows = await readFiguresByKey(db, names, range)
      return rows.map((row) => ({
        key: row.key,
        searches: row.searches_searches!,
        unanswered: row.searches_unanswered!,
        weak: row.searches_weak!,
      }))
    },
  },
} as const satisfies Record<string, Figure>

/** Figures by their keys, side by side: the greatest sum first. */
async function readFiguresByKey(db: DbOrTx, figures: readonly string[], range: FigureRange): Promise<FigureRow[]> {
  const found = await Promise.all(figures.map((figure) => readFigureByKey(db, figure, range)))
  const rows = new Map<string | null, FigureRow>()
  found.forEach((counted, n) => {
    for (const { key, count } of counted)
      rows.set(key, {
        ...(rows.get(key) ?? { key, ...Object.fromEntries(figures.map((name) => [name, 0])) }),
        [figures[n]!]: count,
      })
  })
  const sum = (row: FigureRow) => figures.reduce((total, name) => total + Number(row[name]), 0)
  return [...rows.values()].sort((a, b) => sum(b) - sum(a)).slice(0, range.limit)
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
