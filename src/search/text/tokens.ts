/** Cuts documents and queries into words with one function, so that what is stored can be found. Pure. */

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
export const WORDS_VERSION = 10
/** Words read of a query. The rest is ignored, as by Meilisearch. */
export const MAX_QUERY_WORDS = 10
/** This many characters count as one word: a query may hold forty characters of scripts without spaces. */
export const CHARACTERS_PER_WORD = 4
/** Letters kept of a word, because index entries have a size limit. */
const MAX_WORD = 64
/** Longest run of characters that is searched as it stands. A longer one is a sentence and is searched by its words. */
export const MAX_RUN = 8

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
  const bare = text.normalize('NFKD').replace(ACCENT, '')
  return (ASCII.test(bare) ? bare : bare.normalize('NFC'))
    .toLowerCase()
    .replace(/[ßøłđðþæœı]/g, (letter) => PLAIN[letter] ?? letter)
}
