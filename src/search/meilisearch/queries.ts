import type { MultiSearchQuery } from 'meilisearch'
import { byName, COUNTED, DERIVED } from '../../vocabulary.ts'
import { cellOf, isColorName } from '../color.ts'
import type { FilterName, FrameFilters } from '../library-search.ts'
import type { Concept } from '../text/senses.ts'
import { senseOf, valueSignsOf } from './senses.ts'
import { authorKey, INDEX, indexName, toEngineWord } from './settings.ts'

/** Frames that pass the filters and meet every concept as a word, an attribute or a synonym. */
export function frameQuery(prefix: string, wanted: readonly Concept[], filters: FrameFilters): MultiSearchQuery {
  return {
    indexUid: indexName(prefix, INDEX),
    q: textOf(wanted),
    filter: renderFilter(filterOf(filters)) ?? [],
    matchingStrategy: 'all',
    showRankingScore: true,
    attributesToRetrieve: ['doc', 'phash', 'luma'],
  }
}

/** Words we cut ourselves, so nothing typed works as an operator. */
const textOf = (wanted: readonly Concept[]): string =>
  wanted
    .map((one) => {
      const words = one.words.map(toEngineWord).join(' ')
      return senseOf(one) ?? (one.exact ? `"${words}"` : words)
    })
    .join(' ')

function filterOf(filters: FrameFilters): Filter {
  const parts: Filter[] = []
  for (const name of Object.keys(FILTERS) as FilterName[]) {
    const values = filters[name]
    if (values && values.length > 0) parts.push(FILTERS[name](values))
    const others = filters[`not_${name}`]
    if (others && others.length > 0) parts.push({ not: FILTERS[name](others) })
  }
  return { and: parts }
}

type Make = (values: readonly string[]) => Filter
const equal =
  (attribute: string): Make =>
  (values) => ({ attribute, in: values })
// The engine ignores case, so anything but a well-formed slug or id is dropped lest it match one.
const bySlug =
  (attribute: string): Make =>
  (values) => ({ attribute, in: values.filter((value) => /^[a-z0-9_-]{1,128}$/.test(value)) })
const bySign =
  (name: string): Make =>
  (values) => ({ attribute: 'named', in: valueSignsOf(values.map((value) => `${name}=${value}`)) })

/** What each filter asks of a frame. */
const FILTERS: Record<FilterName, Make> = {
  ...byName(COUNTED, equal),
  technique: bySlug('technique'),
  video: bySlug('video_id'),
  author: (values) => ({ attribute: 'author_key', in: values.map(authorKey) }),
  ...byName(DERIVED, bySign),
  color(colors) {
    const cells = colors.filter((color) => !isColorName(color)).map(cellOf)
    const names = colors.filter(isColorName)
    return { or: [{ attribute: 'colors', in: cells }, ...(names.length > 0 ? [bySign('color')(names)] : [])] }
  },
}

/** Filters as a tree, rendered in one place, so that a value can never become syntax. Pure. */

type Filter =
  | { and: readonly Filter[] }
  | { or: readonly Filter[] }
  | { attribute: string; in: readonly (string | number)[] }
  | { not: Filter }

/** Undefined without a filter. An empty list of values matches nothing. */
export function renderFilter(filter: Filter): string | undefined {
  if ('not' in filter) return `NOT (${renderFilter(filter.not)})`
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
