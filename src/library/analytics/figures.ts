import { z } from 'zod'
import type { DbOrTx } from '../../db/client.ts'
import { type FigureRange, readFigureByKey, readFiguresByDay, readUses, type UseDimension } from './read.ts'

/** One row: its key (a day, or a value of `by`; null where the events name none) and its figures. */
export interface FigureRow {
  [column: string]: string | number | null
  key: string | null
}

/** A table of figures: the dimensions it can be split by, its columns, and its reader. */
export interface Figure {
  summary: string
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
    summary: 'Searches that found nothing, by term or day',
    by: ['term', 'day'],
    columns: { searches: whole },
    async read(db, by, range) {
      const rows = await readOne(db, 'unanswered', by, range)
      return rows.map(({ key, count }) => ({ key, searches: count }))
    },
  },
} as const satisfies Record<string, Figure>

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
