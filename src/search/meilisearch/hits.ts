import type { FrameDocument, FrameHit } from '../library-search.ts'
import { namedValues } from '../named-values.ts'
import { rounded } from '../score.ts'
import { Matcher } from '../text/match.ts'
import type { Sense } from '../text/senses.ts'
import type { StoredDocument } from './settings.ts'

export type StoredHit = StoredDocument & { phash: string; luma: number; _rankingScore?: number }

/** Hits that meet every concept. `documents`: the whole documents by key, where the stored ones do not do. */
export function frameHits(
  hits: readonly StoredHit[],
  senses: readonly Sense[],
  documents?: ReadonlyMap<string, FrameDocument>,
): FrameHit[] {
  const matcher = new Matcher(senses)
  return hits.flatMap((hit): FrameHit[] => {
    const document = documents ? documents.get(hit.key) : (JSON.parse(hit.doc) as FrameDocument)
    // As on the other engine a hit with all words scores 0.5–1.
    const score = rounded(0.5 + 0.5 * (hit._rankingScore ?? 1))
    return document ? [{ document, score, ...matcher.frame(document, namedValues(document, matcher.attributes)) }] : []
  })
}
