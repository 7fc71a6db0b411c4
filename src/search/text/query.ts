import { isCharacter, MAX_RUN, type Token } from './tokens.ts'

/** One thing a query searches for: a word, or a phrase of several in a row. */
export interface Term {
  words: string[]
  /** A quoted phrase or a run of characters: this order, no prefix, no typo. */
  exact: boolean
  /** The word being typed: documents may hold a longer one. */
  prefix: boolean
}

export interface JoinedTerm {
  word: string
  /** The first of the two words. */
  first: string
  prefix: boolean
}

/** A term as a question reads it. */
export interface ReadTerm extends Term {
  /** In quotes: exactly so, in a text, and never let go. */
  quoted: boolean
  /** `attribute=value`: what also meets it. */
  named: readonly string[]
  /** The plain names of what it names: they meet it in a text too. */
  called: readonly (readonly string[])[]
  /** This word written together with the one before or after it. */
  joins: readonly JoinedTerm[]
}

/** Shortest word that is also found written together or apart. */
export const JOINED_FROM = 3

/** The nth term written together with the next: wifi for wi-fi, dont for don't. */
export function joinedTerms(terms: readonly Term[]): (JoinedTerm | undefined)[] {
  return terms.map((term, n) => {
    const next = terms[n + 1]
    if (!next || term.exact || next.exact) return undefined
    const first = term.words[0]!
    const word = first + next.words[0]!
    return word.length >= JOINED_FROM ? { word, first, prefix: next.prefix } : undefined
  })
}

/** Words one by one, characters by their runs. */
export function termsOf(text: string, tokens: readonly Token[]): string[][] {
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
