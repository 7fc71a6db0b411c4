import type { MultiSearchQuery } from 'meilisearch'
import { cellOf, isColorName } from '../color.ts'
import type { FrameFilters } from '../library-search.ts'
import type { Concept } from '../text/query.ts'
import { type Filter, renderFilter } from './filter.ts'
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
    attributesToRetrieve: ['doc'],
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
  const add = (attribute: string, values: readonly (string | number)[] | undefined, asked: number) => {
    if (asked > 0) parts.push({ attribute, in: values ?? [] })
  }
  for (const attribute of ['subject', 'surface', 'shot', 'zone', 'tone', 'kind', 'platform'] as const)
    add(attribute, filters[attribute], filters[attribute]?.length ?? 0)
  // The engine ignores case, so anything but a well-formed slug or id is dropped lest it match one.
  const slugs = (values: readonly string[] | undefined) => values?.filter((value) => /^[a-z0-9_-]{1,128}$/.test(value))
  add('technique', slugs(filters.technique), filters.technique?.length ?? 0)
  add('video_id', slugs(filters.video), filters.video?.length ?? 0)
  add('author_key', filters.author?.map(authorKey), filters.author?.length ?? 0)
  if (filters.color && filters.color.length > 0) {
    const names = filters.color.filter(isColorName).map((name) => `color=${name}`)
    const cells = filters.color.filter((color) => !isColorName(color)).map(cellOf)
    const called: Filter = { attribute: 'named', in: valueSignsOf(names) }
    parts.push({ or: [{ attribute: 'colors', in: cells }, ...(names.length > 0 ? [called] : [])] })
  }
  return { and: parts }
}
