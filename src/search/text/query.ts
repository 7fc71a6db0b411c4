import {
  CHARACTERS_PER_WORD,
  hasCharacters,
  isCharacter,
  MAX_QUERY_WORDS,
  MAX_RUN,
  type Token,
  tokenize,
} from './tokens.ts'

/** One thing a query searches for: a word, or a phrase of several in a row. */
export interface Term {
  words: string[]
  /** A quoted phrase or a run of characters: this order, no prefix, no typo. */
  exact: boolean
  /** The word being typed: documents may hold a longer one. */
  prefix: boolean
}

/**
 * Quoted stretches and runs of characters become phrases, everything else single words.
 * An unclosed quote is still being typed and quotes nothing.
 */
export function parseQuery(q: string): Term[] {
  const terms: Term[] = []
  let room = MAX_QUERY_WORDS
  const add = (words: readonly string[], exact: boolean) => {
    const kept: string[] = []
    for (const word of words) {
      const size = isCharacter(word) ? 1 / CHARACTERS_PER_WORD : 1
      if (room < size) break
      room -= size
      kept.push(word)
    }
    if (kept.length > 0 && terms.length < MAX_QUERY_WORDS) terms.push({ words: kept, exact, prefix: false })
  }
  const pieces = q.split(/["“”„]/)
  pieces.forEach((piece, n) => {
    const tokens = tokenize(piece)
    const isQuoted = n % 2 === 1 && n < pieces.length - 1
    if (isQuoted) {
      const phrase = tokens.map(({ word }) => word)
      add(phrase, true)
    } else for (const words of termsOf(piece, tokens)) add(words, isCharacter(words[0]!))
  })
  const last = terms.at(-1)
  if (last && !last.exact) last.prefix = true
  return terms
}

/** Words one by one, characters by their runs. */
function termsOf(text: string, tokens: readonly Token[]): string[][] {
  const terms: string[][] = []
  for (let at = 0; at < tokens.length; ) {
    const from = at++
    if (isCharacter(tokens[from]!.word))
      while (at < tokens.length && isCharacter(tokens[at]!.word) && tokens[at]!.start <= tokens[at - 1]!.end) at++
    const run = tokens.slice(from, at)
    if (run.length <= MAX_RUN) terms.push(run.map(({ word }) => word))
    else terms.push(...wordsOfRun(text, run))
  }
  return terms
}

/** The words a reader sees in a text without spaces. A text in another script is returned whole. */
export function dictionaryWords(text: string): string[] {
  if (!hasCharacters(text)) return [text]
  return [...SEGMENTER.segment(text)].flatMap(({ segment, isWordLike }) => (isWordLike ? segment : []))
}

const SEGMENTER = new Intl.Segmenter('ja', { granularity: 'word' })
/** Carries no meaning by itself. */
const PARTICLE = /^(?:\p{sc=Hiragana}|[的了是在和])$/u

/**
 * The words of a sentence, by ICU's dictionaries. Runs unknown to them are cut by length.
 * Wrong cuts do no harm: documents are not cut this way, and any part of a run is found.
 */
function wordsOfRun(text: string, run: readonly Token[]): string[][] {
  const start = run[0]!.start
  const words: string[][] = []
  let next = 0
  for (const { segment, index } of SEGMENTER.segment(text.slice(start, run.at(-1)!.end))) {
    const end = start + index + segment.length
    const word: string[] = []
    for (; next < run.length && run[next]!.start < end; next++) {
      if (word.length === MAX_RUN) words.push(word.splice(0))
      word.push(run[next]!.word)
    }
    if (word.length > 0) words.push(word)
  }
  const meaningful = words.filter((word) => !PARTICLE.test(word.join('')))
  return meaningful.length > 0 ? meaningful : words
}
