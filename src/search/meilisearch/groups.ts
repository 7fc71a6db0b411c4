import type { MultiSearchQuery } from 'meilisearch'
import type { SearchGroups } from '../library-search.ts'
import { scoreByName } from '../score.ts'
import type { Term } from '../text/query.ts'
import { nameKey } from '../text/tokens.ts'
import type { MeiliClient } from './client.ts'
import { renderFilter } from './filter.ts'
import { allBeforeSome, entryHits, frameHits, type StoredHit } from './hits.ts'
import { frameQuery, textOf } from './queries.ts'
import { indexName, NAMED_KINDS, type NamedKind } from './settings.ts'

/** The four groups of a search by words; undefined where nothing was found. */
export async function searchGroups(
  client: MeiliClient,
  prefix: string,
  { q, limit, terms }: { q: string; limit: number; terms: readonly Term[] },
): Promise<SearchGroups | undefined> {
  const [frames, names] = await Promise.all([
    searchFrames(client, prefix, terms, limit),
    searchNames(client, prefix, terms, limit),
  ])
  const { videos, brands, techniques } = names
  const found = [...frames, ...videos, ...brands, ...techniques]
  await client.requireFilled(found)
  if (found.length === 0) return undefined
  const key = nameKey(q)
  return {
    videos: entryHits<'videos'>(videos, terms, { namesOf: ({ title }) => ({ title }) }).slice(0, limit),
    frames: frameHits(frames.slice(0, limit), terms),
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
 * Frames with all words before those with some.
 * Meilisearch drops the most frequent words first, so frames with few of the words are found by each word alone.
 * It never drops a phrase.
 */
async function searchFrames(
  { multiSearch }: MeiliClient,
  prefix: string,
  terms: readonly Term[],
  limit: number,
): Promise<StoredHit[]> {
  const query = (of: readonly Term[]): MultiSearchQuery => ({ ...frameQuery(prefix, of, {}), limit })
  if (terms.length === 1) return (await multiSearch([query(terms)]))[0]!.hits
  const [together] = await multiSearch([
    { ...query(terms), matchingStrategy: 'frequency', showRankingScoreDetails: true },
  ])
  const alone = together!.hits.length < limit ? await multiSearch(terms.map((term) => query([term]))) : []
  const byTerm = alone.map(({ hits }, n) => ({ n, hits }))
  return allBeforeSome(together!.hits, byTerm, terms.length, false)
}

/** The same for names. Words are dropped from the end, and each that may be dropped is also searched alone. */
async function searchNames(
  { multiSearch }: MeiliClient,
  prefix: string,
  terms: readonly Term[],
  limit: number,
): Promise<Record<NamedKind, StoredHit[]>> {
  const queries = nameQueries(prefix, terms, limit)
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
    return allBeforeSome(ofKind(first!), byTerm, terms.length, true)
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

function nameQueries(prefix: string, terms: readonly Term[], limit: number): NameQuery[] {
  const base = (of: readonly Term[]): MultiSearchQuery => ({
    indexUid: indexName(prefix, 'names'),
    q: textOf(of),
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
