import type { DocumentKind, FrameDocument, FrameHit, Hit, LibraryDocuments } from '../library-search.ts'
import { matchedInFrame, matchedInNames } from '../matched.ts'
import { rounded } from '../score.ts'
import { StoredFrame } from '../stored-frame.ts'
import { Highlighter } from '../text/highlight.ts'
import type { ReadTerm } from '../text/query.ts'
import type { NamedKind, StoredDocument } from './settings.ts'

export type StoredHit = StoredDocument & {
  phash: string
  luma: number
  /** Only of a name. */
  kind?: NamedKind
  _rankingScore?: number
  /** Only of a hit with some of the words: its score, below 0.5. */
  partial?: number
  _rankingScoreDetails?: { words?: { matchingWords: number; maxMatchingWords: number } }
}

/** `documents`: the whole documents by key, where the stored ones do not do. */
export function frameHits(
  hits: readonly StoredHit[],
  terms: readonly ReadTerm[],
  documents?: ReadonlyMap<string, FrameDocument>,
): FrameHit[] {
  const highlighter = new Highlighter(terms)
  return hits.flatMap((hit): FrameHit[] => {
    if (!documents) return [new StoredFrame(hit.doc, scoreOf(hit), highlighter)]
    const document = documents.get(hit.key)
    return document ? [{ document, score: scoreOf(hit), matched: matchedInFrame(document, highlighter) }] : []
  })
}

/** Best first. `scoreByNames`: the score of a document whose name is in the query, above the engine's own. */
export function entryHits<K extends Exclude<DocumentKind, 'frames'>>(
  hits: readonly StoredHit[],
  terms: readonly ReadTerm[],
  {
    namesOf,
    scoreByNames = () => undefined,
  }: {
    namesOf: (document: LibraryDocuments[K]) => Record<string, string>
    scoreByNames?: (document: LibraryDocuments[K]) => number | undefined
  },
): Hit<LibraryDocuments[K]>[] {
  const highlighter = new Highlighter(terms)
  return hits
    .map((hit) => {
      const document = JSON.parse(hit.doc) as LibraryDocuments[K]
      const score = Math.max(scoreByNames(document) ?? 0, Math.min(0.99, scoreOf(hit)))
      return { document, score: rounded(score), matched: matchedInNames(namesOf(document), highlighter) }
    })
    .sort((a, b) => b.score - a.score)
}

/**
 * Hits with all `of` words, then those with some, ordered and scored by how many.
 * Words were dropped from the end of the query. `byTerm`: hits of the nth term alone.
 */
export function allBeforeSome(
  hits: readonly StoredHit[],
  byTerm: readonly { n: number; hits: readonly StoredHit[] }[],
  of: number,
): StoredHit[] {
  const all = hits.filter((hit) => shareOfWords(hit) === 1)
  const held = new Set(all.map((hit) => hit.key))
  const found = new Map<string, { hit: StoredHit; share: number; terms: Set<number>; best: number }>()
  const note = (hit: StoredHit) => {
    const known = found.get(hit.key) ?? { hit, share: 0, terms: new Set(), best: 0 }
    known.best = Math.max(known.best, hit._rankingScore ?? 0)
    found.set(hit.key, known)
    return known
  }
  for (const hit of hits) {
    if (held.has(hit.key)) continue
    const known = note(hit)
    known.share = shareOfWords(hit)
    for (let n = 0; n < Math.round(known.share * of); n++) known.terms.add(n)
  }
  for (const one of byTerm) for (const hit of one.hits) if (!held.has(hit.key)) note(hit).terms.add(one.n)
  const some = [...found.values()]
    .map(({ hit, share, terms, best }) => ({ ...hit, partial: 0.45 * Math.max(share, terms.size / of) + 0.04 * best }))
    .sort((a, b) => b.partial - a.partial || (a.key < b.key ? -1 : 1))
  return [...all, ...some]
}

/** The share of the query's words that a hit has. */
function shareOfWords(hit: StoredHit): number {
  const words = hit._rankingScoreDetails?.words
  return words ? words.matchingWords / words.maxMatchingWords : 1
}

/** A hit with all words scores 0.5–1, as on the other engine. Meilisearch's own score falls to a fifth for a typo. */
const scoreOf = (hit: StoredHit) => rounded(hit.partial ?? 0.5 + 0.5 * (hit._rankingScore ?? 1))
