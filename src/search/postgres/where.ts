import { type SQL, sql } from 'drizzle-orm'
import { cellOf, isColorName } from '../color.ts'
import type { FrameFilters } from '../library-search.ts'

import { oneNamed } from './tsquery.ts'

const COLUMNS = {
  subject: 'subject',
  surface: 'surface',
  shot: 'shot',
  technique: 'technique',
  zone: 'zone',
  tone: 'tone',
  kind: 'kind',
  author: 'author',
  platform: 'platform',
  video: 'video_id',
} as const

/** Frames that pass the filters, and have these words. */
export function whereOf(filters: FrameFilters, words?: SQL): SQL {
  const conditions: SQL[] = []
  for (const [attribute, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, string][]) {
    const values = filters[attribute]
    if (!values || values.length === 0) continue
    const list = storable(values)
    conditions.push(
      list.length === 1
        ? sql`${sql.raw(column)} = ${list[0]}`
        : sql`${sql.raw(column)} = any(${sql.param(list)}::text[])`,
    )
  }
  if (filters.color && filters.color.length > 0) conditions.push(hasColor(filters.color))
  if (words) conditions.push(sql`words @@ ${words}`)
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`true`
}

/** Near one of the hex colours, or with a colour that is called so. */
function hasColor(colors: readonly string[]): SQL {
  const names = colors.filter(isColorName)
  const cells = colors.filter((color) => !isColorName(color)).map(cellOf)
  const near = sql`colors && ${sql.param(cells)}::smallint[]`
  if (names.length === 0) return near
  const called = sql`words @@ ${oneNamed(names.map((name) => `color=${name}`))}`
  return cells.length === 0 ? called : sql`(${near} or ${called})`
}

/** PostgreSQL text cannot hold NUL or half a surrogate pair: no row has such a value, and a query with one fails. */
export const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
export const storable = (values: readonly string[]): string[] => values.filter(isStorable)
