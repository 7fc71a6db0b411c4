import type { JoinedTerm, ReadTerm } from './query.ts'
import { editDistance, typosAllowed } from './typos.ts'
import { stemOf } from './word-forms.ts'

/** What is wanted, together with the words of the library that it may stand for. */
export interface ExpandedTerm extends ReadTerm {
  /** Whole words that differ by typos. */
  close: string[]
  /** Its other forms: plural or singular, and endings of verbs. */
  forms: string[]
  /** On-screen words that contain it. */
  parts: string[]
  /** Two words that were typed as one. */
  pairs: [string, string][]
  /** Of a word that is being typed: all longer words that begin with it. Absent where they are too many, or unknown. */
  longer?: string[]
}

/** A word of the library that a word of the query may stand for. With a space in it, it is two words in a row. */
export interface TypoCandidate {
  word: string
  /** From on-screen text, where a word is also found by a part of it. */
  screen: boolean
  /** One of the words that begin with it: up to `MAX_LONGER` and one, so that it shows whether there are more. */
  longer?: boolean
}

/** An index looks up so many words sooner than all that begin alike. */
export const MAX_LONGER = 24
const MAX_CLOSE = 12
const MAX_PARTS = 40

export function isPartSearchable(word: string): boolean {
  return word.length >= 3 || (word.length === 2 && /[^\p{ASCII}]/u.test(word))
}

/** What one word may stand for. */
type WordExpansion = Pick<ExpandedTerm, 'close' | 'forms' | 'parts' | 'pairs' | 'longer'>

/** `candidates`: the words of the library that resemble this word. */
export function expansionOf(word: string, candidates: readonly TypoCandidate[]): WordExpansion {
  const all = candidates.filter((candidate) => !candidate.longer)
  const longer = candidates.filter((candidate) => candidate.longer).map((candidate) => candidate.word)
  const single = all.filter((candidate) => !candidate.word.includes(' '))
  return {
    close: closeTo(word, single),
    forms: formsOf(word, single),
    parts: containing(word, single),
    pairs: all
      .filter((candidate) => candidate.word.includes(' '))
      .map((candidate) => candidate.word.split(' ') as [string, string])
      .slice(0, MAX_CLOSE),
    ...(longer.length <= MAX_LONGER ? { longer } : {}),
  }
}

const ONLY_ITSELF: WordExpansion = { close: [], forms: [], parts: [], pairs: [] }

/** `known`: what the first word of a term may stand for; undefined for a word that nothing is known of. */
export function expandTerms(
  terms: readonly ReadTerm[],
  known: (word: string) => WordExpansion | undefined,
): ExpandedTerm[] {
  return terms.map((term) => {
    const { longer, ...others } = (term.exact ? undefined : known(term.words[0]!)) ?? ONLY_ITSELF
    const joins = term.joins.filter((join) => mayBe(join, known(join.first)?.longer))
    return { ...term, ...others, joins, ...(term.prefix && longer ? { longer } : {}) }
  })
}

/** Whether the library may have two words written as one. All words that begin with the first of them say it. */
const mayBe = ({ word, prefix }: JoinedTerm, longer: readonly string[] | undefined): boolean =>
  longer === undefined || longer.some((one) => (prefix ? one.startsWith(word) : one === word))

function closeTo(word: string, candidates: readonly TypoCandidate[]): string[] {
  const limit = typosAllowed(word)
  if (limit === 0) return []
  // A word that is there begins as it is typed: a flower is not lower.
  const isThere = candidates.some((candidate) => candidate.word === word)
  const close = candidates
    .filter((candidate) => !isThere || candidate.word[0] === word[0])
    .map((candidate) => ({ word: candidate.word, distance: editDistance(word, candidate.word, limit) }))
    .filter(({ distance, word: other }) => distance <= limit && other !== word)
    .sort((a, b) => a.distance - b.distance || compare(a.word, b.word))
  return [...new Set(close.map(({ word: other }) => other))].slice(0, MAX_CLOSE)
}

function formsOf(word: string, candidates: readonly TypoCandidate[]): string[] {
  const stem = stemOf(word)
  const forms = candidates.map((candidate) => candidate.word).filter((one) => one !== word && stemOf(one) === stem)
  return [...new Set(forms)].sort(compare).slice(0, MAX_CLOSE)
}

function containing(word: string, candidates: readonly TypoCandidate[]): string[] {
  if (!isPartSearchable(word)) return []
  const parts = candidates
    .filter((candidate) => candidate.screen && candidate.word !== word && candidate.word.includes(word))
    .map((candidate) => candidate.word)
    .sort((a, b) => a.length - b.length || compare(a, b))
  return [...new Set(parts)].slice(0, MAX_PARTS)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
