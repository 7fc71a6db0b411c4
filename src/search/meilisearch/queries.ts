import type { MultiSearchQuery } from 'meilisearch'
import { cellOf, isColorName } from '../color.ts'
import type { FrameFilters } from '../library-search.ts'
import { isPartSearchable } from '../text/expand.ts'
import type { ReadTerm } from '../text/query.ts'
import type { Question } from '../text/question.ts'
import { type Filter, renderFilter } from './filter.ts'
import { senseOf, valueSignsOf } from './senses.ts'
import { authorKey, indexName, toEngineWord, WHOLE_TEXTS } from './settings.ts'

/** What a query of the engine asks for: all terms of a question, or some of them. */
export type Asked = Pick<Question, 'wanted' | 'excluded'>

/** Frames that pass the filters and meet every term. */
export function frameQuery(prefix: string, asked: Asked, filters: FrameFilters): MultiSearchQuery {
  return {
    indexUid: indexName(prefix, 'frames'),
    q: textOf(asked),
    ...searchedOn(asked.wanted),
    filter: renderFilter({ and: [filterOf(filters), notNamed(asked)] }) ?? [],
    matchingStrategy: 'all',
    showRankingScore: true,
    attributesToRetrieve: ['doc'],
  }
}

/** Words we cut ourselves, so nothing typed works as an operator. A final space marks the last word as complete. */
export function textOf({ wanted, excluded }: Asked): string {
  const phraseOf = (words: readonly string[]) => `"${words.map(toEngineWord).join(' ')}"`
  const last = wanted.at(-1)
  return [
    ...excluded.map(({ words }) => `-${phraseOf(words)}`),
    ...wanted.map((term) => (term.exact ? phraseOf(term.words) : (senseOf(term) ?? term.words[0]!))),
    ...(last && !last.prefix ? [''] : []),
  ].join(' ')
}

/** Parts of words are not searched for a phrase, nor for a letter or two, which begin too many of them. */
function searchedOn(terms: readonly ReadTerm[]): { attributesToSearchOn?: string[] } {
  const last = terms.at(-1)
  const whole = terms.some((term) => term.exact) || (last?.prefix && !isPartSearchable(last.words[0]!))
  return whole ? { attributesToSearchOn: [...WHOLE_TEXTS, 'named'] } : {}
}

/** The attributes that excluded words name. Their texts are excluded by the words themselves. */
function notNamed({ excluded }: Asked): Filter {
  const signs = excluded.flatMap(({ named }) => valueSignsOf(named))
  return signs.length > 0 ? { attribute: 'named', notIn: signs } : { and: [] }
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
  if (filters.color && filters.color.length > 0) {
    const names = filters.color.filter(isColorName).map((name) => `color=${name}`)
    const cells = filters.color.filter((color) => !isColorName(color)).map(cellOf)
    const called: Filter = { attribute: 'named', in: valueSignsOf(names) }
    parts.push({ or: [{ attribute: 'colors', in: cells }, ...(names.length > 0 ? [called] : [])] })
  }
  return { and: parts }
}
