import type { Platform } from '../../src/vocabulary.ts'
import type { SeedFrame } from '../../test/support/seed.ts'
import judged from './judged-phrases.json' with { type: 'json' }

/**
 * Frames with attributes, most as a vision model describes them and some as the measuring annotator does, and phrases
 * as agents write them. The phrases were judged by attributes and texts before any ranking was tuned: 3 what was asked
 * for, 2 nearly so, 1 passable. The tools' descriptions suggest the first ten. Nobody tunes by the last twenty.
 */

export interface PhraseFrame extends SeedFrame {
  key: string
  /** Of its video. */
  platform?: Platform
}

export interface Phrase {
  q: string
  wanted: Record<string, number>
}

export const PHRASE_FRAMES = judged.frames as readonly PhraseFrame[]
export const PHRASES = judged.phrases as unknown as Record<'suggested' | 'tuned' | 'held', readonly Phrase[]>

/** Reads `question | 3: keys; 2: keys; 1: keys` of each line: the frames by how well they fit. */
export function judgedLines(text: string): Phrase[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [q, grades] = line.split(' | ') as [string, string]
      const wanted = grades.split('; ').flatMap((part) => {
        const [grade, keys] = part.split(': ') as [string, string]
        return keys.split(' ').map((key) => [key, Number(grade)] as const)
      })
      return { q, wanted: Object.fromEntries(wanted) }
    })
}
