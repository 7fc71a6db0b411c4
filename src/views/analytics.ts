import { z } from 'zod'
import { invalid } from '../errors.ts'
import { csvCell } from './export.ts'

const DAY_MS = 86_400_000
const USUAL_DAYS = 30
const MOST_DAYS = 366
const FIRST_DAY = '1970-01-01'

export const dayParameter = z.iso
  .date('must be a day such as 2026-11-22')
  .refine((day) => day >= FIRST_DAY, `must be a day from ${FIRST_DAY} on`)

const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/**
 * The range of days in UTC, both included; by default the last 30 with today.
 * @throws AppError invalid_request for one that ends before it begins or is longer than a year.
 */
export function toDayRange(given: { from?: string; to?: string }, now = Date.now()): { from: string; to: string } {
  const to = given.to ?? toDay(now)
  const from = given.from ?? toDay(Date.parse(to) - (USUAL_DAYS - 1) * DAY_MS)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) throw invalid('from', `from: ${from} is after to (${to}). Give an earlier day, or a later to.`)
  if (days > MOST_DAYS)
    throw invalid('from', `from: ${from} to ${to} is ${days} days. Ask for at most ${MOST_DAYS} days at once.`)
  return { from, to }
}

type Cell = string | number | null

/** One line for each row below a line of names, for spreadsheets. No cell begins a formula. */
export function toCsv(names: readonly string[], rows: readonly Record<string, Cell>[]): string {
  const lines = rows.map((row) => names.map((name) => csvCell(row[name] ?? null)).join(','))
  return `\uFEFF${[names.join(','), ...lines].join('\r\n')}\r\n`
}
