import { z } from 'zod'
import type { Hit } from '../search/library-search.ts'

/** What a search hit has beside its resource. */
export const matchShape = {
  score: z.number().min(0).max(1),
  matched: z.record(z.string(), z.string()).describe('Field → escaped text with `<em>` around what matched.'),
}

/** A search hit is the resource itself with `score` and `matched`. */
export function toHit<D, R extends object>(
  hit: Hit<D>,
  view: (document: D) => R,
): R & { score: number; matched: Record<string, string> } {
  return { ...view(hit.document), score: hit.score, matched: hit.matched }
}
