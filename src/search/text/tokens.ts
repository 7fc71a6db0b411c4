import { normalized } from '../../clean-text.ts'
import { wordsOf } from '../words/words.ts'

/**
 * Words: documents and queries are cut by one function, so that what is stored can be found. Runs of characters of a
 * query, and stems. Pure.
 */

export interface Token {
  /** Lower case, without accents. */
  word: string
  /** Its position in the original text. */
  start: number
  end: number
}

/**
 * Raise it when words are cut differently or an index holds something else.
 * The workers then rewrite what is stored when they start.
 */
export const WORDS_VERSION = 12
/** Words read of a query. The rest is ignored, as by Meilisearch. */
export const MAX_QUERY_WORDS = 10
/** This many characters count as one word: a query may hold forty characters of scripts without spaces. */
export const CHARACTERS_PER_WORD = 4
/** Letters kept of a word, because index entries have a size limit. */
const MAX_WORD = 64
/** Longest run of characters that is searched as it stands. A longer one is a sentence and is searched by its words. */
const MAX_RUN = 8

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/** A letter with its marks. Jamo that make up one syllable stay together. */
const UNIT = /(?:[\u1100-\u115f\uac00-\ud7a3][\u1160-\u11ff]+|[\p{L}\p{N}])[\p{M}\uff9e\uff9f]*/guy

/**
 * Scripts that put no spaces between words, and Hangul, whose words carry particles.
 * The text does not show where a word begins. Every character is therefore a word, and a run is found anywhere.
 */
const CHARACTER = new RegExp(
  [
    String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}`,
    String.raw`\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`,
  ].join(''),
  'u',
)

/** Whether a word is one character of such a script. */
export function isCharacter(word: string): boolean {
  return word.charCodeAt(0) >= 0xe00 && CHARACTER.test(word)
}

const isAsciiWordCode = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 48 && code <= 57)

export function tokenize(text: string): Token[] {
  if (ASCII.test(text)) return asciiTokens(text)
  const tokens: Token[] = []
  for (const match of text.matchAll(WORD)) {
    if (FAR.test(match[0]) && CHARACTER.test(match[0])) {
      tokens.push(...charactersOf(match[0], match.index))
      continue
    }
    // Folding may add other signs (½ becomes 1⁄2, ⑴ becomes (1)): only letters and digits stay.
    const folded = fold(match[0])
    const word = PLAIN_WORD.test(folded) ? folded.slice(0, MAX_WORD) : lettersOf(folded)
    if (word !== '') tokens.push({ word, start: match.index, end: match.index + match[0].length })
  }
  return tokens
}

/** Most texts are ASCII. Each letter folds to one letter there, so the text is folded once and read by its codes. */
function asciiTokens(text: string): Token[] {
  const tokens: Token[] = []
  const folded = text.toLowerCase()
  for (let at = 0; at < folded.length; at++) {
    if (!isAsciiWordCode(folded.charCodeAt(at))) continue
    const start = at
    while (at < folded.length && isAsciiWordCode(folded.charCodeAt(at))) at++
    tokens.push({ word: folded.slice(start, Math.min(at, start + MAX_WORD)), start, end: at })
  }
  return tokens
}

/**
 * Words that are written with one sign between them, as one: dont of don't, wifi of wi-fi. `at`: the place of the
 * first.
 */
export function gluedWords(text: string, tokens: readonly Token[]): { word: string; at: number }[] {
  return tokens.flatMap(({ word, end }, at) => {
    const next = tokens[at + 1]
    const isGlued = next?.start === end + 1 && !/\s/.test(text[end]!) && !isCharacter(word) && !isCharacter(next.word)
    return isGlued && word.length + next.word.length > 2 ? [{ word: word + next.word, at }] : []
  })
}

const PLAIN_WORD = /^[a-z0-9]*$/
/** A cheap test that spares most words the look-up of their script. */
const FAR = /[\u0e00-\uffff]/
const lettersOf = (folded: string) => [...folded.replace(/[^\p{L}\p{N}\p{M}]/gu, '')].slice(0, MAX_WORD).join('')

/**
 * The tokens of a run of letters that holds characters.
 * Tokens from one sign, such as a letter with its marks, share its place.
 */
function charactersOf(run: string, from: number): Token[] {
  const tokens: Token[] = []
  let open: Token | undefined
  for (let at = 0; at < run.length; ) {
    const start = from + at
    if (
      isPlainCharacter(run.charCodeAt(at)) &&
      !(run.charCodeAt(at + 1) >= 0x300 && !isPlainCharacter(run.charCodeAt(at + 1)))
    ) {
      tokens.push({ word: run[at]!, start, end: start + 1 })
      open = undefined
      at++
      continue
    }
    UNIT.lastIndex = at
    const unit = UNIT.exec(run)?.[0] ?? run[at]!
    at += unit.length
    const end = from + at
    for (const letter of lettersOf(fold(unit))) {
      if (isCharacter(letter)) {
        tokens.push({ word: letter, start, end })
        open = undefined
      } else if (open) {
        if (open.word.length < MAX_WORD) open.word += letter
        open.end = end
      } else {
        open = { word: letter, start, end }
        tokens.push(open)
      }
    }
  }
  return tokens
}

/** Most kana, ideographs and syllables: they fold to themselves. */
const isPlainCharacter = (code: number) =>
  (code >= 0x4e00 && code <= 0x9fff) ||
  (code >= 0x3041 && code <= 0x3096) ||
  (code >= 0x30a1 && code <= 0x30fc) ||
  (code >= 0xac00 && code <= 0xd7a3)

/**
 * Words as the read model indexes them, one for one: a character is joined with the one after it.
 * Pairs are rare enough for a fast look-up. Single characters are not.
 */
export function lexemesOf(words: readonly string[]): string[] {
  return words.map((word, n) => {
    const next = words[n + 1]
    return next !== undefined && isCharacter(word) && isCharacter(next) ? word + next : word
  })
}

/** A name as exact matches and the order of names compare it. */
export function nameKey(name: string): string {
  return tokenize(name)
    .map((token) => token.word)
    .join(' ')
}

const ASCII = /^[\x00-\x7f]*$/

/** The points of Hebrew and Arabic and the accents of Latin, Greek and Cyrillic; not the voicing marks of kana. */
const ACCENT =
  /[[\p{M}&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}]]--[\u3099\u309a]]/gv

const PLAIN: Record<string, string> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ı: 'i' }

/**
 * Folds case, accents and compatibility forms.
 * Marks of scripts not named in `ACCENT` stay, because they make another letter (か and が) or are vowels.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = normalized(text, 'NFKD').replace(ACCENT, '')
  return (ASCII.test(bare) ? bare : bare.normalize('NFC'))
    .toLowerCase()
    .replace(/[ßøłđðþæœı]/g, (letter) => PLAIN[letter] ?? letter)
}

const PARTICLE_OPTIONS = wordsOf('particles')
  .sort((a, b) => b.length - a.length)
  .join('|')
const PARTICLES_AROUND = new RegExp(`^((?:${PARTICLE_OPTIONS})*)(.*?)((?:${PARTICLE_OPTIONS})*)$`, 'u')

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

/**
 * What the forms of an English word have in common: smile of smiles, smiled and smiling. Plurals and the endings of
 * verbs as in step 1 of Porter's algorithm, and of longer words -er and -ic (present, presenter; robot, robotic). The
 * later steps of Porter join too much: organ and organisation, univers of university.
 */
export function stemOf(word: string): string {
  if (!/^[a-z]{4,}$/.test(word)) return word
  const single = singular(word)
  const verb = withoutEnding(single)
  if (verb.length >= 3 && verb !== single && /[aeiouy]/.test(verb)) return bare(undoubled(verb))
  const root = /^(.{5,})(?:er|ic)$/.exec(single)
  return bare(root ? undoubled(root[1]!) : single)
}

/** Whether two words are forms of one. */
export const sameStem = (one: string, other: string): boolean => one[0] === other[0] && stemOf(one) === stemOf(other)

/** Words that have this stem begin so. */
export const beginningOf = (stem: string): string => stem.replace(/(?<=..)i$/, '')

function singular(word: string): string {
  if (word === 'news') return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}

function withoutEnding(word: string): string {
  if (word.endsWith('ing')) return word.slice(0, -3)
  return word.endsWith('ed') && !word.endsWith('eed') ? word.slice(0, -2) : word
}

/** Planned as plan, but fill of filled. */
const undoubled = (root: string): string => root.replace(/([bdgmnprt])\1$/, '$1')

/** Without the last letter that forms change: smile as in smiling, story as in stories. */
function bare(word: string): string {
  if (word.length > 3 && word.endsWith('e')) return word.slice(0, -1)
  return word.length > 3 && word.endsWith('y') ? `${word.slice(0, -1)}i` : word
}
