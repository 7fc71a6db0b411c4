import { type SQL, sql } from 'drizzle-orm'
import { byDerived } from '../../vocabulary.ts'
import { cellOf, isColorName } from '../color.ts'
import type { FilterName, FrameFilters } from '../library-search.ts'

import { oneNamed } from './tsquery.ts'

type Condition = (values: readonly string[]) => SQL

/** What each filter asks of a frame. */
const FILTERS: Record<FilterName, Condition> = {
  subject: inColumn('subject'),
  surface: inColumn('surface'),
  shot: inColumn('shot'),
  technique: inColumn('technique'),
  zone: inColumn('zone'),
  tone: inColumn('tone'),
  kind: inColumn('kind'),
  author: inColumn('author'),
  platform: inColumn('platform'),
  video: inColumn('video_id'),
  color: hasColor,
  ...byDerived(
    (name): Condition =>
      (values) =>
        hasNamed(values.map((value) => `${name}=${value}`)),
  ),
}

/** Frames that pass the filters, and have these words. */
export function whereOf(filters: FrameFilters, words?: SQL): SQL {
  const conditions: SQL[] = []
  for (const [name, condition] of Object.entries(FILTERS) as [FilterName, Condition][]) {
    const values = filters[name]
    if (values && values.length > 0) conditions.push(condition(values))
    const others = filters[`not_${name}`]
    // A value that is not known is not one of these.
    if (others && others.length > 0) conditions.push(sql`(${condition(others)}) is not true`)
  }
  if (words) conditions.push(sql`words @@ ${words}`)
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`true`
}

function inColumn(name: string): Condition {
  const column = sql.raw(name)
  return (values) => {
    const list = storable(values)
    return list.length === 1 ? sql`${column} = ${list[0]}` : sql`${column} = any(${sql.param(list)}::text[])`
  }
}

function hasNamed(named: readonly string[]): SQL {
  return sql`words @@ ${oneNamed(named)}`
}

/** Near one of the hex colours, or with a colour that is called so. */
function hasColor(colors: readonly string[]): SQL {
  const names = colors.filter(isColorName)
  const cells = colors.filter((color) => !isColorName(color)).map(cellOf)
  const near = sql`colors && ${sql.param(cells)}::smallint[]`
  if (names.length === 0) return near
  const called = hasNamed(names.map((name) => `color=${name}`))
  return cells.length === 0 ? called : sql`(${near} or ${called})`
}

/** PostgreSQL text cannot hold NUL or half a surrogate pair: no row has such a value, and a query with one fails. */
export const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
export const storable = (values: readonly string[]): string[] => values.filter(isStorable)
