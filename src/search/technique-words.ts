import type { TechniqueDocument } from './library-search.ts'
import { type NamedWords, techniqueWords } from './text/named-words.ts'

/** How long the vocabulary is taken as it was. */
const KEPT_MS = 1_000

/** What the techniques of a library are called, read at most once a second. */
export function openTechniqueWords(load: () => Promise<readonly TechniqueDocument[]>): () => Promise<NamedWords> {
  let kept: { until: number; words: Promise<NamedWords> } | undefined
  return () => {
    if (kept && performance.now() < kept.until) return kept.words
    const words = load().then(techniqueWords)
    kept = { until: performance.now() + KEPT_MS, words }
    words.catch(() => {
      kept = undefined
    })
    return words
  }
}
