import { namedPhrases } from '../text/named-words.ts'
import type { ReadTerm } from '../text/query.ts'
import { sameWords } from '../text/same-words.ts'

/**
 * Words that name an attribute, for an engine that knows synonyms of words only. Each sense of such a word, and each
 * value of an attribute, is one private-use character. A sense's synonyms are its word and the values. Pure.
 */

/** Characters of the last plane belong to no language. Plane 15 holds those of scripts without spaces. */
const FIRST = 0x10_0000

const PHRASES = namedPhrases()
const VALUES = [...new Set(PHRASES.flatMap(({ named }) => named))].sort()
const valueSigns = new Map(VALUES.map((named, n) => [named, String.fromCodePoint(FIRST + n)]))

interface Sense {
  sign: string
  synonyms: string[]
}

const senses = new Map<string, Sense>()
for (const { words, named, called } of PHRASES) {
  for (const word of words) {
    const key = keyOf(word, named)
    if (senses.has(key)) continue
    senses.set(key, {
      sign: String.fromCodePoint(FIRST + VALUES.length + senses.size),
      synonyms: [
        ...new Set([word, `${word}s`, ...named.map((one) => valueSigns.get(one)!), ...called.map((c) => c.join(' '))]),
      ],
    })
  }
}

function keyOf(word: string, named: readonly string[]): string {
  return `${word} ${named.toSorted().join(' ')}`
}

/** The synonyms of the index, by sense and by word. */
export const SYNONYMS: Record<string, string[]> = Object.fromEntries([
  ...[...senses.values()].map(({ sign, synonyms }) => [sign, synonyms]),
  ...sameWords().map(([phrase, same]) => [phrase, same.map((words) => words.join(' '))]),
])

/** The signs of a frame's values. A technique that no word of the table names has none. */
export function valueSignsOf(named: readonly string[]): string[] {
  return named.flatMap((one) => valueSigns.get(one) ?? [])
}

/** The sense of a word as it was read; undefined for one that the index does not know. */
export function senseOf({ words, named }: ReadTerm): string | undefined {
  const word = words[0]!
  return (senses.get(keyOf(word, named)) ?? senses.get(keyOf(word.replace(/s$/, ''), named)))?.sign
}

/** Whether the index knows what these words name. */
export const isKnown = (terms: readonly ReadTerm[], excluded: readonly ReadTerm[]): boolean =>
  terms.every((term) => term.named.length === 0 || senseOf(term) !== undefined) &&
  excluded.every(({ named }) => named.every((one) => valueSigns.has(one)))
