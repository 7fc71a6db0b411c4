import type { Values } from '../parameters.ts'
import { filterParameters, frameParameters } from '../views/parameters.ts'

/** The parameters of `/api/frames` that make sense on a page. */
export const wallParameters = omit(frameParameters, 'facets', 'debug', 'provenance')
export type WallValues = Values<typeof wallParameters>

/** A copy of values without some of their names. */
export function omit<T extends object, K extends keyof T>(values: T, ...names: K[]): Omit<T, K> {
  const rest = { ...values }
  for (const name of names) delete rest[name]
  return rest
}

/** Filters, in their order in an address. */
export type FilterName = keyof typeof filterParameters
export const FILTER_NAMES = Object.keys(filterParameters) as FilterName[]

/** The address of a wall. It is the whole state. */
export function wallUrl(values: WallValues): string {
  const query = stateOf(values).toString()
  return query === '' ? '/' : `/?${query}`
}

/** The query without its `?`. */
export function stateOf(values: WallValues): URLSearchParams {
  const query = new URLSearchParams()
  const { page = 1, ...rest } = values
  for (const name of ['q', ...FILTER_NAMES, 'sort', 'variety'] as const)
    for (const item of [rest[name] ?? []].flat()) query.append(name, item.replace(/^#(?=[0-9a-f]{6}$)/, ''))
  if (page > 1) query.append('page', String(page))
  return query
}

/** The same wall from its first page, with a value of a filter added, or taken away where it is there. */
export function toggled(values: WallValues, name: FilterName, value: string): WallValues {
  const chosen: readonly string[] = values[name] ?? []
  const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]
  return { ...omit(values, 'page', name), ...(next.length > 0 ? { [name]: next } : {}) }
}

export function isNarrowed(values: WallValues): boolean {
  return values.q !== undefined || FILTER_NAMES.some((name) => values[name] !== undefined)
}

export function hasFilter(values: WallValues): boolean {
  return FILTER_NAMES.some((name) => values[name] !== undefined)
}
