/** Filters as a tree, written out in one place: values are data and never syntax. Pure. */

export type Filter =
  | { and: readonly Filter[] }
  | { or: readonly Filter[] }
  | { attribute: string; in: readonly (string | number)[] }

/** Undefined where nothing is filtered. An empty list of values matches nothing. */
export function renderFilter(filter: Filter): string | undefined {
  if ('attribute' in filter) return `${filter.attribute} IN [${filter.in.map(renderValue).join(', ')}]`
  const joiner = 'and' in filter ? ' AND ' : ' OR '
  const parts = ('and' in filter ? filter.and : filter.or).map(renderFilter).filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.length === 1 ? parts[0] : parts.map((part) => `(${part})`).join(joiner)
}

/** The backslash goes first, or it would escape the quote's own. */
function renderValue(value: string | number): string {
  return typeof value === 'number' ? String(value) : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
