/** Filters as a tree, rendered in one place, so that a value can never become syntax. Pure. */

export type Filter =
  | { and: readonly Filter[] }
  | { or: readonly Filter[] }
  | { attribute: string; in: readonly (string | number)[] }
  | { attribute: string; notIn: readonly string[] }
  | { not: Filter }

/** Undefined without a filter. An empty list of values matches nothing. */
export function renderFilter(filter: Filter): string | undefined {
  if ('not' in filter) return `NOT (${renderFilter(filter.not)})`
  if ('notIn' in filter) return `${filter.attribute} NOT IN [${filter.notIn.map(renderValue).join(', ')}]`
  if ('attribute' in filter) return `${filter.attribute} IN [${filter.in.map(renderValue).join(', ')}]`
  const joiner = 'and' in filter ? ' AND ' : ' OR '
  const parts = ('and' in filter ? filter.and : filter.or).map(renderFilter).filter((part) => part !== undefined)
  if (parts.length <= 1) return parts[0]
  return parts.map((part) => `(${part})`).join(joiner)
}

/** Backslashes first: those that escape quotes must not be escaped again. */
function renderValue(value: string | number): string {
  return typeof value === 'number' ? String(value) : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
