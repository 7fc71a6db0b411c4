import { ATTRIBUTES, DERIVED } from '../../vocabulary.ts'
import { namedSenses } from '../text/named-words.ts'
import type { Concept } from '../text/senses.ts'
import { stemOf, tokenize } from '../text/tokens.ts'

/**
 * Words that name an attribute or mean the same as others, for an engine that knows synonyms of words only. Each sense
 * of such a word, each value of an attribute, and each list of words that mean the same is one private-use character.
 * The synonyms of a sense are its word, the values, and the list: each stands in a field of its own, so that the order
 * of fields is the order of kinds. Pure.
 */

/** Characters of the last plane belong to no language. Plane 15 holds those of scripts without spaces. */
const FIRST = 0x10_0000
let next = FIRST
const newSign = () => String.fromCodePoint(next++)

type Meaning = Pick<Concept, 'named' | 'called'>

const SENSES = namedSenses()
const listKey = ({ called }: Meaning): string => called.map((words) => words.join(' ')).join(',')
const senseKey = (word: string, meaning: Meaning): string =>
  [stemOf(word), meaning.named.toSorted().join(' '), listKey(meaning)].join(';')

const derived = DERIVED.flatMap((name) => ATTRIBUTES[name].values.map((value) => `${name}=${value}`))
const valueSigns = new Map(
  [...new Set([...SENSES.flatMap(({ named }) => named), ...derived])].sort().map((one) => [one, newSign()]),
)
const listSigns = new Map<string, string>()
/** What meets a list, by its first word. */
const lists = new Map<string, { words: readonly string[]; sign: string }[]>()
for (const meaning of SENSES) {
  const key = listKey(meaning)
  if (key === '' || listSigns.has(key)) continue
  const sign = newSign()
  listSigns.set(key, sign)
  for (const words of meaning.called) lists.set(words[0]!, [...(lists.get(words[0]!) ?? []), { words, sign }])
}
const senses = new Map<string, { sign: string; synonyms: string[] }>()
for (const { word, ...meaning } of SENSES) {
  const key = senseKey(word, meaning)
  if (senses.has(key)) continue
  const list = listSigns.get(listKey(meaning))
  const synonyms = [stemOf(word), ...valueSignsOf(meaning.named), ...(list === undefined ? [] : [list])]
  senses.set(key, { sign: newSign(), synonyms })
}

/** The synonyms of the index, by sense. */
export const SYNONYMS: Record<string, string[]> = Object.fromEntries(
  [...senses.values()].map(({ sign, synonyms }) => [sign, synonyms]),
)

/** The signs of a frame's values. A technique that no word of the table names has none. */
export function valueSignsOf(named: readonly string[]): string[] {
  return named.flatMap((one) => valueSigns.get(one) ?? [])
}

/** The signs of the lists that a text has a word of. */
export function listSignsOf(text: string): string[] {
  const words = tokenize(text).map(({ word }) => word)
  const signs = words.flatMap((word, at) =>
    (lists.get(word) ?? []).flatMap((one) => (one.words.every((w, n) => words[at + n] === w) ? one.sign : [])),
  )
  return [...new Set(signs)]
}

/** The sense of a word as it was read; undefined for one that the index does not know. */
export const senseOf = ({ words, ...meaning }: Concept): string | undefined =>
  senses.get(senseKey(words[0]!, meaning))?.sign

/** Whether these words name nothing that the index does not know. */
export const isKnown = (concepts: readonly Concept[]): boolean =>
  concepts.every((one) => one.named.length + one.called.length === 0 || senseOf(one) !== undefined)
