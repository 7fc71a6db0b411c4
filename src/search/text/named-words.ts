import { COUNTED, type CountedName, type Derived, END_SEC, toOklab, type ValueOf } from '../../vocabulary.ts'
import { colorNames } from '../color.ts'
import type { FrameDocument, LibrarySearch, ShownFrame, TechniqueDocument } from '../library-search.ts'
import { ENGLISH, OTHER_LANGUAGES } from '../words/words.ts'
import { nameKey, runsOf, tokenize } from './tokens.ts'
import { editDistance } from './typos.ts'

/** What words name: `attribute=value` by the words in a row. */
export type NamedWords = Readonly<Record<string, readonly string[]>>

/** Longest phrase that names something, in words. */
export const MAX_PHRASE = 5

const TABLE: ReadonlyMap<string, readonly string[]> = tableOf(ENGLISH.attributes)

/** Words of other languages. Where they are written with a `*`, a word may end otherwise. */
const FOREIGN_ROWS = OTHER_LANGUAGES.flatMap((one) => one.attributes).map(({ phrase, named }) => {
  const tokens = tokenize(phrase)
  const words = runsOf(tokens).map((run) => {
    const word = run.map(({ word: part }) => part).join('')
    return phrase[run.at(-1)!.end] === '*' ? `${word}*` : word
  })
  return { words, named }
})
const OPEN_WORDS: ReadonlySet<string> = new Set(
  FOREIGN_ROWS.flatMap(({ words }) => words.flatMap((word) => (word.endsWith('*') ? [word.slice(0, -1)] : []))),
)
const MAX_ENDING = 2
const FOREIGN = groupedBy(FOREIGN_ROWS.map(({ words, named }) => ({ key: words.map(openWord).join(' '), named })))

/** A word as the table of other languages has it: without its ending. */
function openWord(word: string): string {
  if (word.endsWith('*')) return word
  for (let cut = 0; cut <= MAX_ENDING; cut++) {
    const open = word.slice(0, word.length - cut)
    if (OPEN_WORDS.has(open)) return `${open}*`
  }
  return word
}

/** The longest word of the table that characters in a row begin with. */
export function namedRun(characters: string): string | undefined {
  for (let length = Math.min(characters.length, MAX_RUN_NAME); length > 0; length--) {
    const run = characters.slice(0, length)
    if (FOREIGN.has(run)) return run
  }
  return undefined
}
const MAX_RUN_NAME = Math.max(...FOREIGN_ROWS.map(({ words }) => (words.length === 1 ? words[0]!.length : 0)))

/** Every word by itself that names something or means the same as others, with what it means. */
export const namedSenses = (): (Meaning & { word: string })[] =>
  [...new Set([...TABLE.keys(), ...FOREIGN.keys(), ...sameWords()])].flatMap((word) => {
    const meaning = word.includes(' ') ? undefined : meaningOf([word], {})
    return meaning ? [{ word, ...meaning }] : []
  })

/** The techniques of a library by slug, name and aliases. */
function techniqueWords(techniques: readonly { slug: string; name: string; aliases: readonly string[] }[]): NamedWords {
  return Object.fromEntries(
    tableOf(
      techniques.flatMap(({ slug, name, aliases }) =>
        [slug, name, ...aliases].map((phrase) => ({ phrase, named: `technique=${slug}` })),
      ),
    ),
  )
}

/** The techniques of a library, and what they are called. */
interface Vocabulary {
  techniques: TechniqueDocument[]
  words: NamedWords
}

/** Never older than the version of the library: an answer read with older words would be kept under that version. */
export function openVocabulary({
  version,
  techniques,
}: Pick<LibrarySearch, 'version' | 'techniques'>): () => Promise<Vocabulary> {
  let known: { version: string; vocabulary: Promise<Vocabulary> } | undefined
  return async () => {
    const now = await version()
    if (known?.version === now) return known.vocabulary
    const vocabulary = techniques().then((all) => ({ techniques: all, words: techniqueWords(all) }))
    const read = { version: now, vocabulary }
    known = read
    vocabulary.catch(() => {
      if (known === read) known = undefined
    })
    return vocabulary
  }
}

/** What words in a row stand for beside themselves. */
export interface Meaning {
  named: readonly string[]
  /** Words in a row that meet them in a text too. */
  called: readonly (readonly string[])[]
}

/** Undefined for words that stand only for themselves. */
export function meaningOf(words: readonly string[], techniques: NamedWords): Meaning | undefined {
  const phrase = words.join(' ')
  return meaningBy(lookUp(phrase, techniques) ?? singular(phrase, techniques), sameAs(phrase), words.length > 1)
}

/** What a misspelt word means, and which word it stands for; undefined for one that is like no word of the table. */
export function correctedMeaning(word: string): (Meaning & { meant: string }) | undefined {
  const meant = misspelt(word, SHORTEST)
  const meaning = meant === undefined ? undefined : meaningBy(TABLE.get(meant))
  return meaning && { ...meaning, meant: meant! }
}

/** A phrase that names two attributes, talking to the camera, is no other word for one of them. */
function meaningBy(
  named: readonly string[] = [],
  same: readonly (readonly string[])[] = [],
  isPhrase = false,
): Meaning | undefined {
  const called = [...(isPhrase && attributesOf(named).size > 1 ? [] : plainNames(named)), ...same]
  return named.length > 0 || called.length > 0 ? { named, called } : undefined
}

/** What these words name together; undefined for nothing. A long word may have letters wrong. */
export function namedBy(words: readonly string[], techniques: NamedWords): readonly string[] | undefined {
  const phrase = words.join(' ')
  return (
    lookUp(phrase, techniques) ??
    singular(phrase, techniques) ??
    (words.length === 1 ? TABLE.get(misspelt(phrase) ?? '') : undefined)
  )
}

/** What a plural names. Adjectives have none: lights are no bright tone. */
function singular(phrase: string, techniques: NamedWords): readonly string[] | undefined {
  if (!/[a-z]{3}s$/.test(phrase)) return undefined
  const named = lookUp(phrase.slice(0, -1), techniques)
  return phrase.includes(' ') || !named?.every((one) => one.startsWith('tone=')) ? named : undefined
}

/** The values of one attribute that these words are the name of: `left` of three zones. */
export function valuesCalled(attribute: string, phrase: string): string[] {
  const named = namedBy(nameKey(phrase).split(' '), {}) ?? []
  return named.filter((one) => one.startsWith(`${attribute}=`)).map((one) => one.slice(attribute.length + 1))
}

/**
 * Words of the table that a misspelt word can hardly be confused with. Shorter ones are one letter away from other
 * words: talking and walking, product and produce.
 */
const LONG_WORDS = [...TABLE.keys()].filter((key) => /^[a-z]{8,}$/.test(key))

/** Letters of a word that may have two swapped: where the library has no such word, and where it may have one. */
const SHORTEST = 4
const SHORTEST_NAMED = 6

/** The long word of the table that starts alike and differs in as few letters as typos are forgiven. */
function misspelt(word: string, shortest = SHORTEST_NAMED): string | undefined {
  const isSwapped = word.length >= shortest && /^[a-z]+$/.test(word) ? swapped(word) : undefined
  if (isSwapped || !/^[a-z]{7,}$/.test(word)) return isSwapped
  const typos = word.length < 9 ? 1 : 2
  const near = (most: number) => LONG_WORDS.find((key) => key[0] === word[0] && editDistance(word, key, most) === most)
  return near(1) ?? (typos > 1 ? near(2) : undefined)
}

/** The word of the table that differs by a swap of two neighbours behind the first: few words do by chance. */
function swapped(word: string): string | undefined {
  for (let at = 1; at < word.length - 1; at++) {
    const other = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
    if (TABLE.has(other)) return other
  }
  return undefined
}

const attributesOf = (named: readonly string[]) => new Set(named.map((one) => one.slice(0, one.indexOf('='))))

/** What a subject or tone is called in the lists: a text may say so. */
function plainNames(named: readonly string[]): string[][] {
  return named.flatMap((one) => {
    const [attribute, value] = one.split('=') as [string, string]
    return attribute === 'subject' || attribute === 'tone' ? [value.split('-')] : []
  })
}

function lookUp(phrase: string, techniques: NamedWords): readonly string[] | undefined {
  const one = TABLE.get(phrase) ?? FOREIGN.get(phrase.split(' ').map(openWord).join(' '))
  const other = Object.hasOwn(techniques, phrase) ? techniques[phrase] : undefined
  return one && other ? [...new Set([...one, ...other])] : (one ?? other)
}

function tableOf(rows: readonly { phrase: string; named: string }[]): Map<string, readonly string[]> {
  return groupedBy(rows.map(({ phrase, named }) => ({ key: nameKey(phrase), named })))
}

function groupedBy(rows: readonly { key: string; named: string }[]): Map<string, readonly string[]> {
  const table = new Map<string, readonly string[]>()
  for (const { key, named } of rows) {
    const held = table.get(key) ?? []
    if (key !== '' && !held.includes(named)) table.set(key, [...held, named])
  }
  return table
}

const keysOf = (phrases: readonly string[]) => phrases.map(nameKey)
const OTHERS: ReadonlyMap<string, readonly string[]> = othersOf([
  ...ENGLISH.synonyms.map((same) => [keysOf(same), keysOf(same)] as const),
  ...Object.entries(ENGLISH.narrower).map(([wider, narrower]) => [keysOf(wider.split(',')), keysOf(narrower)] as const),
])

/** What means the same as these words in a row, as words in a row; also for a plural. */
function sameAs(phrase: string): string[][] {
  const others = OTHERS.get(phrase) ?? (/[a-z]{3}s$/.test(phrase) ? OTHERS.get(phrase.slice(0, -1)) : undefined)
  return (others ?? []).map((other) => other.split(' '))
}

/** Whether the list has the word: then nobody mistyped another one. */
export const isListed = (word: string): boolean => sameAs(word).length > 0

/** Every phrase of the list, and its plural. */
const sameWords = (): string[] => [...OTHERS.keys()].flatMap((phrase) => [phrase, pluralOf(phrase) ?? []].flat())

/** What is asked for, with what else meets it. */
function othersOf(
  rows: readonly (readonly [asked: readonly string[], meeting: readonly string[]])[],
): Map<string, readonly string[]> {
  const others = new Map<string, readonly string[]>()
  for (const [asked, meeting] of rows)
    for (const phrase of asked) {
      const same = meeting.filter((other) => other !== phrase).flatMap((other) => [other, pluralOf(other) ?? []].flat())
      others.set(phrase, [...new Set([...(others.get(phrase) ?? []), ...same])])
    }
  return others
}

/** Of a noun of one word; undefined for what has none. */
function pluralOf(phrase: string): string | undefined {
  if (!/^[a-z]+$/.test(phrase) || /(?:s|ic|ist|al|ul|ing|children)$/.test(phrase)) return undefined
  return /[^aeiou]y$/.test(phrase) ? `${phrase.slice(0, -1)}ies` : `${phrase}s`
}

type Rules = { [N in Derived]: (frame: ShownFrame) => ValueOf<N> | readonly ValueOf<N>[] | null }

/** Share of bare ground from which a drawn picture has lots of it, or some. */
const LOTS = 0.75
const SOME = 0.4

/** How each follows from a frame. What was not measured is null. */
const RULES: Rules = {
  part({ t_sec: t, video: { duration_sec: length } }) {
    if (length === null || length <= 0) return null
    const end = Math.min(END_SEC, length / 3)
    if (t < end) return 'opening'
    return t >= length - end ? 'ending' : 'middle'
  },
  within({ t_sec: t, video: { duration_sec: length } }) {
    const left = length === null || length <= 0 ? Number.POSITIVE_INFINITY : length - t
    const side = (name: 'first' | 'last', distance: number) =>
      ([1, 3, 10] as const).filter((most) => distance <= most).map((most) => `${name}-${most}s` as const)
    return [...side('first', t), ...side('last', left)]
  },
  orientation({ width, height }) {
    if (width === height) return 'square'
    return width > height ? 'landscape' : 'portrait'
  },
  faces({ measures }) {
    const { faces } = measures
    return faces === null ? null : ((['none', 'one', 'two'] as const)[faces] ?? 'several')
  },
  space({ measures }) {
    const share = measures.empty_share
    if (share === null) return null
    if (share >= LOTS) return 'lots'
    return share >= SOME ? 'some' : 'little'
  },
  lettering({ measures }) {
    const { ink, ground } = measures
    if (!ink || !ground) return null
    return toOklab(ink).l > toOklab(ground).l ? 'light-on-dark' : 'dark-on-light'
  },
  described: ({ subject }) => (subject === null ? 'no' : 'yes'),
}

/** The stored attributes that a word of a question may name; `kind` first, as the indexes have them. */
const NAMED_ATTRIBUTES = [...new Set<CountedName>(['kind', ...COUNTED])].filter((name) => name !== 'author')

/** What a frame shows, as the words of a question name it: `attribute=value`. `asked`: of these attributes only. */
export function namedValues(frame: FrameDocument, asked?: ReadonlySet<string>): string[] {
  const isAsked = (attribute: string) => asked?.has(attribute) ?? true
  const stored = NAMED_ATTRIBUTES.filter(isAsked).map((attribute) => [attribute, frame[attribute] ?? []] as const)
  const derived = Object.entries(RULES).filter(([name]) => isAsked(name))
  const values = [...stored, ...derived.map(([name, follow]) => [name, follow(frame) ?? []] as const)]
  return [
    ...values.flatMap(([attribute, some]) => [some].flat().map((value) => `${attribute}=${value}`)),
    ...(isAsked('color') ? colorNames(frame).map((name) => `color=${name}`) : []),
  ]
}

/** The colours that fill much of a frame, as words of a question name them: those frames stand before the others. */
export const mostlyValues = (frame: FrameDocument): string[] =>
  colorNames(frame, { mostly: true }).map((name) => `color=${name}`)
