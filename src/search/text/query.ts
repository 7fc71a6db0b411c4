import { particles } from './foreign-words.ts'
import { isCharacter, MAX_RUN, type Token } from './tokens.ts'

const PARTICLE_OPTIONS = particles()
  .sort((a, b) => b.length - a.length)
  .join('|')
const PARTICLES_AROUND = new RegExp(`^((?:${PARTICLE_OPTIONS})*)(.*?)((?:${PARTICLE_OPTIONS})*)$`, 'u')

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
  corrected?: Pick<Concept, 'named' | 'called'>
  /** This word written together with the one before or after it. */
  joins: readonly string[]
  /** The words of a phrase, each by itself: where the library lacks what the phrase names. */
  each?: readonly Concept[]
}

/** Shortest word that is also found written together or apart. */
const JOINED_FROM = 3

/** The nth concept written together with the next: wifi for wi-fi, dont for don't. */
export function joinedWords(concepts: readonly Concept[]): (string | undefined)[] {
  return concepts.map((concept, n) => {
    const next = concepts[n + 1]
    if (!next || [concept, next].some(({ exact, each }) => exact || each)) return undefined
    const word = concept.words[0]! + next.words[0]!
    return word.length >= JOINED_FROM ? word : undefined
  })
}

/** Words one by one, characters by their runs. */
export function runsOf(tokens: readonly Token[]): Token[][] {
  const runs: Token[][] = []
  for (let at = 0; at < tokens.length; ) {
    const from = at++
    if (isCharacter(tokens[from]!.word))
      while (at < tokens.length && isCharacter(tokens[at]!.word) && tokens[at]!.start <= tokens[at - 1]!.end) at++
    runs.push(tokens.slice(from, at))
  }
  return runs
}

/** The words of each run. `named`: the longest name that characters in a row begin with. */
export function termsOf(
  text: string,
  tokens: readonly Token[],
  named: (characters: string) => string | undefined,
): string[][] {
  return runsOf(tokens).flatMap((run) => {
    const words = run.map(({ word }) => word)
    if (!isCharacter(words[0]!)) return [words]
    const parts = partsOf(words, named)
    if (parts) return parts
    return run.length <= MAX_RUN ? [words] : wordsOfRun(text, run)
  })
}

/** The names in a run of characters and what stands between them; undefined without a name. */
function partsOf(words: readonly string[], named: (characters: string) => string | undefined): string[][] | undefined {
  const parts: string[][] = []
  let rest: string[] = []
  let isNamed = false
  for (let at = 0; at < words.length; ) {
    const name = named(words.slice(at).join(''))
    if (name === undefined) {
      rest.push(words[at++]!)
      continue
    }
    isNamed = true
    if (rest.length > 0) parts.push(...withoutParticles(rest))
    rest = []
    const length = [...name].length
    parts.push(words.slice(at, at + length))
    at += length
  }
  if (rest.length > 0) parts.push(...withoutParticles(rest))
  return isNamed ? parts : undefined
}

/** What stands between two names, and the particles at its ends. */
function withoutParticles(words: readonly string[]): string[][] {
  const text = words.join('')
  const [, before = '', middle = '', after = ''] = PARTICLES_AROUND.exec(text) ?? []
  return [before, middle, after].filter((part) => part !== '').map((part) => [...part])
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
