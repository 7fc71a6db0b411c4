import type { MultiSearchQuery } from 'meilisearch'
import { cellOf } from '../color.ts'
import type { FrameFilters } from '../library-search.ts'
import { isPartSearchable } from '../text/expand.ts'
import type { Term } from '../text/query.ts'
import { type Filter, renderFilter } from './filter.ts'
import { authorKey, indexName, toEngineWord, WHOLE_TEXTS } from './settings.ts'

/** Frames that pass the filters and hold every term. */
export function frameQuery(prefix: string, terms: readonly Term[], filters: FrameFilters): MultiSearchQuery {
  return {
    indexUid: indexName(prefix, 'frames'),
    q: textOf(terms),
    ...searchedOn(terms),
    filter: renderFilter(filterOf(filters)) ?? [],
    matchingStrategy: 'all',
    showRankingScore: true,
    attributesToRetrieve: ['key', 'doc'],
  }
}

/** Words we cut ourselves, so nothing typed works as an operator. A final space marks the last word as complete. */
export function textOf(terms: readonly Term[]): string {
  const text = terms.map(({ exact, words }) => (exact ? `"${words.map(toEngineWord).join(' ')}"` : words[0])).join(' ')
  return terms.at(-1)?.prefix === false ? `${text} ` : text
}

/** Parts of words are not searched for a phrase, nor for a letter or two, which begin too many of them. */
function searchedOn(terms: readonly Term[]): { attributesToSearchOn?: string[] } {
  const last = terms.at(-1)
  const whole = terms.some((term) => term.exact) || (last?.prefix && !isPartSearchable(last.words[0]!))
  return whole ? { attributesToSearchOn: [...WHOLE_TEXTS] } : {}
}

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
  add('colors', filters.color?.map(cellOf), filters.color?.length ?? 0)
  return { and: parts }
}
