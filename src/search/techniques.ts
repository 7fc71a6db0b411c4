import type { FrameFilters, TechniqueDocument } from './library-search.ts'

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
