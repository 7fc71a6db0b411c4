import type { FrameFilters, LibrarySearch, TechniqueDocument } from './library-search.ts'
import { type NamedWords, techniqueWords } from './text/named-words.ts'

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

/**
 * What the techniques of a library are called, never older than its version: an answer read with older words would be
 * kept under that version.
 */
export function openTechniqueWords({
  version,
  techniques,
}: Pick<LibrarySearch, 'version' | 'techniques'>): () => Promise<NamedWords> {
  let known: { version: string; words: NamedWords } | undefined
  return async () => {
    const now = await version()
    if (known?.version !== now) known = { version: now, words: techniqueWords(await techniques()) }
    return known.words
  }
}
