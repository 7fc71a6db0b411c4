import { isFunctionWord, isGeneric, isRequest, MAX_REQUEST } from './function-words.ts'
import { MAX_PHRASE, type Meaning, meaningOf, type NamedWords, namedBy } from './named-words.ts'
import { joinedTerms, type ReadTerm, termsOf } from './query.ts'
import { CHARACTERS_PER_WORD, isCharacter, MAX_QUERY_WORDS, type Token, tokenize } from './tokens.ts'

/** How a question in plain words is read. Pure. */

export interface Question {
  wanted: ReadTerm[]
  /** Behind a minus or “without”: no frame has them. */
  excluded: ReadTerm[]
  /** What weighs nothing: function words, and words past the tenth. */
  ignored: string[]
}

/** `words`: the techniques of the library by what they are called. */
export function readQuestion(q: string, words?: NamedWords): Question {
  const read: (ReadTerm & { weighs: boolean })[] = []
  const excluded: ReadTerm[] = []
  let isMinus = false
  const pieces = q.split(/["“”„]/)
  pieces.forEach((piece, n) => {
    const tokens = tokenize(piece)
    if (n % 2 === 1 && n < pieces.length - 1) {
      const phrase = tokens.map(({ word }) => word)
      if (phrase.length > 0) {
        if (isMinus) excluded.push(exactly(phrase))
        else read.push({ ...exactly(phrase), weighs: true })
      }
      isMinus = false
      return
    }
    const parts = withoutMinus(piece, tokens)
    const others = withoutUnwanted(parts.left, words)
    excluded.push(...[...parts.excluded, ...others.excluded].map(exactlyNamed))
    read.push(...weigh(termsOf(piece, others.left), words))
    isMinus = /(?:^|\s)-$/.test(piece)
  })
  const last = read.at(-1)
  if (last && !last.exact) last.prefix = true
  // A question of function words alone asks for them.
  const isEmpty = !read.some(({ weighs }) => weighs) && excluded.length === 0
  if (isEmpty) for (const one of read) one.weighs = true
  joinedTerms(read).forEach((join, n) => {
    // Written together begins with what weighs: "log in", not "the log".
    if (!join || !read[n]!.weighs) return
    for (const one of [read[n]!, read[n + 1]!]) one.joins = [...one.joins, join]
  })
  return { ...cut(read), excluded }
}

const exactly = (words: string[]): ReadTerm => ({
  words,
  exact: true,
  prefix: false,
  quoted: true,
  named: [],
  called: [],
  joins: [],
})

const exactlyNamed = (words: string[]): ReadTerm => ({ ...exactly(words), named: namedBy(words, {}) ?? [] })

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

const EXCLUDES = /^(?:without|excluding|except)$/
const ARTICLE = /^(?:an?|the|any)$/

/** What follows “without”, as if it had a minus. A phrase of the table that begins so, “without a face”, stays. */
function withoutUnwanted(
  tokens: readonly Token[],
  words: NamedWords | undefined,
): { left: Token[]; excluded: string[][] } {
  const left: Token[] = []
  const excluded: string[][] = []
  const wordAt = (n: number) => tokens[n]!.word
  const namedAt = (places: readonly number[]) =>
    longest(places.slice(0, MAX_PHRASE), wordAt, words, new Set())?.length ?? 0
  for (let at = 0; at < tokens.length; ) {
    const from = ARTICLE.test(tokens[at + 1]?.word ?? '') ? at + 2 : at + 1
    const rest = [...tokens.keys()].slice(from, from + MAX_PHRASE)
    if (!EXCLUDES.test(wordAt(at)) || rest.length === 0 || namedAt([at, ...rest]) > 0) {
      left.push(tokens[at++]!)
      continue
    }
    const end = from + Math.max(1, namedAt(rest))
    excluded.push(tokens.slice(from, end).map(({ word }) => word))
    at = end
  }
  return { left, excluded }
}

/** The terms of a stretch outside quotes, with what each names and whether it weighs anything. */
function weigh(terms: readonly string[][], words: NamedWords | undefined): (ReadTerm & { weighs: boolean })[] {
  const read = terms.map((list, n) => ({
    words: list,
    exact: isCharacter(list[0]!),
    prefix: false,
    quoted: false,
    named: [] as readonly string[],
    called: [] as readonly string[][],
    joins: [],
    // What an apostrophe cuts off: it's, the founder's.
    weighs: !(isFunctionWord(list[0]!) || (list[0] === 's' && n > 0)),
  }))
  const inPhrase = new Set<number>()
  // Phrases in full first, then without the function words between.
  for (const places of [[...read.keys()], [...read.keys()].filter((n) => read[n]!.weighs)]) {
    for (let at = 0; at < places.length; ) {
      const found = longest(places.slice(at, at + MAX_PHRASE), (n) => read[n]!.words[0]!, words, inPhrase)
      if (!found) {
        at++
        continue
      }
      for (const n of places.slice(at, at + found.length)) {
        if (read[n]!.weighs) Object.assign(read[n]!, found.meaning)
        if (found.length > 1) inPhrase.add(n)
      }
      at += found.length
    }
  }
  // The macro shot of a flower is as much a flower: what says only “picture” or “ground” does not count once more.
  const generic = read.filter((one, n) => read[n - 1]?.named.length && isGeneric(one.words[0]!))
  if (read.filter(({ weighs }) => weighs).length > generic.length + 1) for (const one of generic) one.weighs = false
  for (let at = 0; at < read.length; at++) {
    for (let length = MAX_REQUEST; length > 0; length--) {
      const some = read.slice(at, at + length)
      const isPart = some.some((_, n) => inPhrase.has(at + n))
      if (isPart || !isRequest(some.map((one) => one.words[0]).join(' '))) continue
      for (const one of some) one.weighs = false
    }
  }
  return read
}

function longest(
  places: readonly number[],
  wordAt: (n: number) => string,
  words: NamedWords | undefined,
  taken: ReadonlySet<number>,
): { meaning: Meaning; length: number } | undefined {
  for (let length = places.length; length > 0; length--) {
    const some = places.slice(0, length)
    const meaning = some.some((n) => taken.has(n)) ? undefined : meaningOf(some.map(wordAt), words ?? {})
    if (meaning) return { meaning, length }
  }
  return undefined
}

/** As many words as a question may hold. */
function cut(read: readonly (ReadTerm & { weighs: boolean })[]): { wanted: ReadTerm[]; ignored: string[] } {
  const wanted: ReadTerm[] = []
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
    if (kept.length > 0 && wanted.length < MAX_QUERY_WORDS) wanted.push({ ...one, words: kept })
    ignored.push(...one.words.slice(kept.length))
  }
  return { wanted, ignored: [...new Set(ignored)] }
}
