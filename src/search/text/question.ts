import type { ReadAs } from '../library-search.ts'
import { wordsOf } from '../words/words.ts'
import {
  correctedMeaning,
  MAX_PHRASE,
  type Meaning,
  meaningOf,
  type NamedWords,
  namedBy,
  namedRun,
} from './named-words.ts'
import { type Concept, isMet, type Sense } from './senses.ts'
import {
  CHARACTERS_PER_WORD,
  fold,
  isCharacter,
  MAX_QUERY_WORDS,
  nameKey,
  type Token,
  termsOf,
  tokenize,
} from './tokens.ts'

/** How a question in plain words is read. Pure. */

export interface Question {
  /** As it was asked. */
  text: string
  wanted: Concept[]
  /** Behind a minus, “without” or “not”: no frame has them. */
  excluded: Concept[]
  /** What weighs nothing: function words, words and exclusions past the tenth, and what is past `MAX_READ`. */
  ignored: string[]
}

type Read = Concept & { weighs: boolean }

/** Words, or characters of scripts without spaces: reading grows with their square. */
const MAX_READ = 100

/** `words`: the techniques of the library by what they are called. */
export function readQuestion(q: string, words: NamedWords = {}): Question {
  const read: Read[] = []
  const all: Concept[] = []
  let unread: string[] = []
  let room = MAX_READ
  let isMinus = false
  const pieces = q.split(/["“”„]/)
  pieces.forEach((piece, n) => {
    const written = tokenize(piece)
    const tokens = written.slice(0, room)
    room -= tokens.length
    unread = unread.concat(written.slice(tokens.length).map(({ word }) => word))
    if (n % 2 === 1 && n < pieces.length - 1) {
      const phrase = tokens.map(({ word }) => word)
      if (phrase.length > 0) {
        if (isMinus) all.push(exactly(phrase))
        else read.push({ ...exactly(phrase), weighs: true })
      }
      isMinus = false
      return
    }
    const parts = withoutMinus(piece, tokens)
    const others = withoutUnwanted(parts.left, words)
    all.push(...[...parts.excluded, ...others.excluded].map(exactlyNamed))
    read.push(...weigh(termsOf(piece, others.left, namedRun), words))
    isMinus = /(?:^|\s)-$/.test(piece)
  })
  const excluded = all.slice(0, MAX_QUERY_WORDS)
  unread.push(...all.slice(MAX_QUERY_WORDS).flatMap(({ words: one }) => one))
  // A question of function words alone asks for them.
  const isEmpty = !read.some(({ weighs }) => weighs) && excluded.length === 0
  if (isEmpty) for (const one of read) one.weighs = true
  joinedWords(read).forEach((join, n) => {
    // Written together begins with what weighs: "log in", not "the log".
    if (!join || !read[n]!.weighs) return
    for (const one of [read[n]!, read[n + 1]!]) one.joins = [...one.joins, join]
  })
  const { wanted, ignored } = cut(read)
  const last = wanted.at(-1)
  const isLast = last?.words.length === 1 && last.words[0] === tokenize(q).at(-1)?.word
  if (last && !last.exact && isLast) last.unfinished = true
  return { text: q, wanted, excluded, ignored: [...new Set([...ignored, ...unread])] }
}

/** Shortest word that is also found written together or apart. */
const JOINED_FROM = 3

/** The nth concept written together with the next: wifi for wi-fi, dont for don't. */
function joinedWords(concepts: readonly Concept[]): (string | undefined)[] {
  return concepts.map((concept, n) => {
    const next = concepts[n + 1]
    if (!next || [concept, next].some(({ exact, each }) => exact || each)) return undefined
    const word = concept.words[0]! + next.words[0]!
    return word.length >= JOINED_FROM ? word : undefined
  })
}

const plain = (words: readonly string[], text: string): Concept => ({
  text,
  words,
  exact: false,
  quoted: false,
  inRow: false,
  unfinished: false,
  named: [],
  called: [],
  joins: [],
})

function exactly(words: readonly string[]): Concept {
  const text = words.join(' ')
  return { ...plain(words, words.length > 1 ? `"${text}"` : text), exact: true, quoted: true }
}

const exactlyNamed = (words: string[]): Concept => ({ ...exactly(words), named: namedBy(words, {}) ?? [] })

/** The words behind a minus, each with what is joined to it without a space, and the tokens that are left. */
function withoutMinus(text: string, tokens: readonly Token[]): { left: Token[]; excluded: string[][] } {
  const left: Token[] = []
  const excluded: string[][] = []
  let end = -1
  for (const token of tokens) {
    const { word, start } = token
    if (end >= 0 && !/\s/.test(text.slice(end, start))) excluded.at(-1)!.push(word)
    else if (text[start - 1] === '-' && /^\s?$/.test(text[start - 2] ?? '')) excluded.push([word])
    else {
      left.push(token)
      end = -1
      continue
    }
    end = token.end
  }
  return { left, excluded }
}

/** What follows “without”, as if it had a minus. A phrase of the table that begins so, “without a face”, stays. */
function withoutUnwanted(tokens: readonly Token[], words: NamedWords): { left: Token[]; excluded: string[][] } {
  const left: Token[] = []
  const excluded: string[][] = []
  const all = tokens.map(({ word }) => word)
  const namedAt = (places: readonly number[]) => longest(places.slice(0, MAX_PHRASE), all, words)?.length ?? 0
  const places = [...tokens.keys()]
  const from = (at: number) => places.slice(at, at + MAX_PHRASE)
  let end = -1
  for (let at = 0; at < tokens.length; ) {
    // Not dark or blurry: neither of them.
    const length = at === end && /^n?or$/.test(all[at]!) ? 1 : exclusionAt(all, at)
    let next = at + length
    while (length > 0 && next < all.length && isFunctionWord(all[next]!) && namedAt(from(next)) < 2) next++
    if (length === 0 || next === all.length || namedAt([at, ...from(next)]) > 0) {
      left.push(tokens[at++]!)
      continue
    }
    // Everything except a terminal: “everything” asks for nothing.
    if (EVERYTHING.has(left.at(-1)?.word ?? '')) left.pop()
    end = next + Math.max(1, namedAt(from(next)))
    excluded.push(all.slice(next, end))
    at = end
  }
  return { left, excluded }
}

/** The number of words there that leave out what follows them: 0 for none, as of “not only”. */
function exclusionAt(words: readonly string[], at: number): number {
  const isOne = (length: number) =>
    at + length <= words.length && EXCLUSIONS.has(words.slice(at, at + length).join(' '))
  const length = isOne(2) ? 2 : Number(isOne(1))
  return /^(?:only|just)$/.test(words[at + length] ?? '') ? 0 : length
}

/** The concepts of a stretch outside quotes: words and phrases, with what each means and whether it weighs anything. */
function weigh(terms: readonly string[][], techniques: NamedWords): Read[] {
  const first = terms.map((term) => term.join(''))
  const singles = terms.map((words, n): Read => {
    const word = words.join('')
    const meaning = meaningOf([word], techniques)
    const corrected = meaning ? undefined : correctedMeaning(word)
    // What an apostrophe cuts off: it's, the founder's.
    const weighs = !(isFunctionWord(word) || (word === 's' && n > 0))
    return { ...plain(words, word), exact: isCharacter(words[0]!), ...meaning, ...(corrected && { corrected }), weighs }
  })
  const phrases = phrasesIn(first, singles, techniques)
  const read = singles.flatMap((single, n): Read[] => {
    const phrase = phrases.find(({ places }) => places.includes(n))
    if (!phrase) return [single]
    return phrase.places[0] === n ? [phraseOf(phrase, singles)] : []
  })
  // The macro shot of a flower is as much a flower: what says only “picture” or “ground” does not count once more.
  // Where adjectives stand behind, the ground comes first: fond bleu.
  const besideNamed = (n: number, text: string) =>
    read[n - 1]?.named.length || (GROUND.has(text) && read[n + 1]?.named.length)
  const generic = read.filter((one, n) => !one.each && isGeneric(one.text) && besideNamed(n, one.text))
  if (read.filter(({ weighs }) => weighs).length > generic.length) for (const one of generic) one.weighs = false
  for (let at = 0; at < read.length; at++) {
    for (let length = MAX_REQUEST; length > 0; length--) {
      const some = read.slice(at, at + length)
      if (some.some(({ each }) => each) || !isRequest(some.map(({ text }) => text).join(' '))) continue
      for (const one of some) one.weighs = false
    }
  }
  return read
}

interface Phrase {
  /** Of its words, the first to the last. */
  places: number[]
  meaning: Meaning
}

/**
 * The longest phrases first, in full or without the function words between. Of two as long the one that names a
 * subject, because adjectives stand before it: a dark text card is a card, not dark text.
 */
function phrasesIn(words: readonly string[], singles: readonly Read[], techniques: NamedWords): Phrase[] {
  const all = [...words.keys()]
  const found = [all, all.filter((n) => singles[n]!.weighs)].flatMap((places) =>
    places.flatMap((from, at): Phrase[] => {
      const phrase = longest(places.slice(at, at + MAX_PHRASE), words, techniques)
      if (!phrase || phrase.length < 2) return []
      const to = places[at + phrase.length - 1]!
      return [{ places: all.slice(from, to + 1), meaning: phrase.meaning }]
    }),
  )
  const taken = new Set<number>()
  return found
    .toSorted((a, b) => b.places.length - a.places.length || namesSubject(b) - namesSubject(a))
    .filter(({ places }) => {
      const isFree = !places.some((n) => taken.has(n))
      if (isFree) for (const n of places) taken.add(n)
      return isFree
    })
}

const namesSubject = ({ meaning }: Phrase) => Number(meaning.named.some((one) => one.startsWith('subject=')))

function phraseOf({ places, meaning }: Phrase, singles: readonly Read[]): Read {
  const all = places.map((n) => singles[n]!)
  const counted = all.filter(({ weighs }) => weighs)
  const specific = counted.filter(({ words }) => !isGeneric(words.join('')))
  const each = [specific, counted].find((some) => some.length > 0) ?? all
  // One word of a phrase says less than the phrase: on white, dark background.
  const words = (each.length > 1 ? each : all).flatMap((one) => one.words)
  const text = all.map((one) => one.text).join(' ')
  return { ...plain(words, text), ...meaning, inRow: each.length === 1, each, weighs: true }
}

function longest(
  places: readonly number[],
  words: readonly string[],
  techniques: NamedWords,
): { meaning: Meaning; length: number } | undefined {
  for (let length = places.length; length > 0; length--) {
    const meaning = meaningOf(
      places.slice(0, length).map((n) => words[n]!),
      techniques,
    )
    if (meaning) return { meaning, length }
  }
  return undefined
}

/** As many words as a question may hold. */
function cut(read: readonly Read[]): { wanted: Concept[]; ignored: string[] } {
  const wanted: Concept[] = []
  const ignored: string[] = []
  let room = MAX_QUERY_WORDS
  for (const { weighs, ...one } of read) {
    if (!weighs) {
      ignored.push(...one.words)
      continue
    }
    const kept: string[] = []
    for (const word of one.words) {
      const size = isCharacter(word) ? 1 / CHARACTERS_PER_WORD : 1
      if (room < size) break
      room -= size
      kept.push(word)
    }
    const isWhole = kept.length === one.words.length
    if (kept.length > 0 && wanted.length < MAX_QUERY_WORDS)
      wanted.push(isWhole ? one : { ...one, words: kept, text: kept.join(isCharacter(kept[0]!) ? '' : ' ') })
    ignored.push(...one.words.slice(kept.length))
  }
  return { wanted, ignored }
}

/** How a question was read, for its answer. `letGo`: what not every frame of the set meets. */
export function readAsOf(
  { excluded, ignored }: Question,
  senses: readonly Sense[],
  letGo: readonly Sense[] = [],
  met: number = senses.length,
): ReadAs {
  return {
    words: senses.map((sense) => ({ word: sense.text, as: meetingOf(sense) })),
    without: excluded.map(({ text }) => text),
    ignored,
    let_go: letGo.map(({ text }) => text),
    met,
  }
}

/** Words of the library that are told of one that it lacks. */
const MAX_TOLD = 3

function meetingOf(sense: Sense): string[] {
  if (sense.quoted) return ['exact text']
  const { named, inNames, guesses, meant } = sense
  const typo = meant === undefined ? [] : [`typo of ${meant}`]
  if (isMet(sense) || !guesses) return [...typo, ...named, ...(inNames.length > 0 ? ['title or brand'] : []), 'text']
  const told = (what: string, words: readonly string[]) =>
    words.length > 0 ? [`${what} ${words.slice(0, MAX_TOLD).join(', ')}${words.length > MAX_TOLD ? ' …' : ''}`] : []
  const { longer, parts, close, pairs } = guesses
  const guessed = [
    ...told('beginning of', longer),
    ...told('part of', parts),
    ...told('typo of', [...close, ...pairs.map((pair) => pair.join(' '))]),
  ]
  return guessed.length > 0 ? guessed : ['text']
}

const FUNCTION_WORDS: ReadonlySet<string> = new Set(wordsOf('ignored').map(fold))
const PARTICLES = new RegExp(`^(?:${wordsOf('particles').join('|')})+$`)
const REQUESTS: ReadonlySet<string> = new Set(wordsOf('requests'))
const EXCLUSIONS: ReadonlySet<string> = new Set(wordsOf('without').map(nameKey))
const EVERYTHING: ReadonlySet<string> = new Set(wordsOf('everything'))
const GROUND: ReadonlySet<string> = new Set(wordsOf('ground').map(fold))
const GENERIC: ReadonlySet<string> = new Set(wordsOf('generic').flatMap((word) => [word, `${word}s`]))

export const isFunctionWord = (word: string): boolean => FUNCTION_WORDS.has(word) || PARTICLES.test(word)

const isGeneric = (word: string): boolean => GENERIC.has(word) || GROUND.has(word)

/** Longest request, in words. */
const MAX_REQUEST = 3
const isRequest = (phrase: string): boolean => REQUESTS.has(phrase)
