import { keptBriefly } from './kept-briefly.ts'
import type { TechniqueDocument } from './library-search.ts'
import { type NamedWords, techniqueWords } from './text/named-words.ts'

/** What the techniques of a library are called. */
export function openTechniqueWords(load: () => Promise<readonly TechniqueDocument[]>): () => Promise<NamedWords> {
  return keptBriefly(() => load().then(techniqueWords))
}
