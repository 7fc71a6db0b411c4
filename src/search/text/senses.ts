import { stemOf } from './tokens.ts'
import { editDistance, typosAllowed } from './typos.ts'

/** What the concepts of a question mean in a library. Pure. */

/** A word or phrase of a question that means one thing. */
export interface Concept {
  /** As it was asked for. */
  text: string
  /** The words that count, in their order. A frame has all of them. */
  words: readonly string[]
  /** A quoted phrase or a run of characters: this order, no other form, no typo. */
  exact: boolean
  /** Words that a text has only in this order, each in any form. */
  inRow: boolean
  /** In quotes: in a text alone, and never dropped. */
  quoted: boolean
  /** The last word: it may be the beginning of a longer one. */
  unfinished: boolean
  /** `attribute=value`: what also meets it. */
  named: readonly string[]
  /** Words in a row that mean the same: they meet it in a text too. */
  called: readonly (readonly string[])[]
  /** What it means if it is misspelt: only where the library has nothing that is written so. */
  corrected?: Pick<Concept, 'named' | 'called'> & { meant: string }
  /** The word that it stands for, once it is taken for misspelt. */
  meant?: string
  /** This word written together with the one before or after it. */
  joins: readonly string[]
  /** The words of a phrase, each by itself: where the library lacks what the phrase names. */
  each?: readonly Concept[]
}

/**
 * How a word is met, best first: by a text that has it or another form of it, by an attribute, brand or title, or by a
 * text that has a word for the same. The others are no full match: a longer word, a part of one, a typo.
 */
export const KINDS = ['word', 'attribute', 'synonym', 'beginning', 'part', 'typo'] as const
export type MatchKind = (typeof KINDS)[number]

export interface Sense extends Concept {
  /** Of each of its words: itself and its other forms, where the library has them. */
  forms: readonly (readonly string[])[]
  /** Of a word: which of these, or of the words written together, stand in titles and brands. */
  inNames: readonly string[]
  /** What else may be meant: only of a word that the library has in no form. */
  guesses?: Guesses
}

/** Words of the library that a word may stand for. */
export interface Guesses {
  /** They begin with it. */
  longer: readonly string[]
  /** All that begin with it, because they are too many to list, or are not listed. */
  begins: boolean
  /** Of on-screen text: they hold it. */
  parts: readonly string[]
  /** They differ by typos. */
  close: readonly string[]
  /** Two words that were typed as one. */
  pairs: readonly (readonly [string, string])[]
}

/** What a library has, as a look-up of the words of a question found it. */
export interface Known {
  has(word: string): boolean
  /** What begins alike. */
  like(word: string): readonly string[]
  /** Of titles and brands. */
  isName(word: string): boolean
}

/** Shortest part of an on-screen word that is found; of other scripts two letters. */
const PART_FROM = 4
export const isPartSearchable = (word: string): boolean =>
  word.length >= PART_FROM || (word.length > 1 && /[^\p{ASCII}]/u.test(word))

/**
 * Without what the library lacks. A phrase of which it has neither what it names nor a synonym is read word by word. A
 * word that it has in no form means what it names if it is misspelt.
 */
export function sensesOf(concepts: readonly Concept[], known: Known): Sense[] {
  return concepts.flatMap((concept): Sense[] => {
    const sense = senseOf(concept, known)
    if (concept.each && sense.named.length + sense.called.length === 0)
      return concept.each.map((one) => senseOf(one, known))
    return [sense]
  })
}

function senseOf(concept: Concept, known: Known): Sense {
  const { words, exact } = concept
  const forms = exact ? words.map((word) => [word]) : words.map((word) => formsOf(word, known))
  const joins = concept.joins.filter(known.has)
  const inNames = words.length > 1 ? [] : [...new Set([...forms.flat(), ...joins])].filter(known.isName)
  const sense = { ...concept, ...heldOf(concept, known), forms, joins, inNames }
  if (isMet(sense) || !concept.corrected) return sense
  const { meant, ...meaning } = concept.corrected
  return { ...sense, ...heldOf(meaning, known), meant }
}

const heldOf = ({ named, called }: Pick<Concept, 'named' | 'called'>, known: Known) => ({
  named: named.filter(known.has),
  called: called.filter((words) => words.every(known.has)),
})

/** Whether some row may hold it as a word, an attribute or a synonym. */
export const isMet = ({ exact, forms, named, called, joins }: Sense): boolean =>
  exact || named.length + called.length + joins.length > 0 || forms.every((list) => list.length > 0)

/** The words that decide what is found: those that are only guessed do where the library has no other. */
export function decisive(found: readonly Sense[]): readonly Sense[] {
  const met = found.filter(isMet)
  return met.length > 0 ? met : found
}

/** Whether some row may hold it at all. */
export const isFound = (sense: Sense): boolean => isMet(sense) || isGuessed(sense)

const isGuessed = ({ guesses }: Sense): boolean =>
  guesses !== undefined &&
  (guesses.begins || [guesses.longer, guesses.parts, guesses.close, guesses.pairs].some((list) => list.length > 0))

/** The word itself first, then plural or singular, and endings of verbs. */
function formsOf(word: string, known: Known): string[] {
  const stem = stemOf(word)
  const others = known.like(word).filter((one) => one !== word && stemOf(one) === stem)
  return [...(known.has(word) ? [word] : []), ...others]
}

export interface Candidate {
  word: string
  how: 'longer' | 'part' | 'close' | 'pair'
}

const MAX_GUESSES = 24

/** Typos only where nothing else has the word. */
export function guessesOf(word: string, candidates: readonly Candidate[]): Guesses {
  const how = (kind: Candidate['how']) => [
    ...new Set(candidates.filter((one) => one.how === kind).map((one) => one.word)),
  ]
  const all = how('longer')
  const longer = all.slice(0, MAX_GUESSES)
  const begins = all.length > MAX_GUESSES
  const parts = how('part').filter((part) => !longer.includes(part))
  if (longer.length + parts.length > 0) return { longer, begins, parts, close: [], pairs: [] }
  const pairs = how('pair').map((pair) => pair.split(' ') as [string, string])
  return { longer, begins, parts, close: closeTo(word, how('close')), pairs: pairs.slice(0, MAX_GUESSES) }
}

function closeTo(word: string, others: readonly string[]): string[] {
  const limit = typosAllowed(word)
  return others
    .map((other) => ({ other, distance: editDistance(word, other, limit) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .map(({ other }) => other)
    .slice(0, MAX_GUESSES)
}
