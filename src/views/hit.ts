import { z } from 'zod'
import type { Hit, ReadAs as ReadAsOfSearch } from '../search/library-search.ts'
import type { Met } from '../search/text/match.ts'
import { KINDS } from '../search/text/senses.ts'

/** The fields of a search hit beside those of its resource. */
export const matchShape = {
  score: z.number().min(0).max(1),
  matched: z.record(z.string(), z.string()).describe('Field → escaped text with `<em>` around what matched.'),
  met: z
    .array(z.strictObject({ word: z.string(), field: z.string(), kind: z.enum(KINDS) }))
    .optional()
    .describe('How each word is met: as a word, an attribute or a synonym, or by a guess.'),
  missing: z
    .array(z.string())
    .optional()
    .describe('Words that it has as no word, attribute or synonym; absent where it has all.'),
}

/** How a query in words was read. */
export const ReadAs = z
  .strictObject({
    words: z
      .array(z.strictObject({ word: z.string(), as: z.array(z.string()) }))
      .describe(
        'Each word that counts, with what meets it: `text`, `exact text`, `title or brand`, `attribute=value`; ' +
          'or what it may stand for: `beginning of …`, `part of …`, `typo of …`.',
      ),
    without: z.array(z.string()).describe('What no frame may have: the words behind a minus.'),
    ignored: z.array(z.string()).describe('Ignored: common words, and words past the tenth.'),
    let_go: z
      .array(z.string())
      .describe('No frame meets every word. These are the words that not every frame of the response meets.'),
    met: z.int().min(0).describe('Of `words`, how many each frame of the response meets.'),
  })
  .meta({
    id: 'ReadAs',
    examples: [
      {
        words: [
          { word: 'dark', as: ['tone=dark', 'text'] },
          { word: 'terminal', as: ['subject=terminal', 'text'] },
          { word: 'unicorn', as: ['text'] },
        ],
        without: [],
        ignored: ['with', 'a'],
        let_go: ['unicorn'],
        met: 2,
      },
    ],
  }) satisfies z.ZodType<ReadAsOfSearch>

/** A search hit is the resource itself with `score` and `matched`. */
export function toHit<D, R extends object>(
  hit: Hit<D>,
  view: (document: D) => R,
): R & { score: number; matched: Record<string, string>; met?: Met[]; missing?: string[] } {
  const { document, score, matched, met, missing } = hit
  const found = { ...view(document), score, matched }
  return { ...found, ...(met ? { met: [...met] } : {}), ...(missing ? { missing: [...missing] } : {}) }
}
