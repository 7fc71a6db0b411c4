import type { MultiSearchQuery } from 'meilisearch'
import { COUNTED, type CountedName } from '../../vocabulary.ts'
import type { FacetCounts, FrameDocument, FrameHit, FrameQuery } from '../library-search.ts'
import type { Read } from '../query.ts'
import { Matcher, rounded } from '../text/match.ts'
import { namedValues } from '../text/named-words.ts'
import type { Concept, Sense } from '../text/senses.ts'
import type { MultiSearch } from './client.ts'
import { frameQuery, renderFilter } from './queries.ts'
import { authorOf, INDEX, indexName, type StoredHit } from './settings.ts'

/** A page of frames and their counts. */

const attributeOf = (facet: CountedName) => (facet === 'author' ? 'author_key' : facet)

interface Matches {
  hits: StoredHit[]
  /** How many match, on all pages. */
  total: number
}

interface Counts {
  facets: FacetCounts
}

/** The hits of the query's page, with counts where it asks for them: one request. */
export async function findMatches(
  multiSearch: MultiSearch,
  prefix: string,
  query: Read<FrameQuery>,
  wanted: readonly Concept[],
): Promise<Matches & Partial<Counts>> {
  if (query.facets) return countMatches(multiSearch, prefix, query, wanted)
  const [result] = await multiSearch([{ ...frameQuery(prefix, wanted, query.filters), ...pageOf(query) }])
  return { hits: result!.hits, total: result!.estimatedTotalHits ?? 0 }
}

export async function countMatches(
  multiSearch: MultiSearch,
  prefix: string,
  query: Read<FrameQuery>,
  wanted: readonly Concept[],
): Promise<Matches & Counts> {
  const filtered = COUNTED.filter((facet) => (query.filters[facet]?.length ?? 0) > 0)
  const free = COUNTED.filter((facet) => !filtered.includes(facet))
  const counted = [...new Set([...free.map(attributeOf), 'tone'])]
  const [main, ...rest] = await multiSearch([
    { ...frameQuery(prefix, wanted, query.filters), ...pageOf(query), facets: counted },
    ...filtered.map((facet) => ({
      ...frameQuery(prefix, wanted, { ...query.filters, [facet]: [] }),
      limit: 0,
      facets: [attributeOf(facet)],
    })),
  ])
  // Every frame has a tone, so its counts add up to the total. No other figure does past the depth.
  const tones = Object.values(main!.facetDistribution?.tone ?? {})
  const facets = Object.fromEntries(COUNTED.map((facet) => [facet, {}])) as FacetCounts
  for (const facet of free) facets[facet] = main!.facetDistribution?.[attributeOf(facet)] ?? {}
  filtered.forEach((facet, n) => {
    facets[facet] = rest[n]!.facetDistribution?.[attributeOf(facet)] ?? {}
  })
  facets.author = await countsByName(multiSearch, prefix, facets.author)
  const total = tones.reduce((sum, n) => sum + n, 0)
  return { hits: main!.hits, facets, total }
}

/** With provenance the documents come from the read model. */
function pageOf({ provenance, page, pageSize }: Read<FrameQuery>): Partial<MultiSearchQuery> {
  const fields = provenance ? { attributesToRetrieve: ['key'] } : {}
  return { offset: (page - 1) * pageSize, limit: pageSize, ...fields }
}

/** Counts by author key as counts by author name. */
async function countsByName(
  multiSearch: MultiSearch,
  prefix: string,
  counts: Record<string, number>,
): Promise<Record<string, number>> {
  const keys = Object.keys(counts)
  const names = keys.map(authorOf)
  const long = await longNames(
    multiSearch,
    prefix,
    keys.filter((_, n) => names[n] === undefined),
  )
  const named: Record<string, number> = Object.create(null)
  keys.forEach((key, n) => {
    const name = names[n] ?? long.get(key)
    if (name !== undefined) named[name] = counts[key]!
  })
  return named
}

/** Names too long to be read from their key: any frame of the author has them. */
async function longNames(
  multiSearch: MultiSearch,
  prefix: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map()
  const results = await multiSearch(
    keys.map((key) => ({
      indexUid: indexName(prefix, INDEX),
      q: '',
      filter: renderFilter({ attribute: 'author_key', in: [key] })!,
      limit: 1,
      attributesToRetrieve: ['doc'],
    })),
  )
  return new Map(
    results.flatMap(({ hits }, n) =>
      hits.map(({ doc }) => [keys[n]!, (JSON.parse(doc) as FrameDocument).author!] as const),
    ),
  )
}

/** Hits that meet every concept. `documents`: the whole documents by key, where the stored ones do not do. */
export function frameHits(
  hits: readonly StoredHit[],
  senses: readonly Sense[],
  documents?: ReadonlyMap<string, FrameDocument>,
): FrameHit[] {
  const matcher = new Matcher(senses)
  return hits.flatMap((hit): FrameHit[] => {
    const { phash, luma } = hit
    const document = documents ? documents.get(hit.key) : { ...(JSON.parse(hit.doc) as FrameDocument), phash, luma }
    // As on the other engine a hit with all words scores 0.5–1.
    const score = rounded(0.5 + 0.5 * (hit._rankingScore ?? 1))
    return document ? [{ document, score, ...matcher.frame(document, namedValues(document, matcher.attributes)) }] : []
  })
}
