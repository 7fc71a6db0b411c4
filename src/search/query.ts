import { invalid } from '../errors.ts'
import type { FrameFilters, FrameQuery, TechniqueDocument } from './library-search.ts'
import type { Question } from './text/question.ts'

/** What queries have in common, whichever engine answers: limits, present slugs, and questions that several ask. */

/** A query whose words were read: what the engines take. */
export type Read<Q extends { q: string }> = Omit<Q, 'q' | 'asker'> & { question: Question | undefined }

/** By its words alone: what the engines of words take. */
export interface WordsQuery extends Read<FrameQuery> {
  sort: Exclude<FrameQuery['sort'], 'meaning'>
}

/** Matches that `relevance` and `variety` page through. `newest` and `strength` have no such limit. */
export const MAX_RELEVANCE_DEPTH = 20_000

/** Values counted per facet, without the rarest of a longer list. */
export const MAX_FACET_VALUES = 1_000

/** @throws AppError invalid_request for a page past the depth of an order that is not stored. */
export function refuseDepth(query: FrameQuery): void {
  const isRanked = (query.sort === 'relevance' || query.sort === 'meaning') && query.q.trim() !== ''
  if (!isRanked && !query.variety) return
  if ((query.page - 1) * query.pageSize < MAX_RELEVANCE_DEPTH) return
  const what = query.variety ? 'variety=on' : `sort=${query.sort}`
  throw invalid(
    'page',
    `${what} goes ${MAX_RELEVANCE_DEPTH} matches deep; use sort=newest without variety to read every page.`,
  )
}

/** A page tells how many frames there are up to this number. */
export const MOST_COUNTED = 10_000

/** Where fewer conditions would find frames, more than this are not counted. */
export const MOST_LOOSENED = 20

/** The present slug of a technique that may have been renamed or merged; undefined for an unknown one. */
export function currentSlug(vocabulary: readonly TechniqueDocument[], slug: string): string | undefined {
  if (vocabulary.some((technique) => technique.slug === slug)) return slug
  return vocabulary.find((technique) => technique.aliases.includes(slug))?.slug
}

/** The same query with every technique under its present slug. An unknown one stays and matches nothing. */
export async function withCurrentSlugs<Q extends { filters: FrameFilters }>(
  query: Q,
  loadVocabulary: () => Promise<TechniqueDocument[]>,
): Promise<Q> {
  const { technique = [], not_technique = [] } = query.filters
  if (technique.length + not_technique.length === 0) return query
  const vocabulary = await loadVocabulary()
  const current = (slugs: readonly string[]) => slugs.map((slug) => currentSlug(vocabulary, slug) ?? slug)
  const filters = { ...query.filters, technique: current(technique), not_technique: current(not_technique) }
  return { ...query, filters }
}

/** A first page by relevance, without filters or counts. */
export const BEST = { filters: {}, sort: 'relevance', page: 1, facets: false, variety: false } as const
