import type { MultiSearchQuery } from 'meilisearch'
import type { SearchGroups } from '../library-search.ts'
import { scoreByName } from '../score.ts'
import type { ReadTerm } from '../text/query.ts'
import type { Question } from '../text/question.ts'
import { nameKey } from '../text/tokens.ts'
import type { MeiliClient } from './client.ts'
import { renderFilter } from './filter.ts'
import { allBeforeSome, entryHits, frameHits, type StoredHit } from './hits.ts'
import { type Asked, frameQuery, textOf } from './queries.ts'
import { indexName, NAMED_KINDS, type NamedKind } from './settings.ts'

/** The four groups of a search by words, of frames those with all words; undefined where nothing was found. */
export async function searchGroups(
  client: MeiliClient,
  prefix: string,
  { q, limit, question }: { q: string; limit: number; question: Question },
): Promise<SearchGroups | undefined> {
  const [[all], names] = await Promise.all([
    client.multiSearch([{ ...frameQuery(prefix, question, {}), limit }]),
    searchNames(client, prefix, question, limit),
  ])
  const frames = all!.hits
  const terms = question.wanted
  const { videos, brands, techniques } = names
  const found = [...frames, ...videos, ...brands, ...techniques]
  await client.requireFilled(found)
  if (found.length === 0) return undefined
  const key = nameKey(q)
  return {
    videos: entryHits<'videos'>(videos, terms, { namesOf: ({ title }) => ({ title }) }).slice(0, limit),
    frames: frameHits(frames, terms),
    brands: entryHits<'brands'>(brands, terms, {
      namesOf: ({ name }) => ({ name }),
      scoreByNames: ({ name }) => scoreByName([nameKey(name)], key),
    }).slice(0, limit),
    techniques: entryHits<'techniques'>(techniques, terms, {
      namesOf: ({ slug, name }) => ({ slug, name }),
      scoreByNames: ({ slug, name }) => scoreByName([nameKey(slug), nameKey(name)], key),
    }).slice(0, limit),
  }
}

/**
 * Names with all words before those with some. Words are dropped from the end, and each that may be dropped is also
 * searched alone.
 */
async function searchNames(
  { multiSearch }: MeiliClient,
  prefix: string,
  question: Question,
  limit: number,
): Promise<Record<NamedKind, StoredHit[]>> {
  const terms = question.wanted
  if (terms.length === 0) return { techniques: [], brands: [], videos: [] }
  const queries = nameQueries(prefix, question, limit)
  const [together, ...alone] = queries
  const [[whole], parts] = await Promise.all([
    multiSearch([together!.all]),
    alone.length > 0 ? multiSearch(alone.map(({ all }) => all)) : [],
  ])
  const lists = [whole!, ...parts].map(({ hits }) => hits)
  const isCut = (hits: readonly StoredHit[], kind: NamedKind) =>
    hits.filter((hit) => hit.kind === kind).length < rowsPerKind(limit)[kind]
  const missing = lists.flatMap((hits, n) =>
    hits.length < 3 * limit ? [] : cutKinds(hits).flatMap((kind) => (isCut(hits, kind) ? [{ n, kind }] : [])),
  )
  if (missing.length > 0) {
    const more = await multiSearch(missing.map(({ n, kind }) => queries[n]!.ofKind(kind)))
    missing.forEach(({ n, kind }, at) => {
      lists[n] = [...lists[n]!.filter((hit) => hit.kind !== kind), ...more[at]!.hits]
    })
  }
  const [first, ...rest] = lists
  const ranked = (kind: NamedKind) => {
    const ofKind = (hits: readonly StoredHit[]) => hits.filter((hit) => hit.kind === kind)
    const byTerm = rest.map((hits, at) => ({ n: alone[at]!.n, hits: ofKind(hits) }))
    return allBeforeSome(ofKind(first!), byTerm, terms.length)
  }
  return { techniques: ranked('techniques'), brands: ranked('brands'), videos: ranked('videos') }
}

interface NameQuery {
  /** Place of the term that is searched alone; -1 for all terms together. */
  n: number
  all: MultiSearchQuery
  ofKind(kind: NamedKind): MultiSearchQuery
}

/** Some more of the small kinds, so that an exact name is among them wherever the engine ranks it. */
const rowsPerKind = (limit: number): Record<NamedKind, number> => ({
  techniques: limit + 20,
  brands: limit + 20,
  videos: limit,
})

function nameQueries(prefix: string, { wanted: terms, excluded }: Asked, limit: number): NameQuery[] {
  const base = (of: readonly ReadTerm[]): MultiSearchQuery => ({
    indexUid: indexName(prefix, 'names'),
    q: textOf({ wanted: of.map((term) => ({ ...term, named: [] })), excluded }),
    matchingStrategy: 'all',
    showRankingScore: true,
    attributesToRetrieve: ['key', 'doc', 'kind'],
  })
  const toQuery = (n: number, query: MultiSearchQuery): NameQuery => ({
    n,
    // Ranking rows costs more than a second request for the kinds that a full list has cut, which is rare.
    all: { ...query, limit: 3 * limit },
    ofKind: (kind) => ({
      ...query,
      limit: rowsPerKind(limit)[kind],
      filter: renderFilter({ attribute: 'kind', in: [kind] })!,
    }),
  })
  if (terms.length === 1) return [toQuery(-1, base(terms))]
  const hasPhrase = terms.some((term) => term.exact)
  return [
    toQuery(-1, { ...base(terms), matchingStrategy: 'last', showRankingScoreDetails: true }),
    ...terms.flatMap((term, n) => (n > 0 || hasPhrase ? [toQuery(n, base([term]))] : [])),
  ]
}

/** A full list may lack some of its last kind and all of the kinds after it. */
function cutKinds(hits: readonly StoredHit[]): NamedKind[] {
  return NAMED_KINDS.slice(NAMED_KINDS.indexOf(hits.at(-1)!.kind!))
}
