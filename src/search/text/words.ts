/** Words as both sides of a search see them: documents and queries are cut by the same function, so that what is stored can be found. Pure. */

export interface Token {
  /** Lower case, without accents. */
  word: string
  /** Where it stands in the original text. */
  start: number
  end: number
}

/** Raised with every change of how words are cut, or of what lies in an index: what is stored is then written anew when the workers start. */
export const WORDS_VERSION = 3
/** What can stand in one query beyond this is left out; Meilisearch reads ten words too. */
export const MAX_QUERY_WORDS = 10
/** As much as one word: a query may hold forty characters of scripts written without spaces. */
const CHARACTERS_PER_WORD = 4
/** Longer runs of letters are cut: an index entry has its limits. */
const MAX_WORD = 64
/** Characters in a row that are asked for as they stand; of a longer run, which is rather a sentence, its words are. */
const MAX_RUN = 8

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/** A letter with its marks; jamo, which together make one syllable, stay together. */
const UNIT = /(?:[\u1100-\u115f\uac00-\ud7a3][\u1160-\u11ff]+|[\p{L}\p{N}])[\p{M}\uff9e\uff9f]*/guy

/**
 * Scripts that put no spaces between words, and Hangul, whose words carry their particles: nobody can tell from the text where a word begins, so every character
 * is a word of its own, and several in a row are found wherever they stand.
 */
const CHARACTER =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/** A word that is one character of such a script. */
export function isCharacter(word: string): boolean {
  return word.charCodeAt(0) >= 0xe00 && CHARACTER.test(word)
}

/**
 * Case, accents and compatibility forms folded away. Accents are what stands over Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic; the marks
 * of other scripts make another letter (か and が) or are the vowels.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(ACCENT, '')
  return (ASCII.test(bare) ? bare : bare.normalize('NFC'))
    .toLowerCase()
    .replace(/[ßøłđðþæœı]/g, (letter) => PLAIN[letter] ?? letter)
}

const ASCII = /^[\x00-\x7f]*$/
const ACCENT =
  /[[\p{M}&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}]]--[\u3099\u309a]]/gv
const PLAIN: Record<string, string> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ı: 'i' }

export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  if (ASCII.test(text)) {
    // Most texts: every letter is one character and folds to one, so the text is folded once and read by its codes.
    const folded = text.toLowerCase()
    for (let at = 0; at < folded.length; at++) {
      if (!isAsciiWordCode(folded.charCodeAt(at))) continue
      const start = at
      while (at < folded.length && isAsciiWordCode(folded.charCodeAt(at))) at++
      tokens.push({ word: folded.slice(start, Math.min(at, start + MAX_WORD)), start, end: at })
    }
    return tokens
  }
  for (const match of text.matchAll(WORD)) {
    if (FAR.test(match[0]) && CHARACTER.test(match[0])) {
      tokens.push(...charactersOf(match[0], match.index))
      continue
    }
    // Folding may open a word up (½ becomes 1⁄2, ⑴ becomes (1)): only letters and digits stay.
    const folded = fold(match[0])
    const word = PLAIN_WORD.test(folded) ? folded.slice(0, MAX_WORD) : lettersOf(folded)
    if (word !== '') tokens.push({ word, start: match.index, end: match.index + match[0].length })
  }
  return tokens
}

const PLAIN_WORD = /^[a-z0-9]*$/
/** Spares most words in other letters the look at what script they are of. */
const FAR = /[\u0e00-\uffff]/
const isAsciiWordCode = (code: number) => (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
const lettersOf = (folded: string) => [...folded.replace(/[^\p{L}\p{N}\p{M}]/gu, '')].slice(0, MAX_WORD).join('')

/** A run of letters with characters among them. What folds to several, and a letter with its marks, stands in one place. */
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

/** One thing a query asks for: a word, or a phrase of several in a row. */
export interface Term {
  words: string[]
  /** In quotes, or characters in a row: no prefix, no typo, in this order. */
  exact: boolean
  /** The word being typed: its beginning is enough. */
  prefix: boolean
}

/** Quoted stretches and runs of characters become phrases, everything else single words; an unclosed quote is a quote that is still being typed. */
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
    if (n % 2 === 1 && n < pieces.length - 1)
      add(
        tokens.map(({ word }) => word),
        true,
      )
    else for (const words of termsOf(piece, tokens)) add(words, isCharacter(words[0]!))
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

/** The words a person would see in a piece of text without spaces; of other scripts the piece itself. */
export function dictionaryWords(piece: string): string[] {
  if (!CHARACTER.test(piece)) return [piece]
  return [...SEGMENTER.segment(piece)].flatMap(({ segment, isWordLike }) => (isWordLike ? segment : []))
}

const SEGMENTER = new Intl.Segmenter('ja', { granularity: 'word' })
/** Says nothing of what is looked for. */
const PARTICLE = /^(?:\p{sc=Hiragana}|[的了是在和])$/u

/**
 * The words of a sentence, by ICU's dictionaries. They need not be right, since documents are not cut by them: whatever stands in a row there is found by any of its
 * parts. What no dictionary knows is cut by length.
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
  const telling = words.filter((word) => !PARTICLE.test(word.join('')))
  return telling.length > 0 ? telling : words
}

/**
 * Words as they lie in the read model, one for one: a character together with the next, for which the words of a language without spaces are rare enough to be
 * looked up, as single characters are not.
 */
export function lexemesOf(words: readonly string[]): string[] {
  return words.map((word, n) => {
    const next = words[n + 1]
    return next !== undefined && isCharacter(word) && isCharacter(next) ? word + next : word
  })
}

/** Typos forgiven for a word: none under five letters, one under nine, else two. */
export function typosAllowed(word: string): 0 | 1 | 2 {
  return word.length < 5 || /\d/.test(word) ? 0 : word.length < 9 ? 1 : 2
}

/** Optimal string alignment distance (insert, delete, replace, swap neighbours), or `limit + 1` as soon as it is more than `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  // An edit changes two letters at most, so most pairs need no table.
  if (Math.abs(a.length - b.length) > limit || isMoreThan(letters(a) ^ letters(b), 2 * limit)) return limit + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
      least = Math.min(least, cost)
    }
    if (least > limit) return limit + 1
    before = previous
    previous = row
  }
  return previous[b.length]!
}

/** Whether a set has more members than that: told sooner than how many. */
function isMoreThan(set: number, most: number): boolean {
  let left = set
  for (let n = 0; left !== 0; n++, left &= left - 1) if (n === most) return true
  return false
}

function letters(word: string): number {
  let set = 0
  for (let at = 0; at < word.length; at++) set |= 1 << (word.charCodeAt(at) & 31)
  return set
}

/** A term together with the words of the library that stand for it. */
export interface ExpandedTerm extends Term {
  /** Mistyped: whole words close to it. */
  close: string[]
  /** Words on screen that hold it somewhere inside. */
  parts: string[]
  /** Two words that were run together. */
  pairs: [string, string][]
  /** This word written together with the one before or after it. */
  joined: string[]
}

interface Joined {
  word: string
  prefix: boolean
}

/** Letters from which words are found written together or apart. */
export const JOINED_FROM = 3

/** Neighbours in a query as one word: wifi for wi-fi, dont for don't. */
export function joinedTerms(terms: readonly Term[]): (Joined | undefined)[] {
  return terms.map((term, n) => {
    const next = terms[n + 1]
    if (!next || term.exact || next.exact) return undefined
    const word = term.words[0]! + next.words[0]!
    return word.length >= JOINED_FROM ? { word, prefix: next.prefix } : undefined
  })
}

/** A word of the library that a word of the query may stand for; with a space in it, two in a row. */
export interface Candidate {
  word: string
  /** From on-screen text, whose words are also found by a part. */
  screen: boolean
}

export function isPartSearchable(word: string): boolean {
  return word.length >= 3 || (word.length === 2 && /[^\p{ASCII}]/u.test(word))
}

const MAX_CLOSE = 12
const MAX_PARTS = 40

/** Sorts candidate words of the library into what each term may stand for. */
export function expandTerms(terms: readonly Term[], candidates: ReadonlyMap<string, Candidate[]>): ExpandedTerm[] {
  const joined = joinedTerms(terms)
  return terms.map((term, n) => {
    const word = term.words[0]!
    if (term.exact) return { ...term, close: [], parts: [], pairs: [], joined: [] }
    const all = candidates.get(word) ?? []
    const found = all.filter((candidate) => !candidate.word.includes(' '))
    const pairs = all
      .filter((candidate) => candidate.word.includes(' '))
      .map((candidate) => candidate.word.split(' ') as [string, string])
    const limit = typosAllowed(word)
    const close =
      limit === 0
        ? []
        : found
            .map((candidate) => ({ word: candidate.word, distance: editDistance(word, candidate.word, limit) }))
            .filter(({ distance, word: other }) => distance <= limit && other !== word)
            .sort((a, b) => a.distance - b.distance || compare(a.word, b.word))
    const parts = isPartSearchable(word)
      ? found
          .filter((candidate) => candidate.screen && candidate.word !== word && candidate.word.includes(word))
          .map((candidate) => candidate.word)
          .sort((a, b) => a.length - b.length || compare(a, b))
      : []
    return {
      ...term,
      close: [...new Set(close.map(({ word: other }) => other))].slice(0, MAX_CLOSE),
      parts: [...new Set(parts)].slice(0, MAX_PARTS),
      pairs: pairs.slice(0, MAX_CLOSE),
      joined: [joined[n - 1], joined[n]].flatMap((one) =>
        one === undefined
          ? []
          : (candidates.get(one.word) ?? [])
              .filter(
                (candidate) =>
                  !candidate.screen && (one.prefix ? candidate.word.startsWith(one.word) : candidate.word === one.word),
              )
              .map((candidate) => candidate.word),
      ),
    }
  })
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Characters of a highlighted text around its first match. */
const SNIPPET = 240

interface Verdict {
  match: boolean
  part: boolean
  /** The query holds a word that begins with this one: the rest of it may come next. */
  opensPair: boolean
}

/** What a word must hold to mean anything here, as letters: a typo accounts for one missing letter at most. */
interface Wanted {
  letters: number
  missing: number
  first: number
}

/**
 * Marks what a query matched. Words are judged once for all texts of one answer. A class, so that its methods stay compiled: of functions made anew for every
 * query the engine forgets the compiled code whenever it collects garbage between two.
 */
export class Highlighter {
  readonly #phrases: string[][]
  readonly #singles: { typed: string; typos: number; exact: boolean; prefix: boolean }[]
  readonly #joined: Joined[]
  readonly #wanted: Wanted[]
  readonly #judged = new Map<string, Verdict>()

  constructor(terms: readonly Term[]) {
    this.#phrases = terms.filter((term) => term.words.length > 1).map((term) => term.words)
    this.#singles = terms
      .filter((term) => term.words.length === 1)
      .map(({ words, exact, prefix }) => ({ typed: words[0]!, typos: typosAllowed(words[0]!), exact, prefix }))
    this.#joined = joinedTerms(terms).filter((one) => one !== undefined)
    this.#wanted = [
      ...this.#singles.map(({ typed, typos, exact }) => ({
        letters: letters(typed),
        missing: exact ? 0 : typos,
        first: typed.charCodeAt(0),
      })),
      ...this.#joined.map(({ word }) => ({ letters: letters(word), missing: 0, first: -1 })),
    ]
  }

  /**
   * A field as HTML with `<em>` around what matched, cut to a stretch around the first match; undefined where nothing matched. `parts`: the field whose words are
   * also found by a part of them.
   */
  mark(text: string, { parts = false }: { parts?: boolean } = {}): string | undefined {
    if (this.#wanted.length === 0 && this.#phrases.length === 0) return undefined
    const marks = this.#phrases.length === 0 && ASCII.test(text) ? this.#scan(text, parts) : this.#find(text, parts)
    return marks.length === 0 ? undefined : render(text, marks)
  }

  #find(text: string, parts: boolean): Token[] {
    const tokens = tokenize(text)
    const marked = new Set<number>()
    for (let n = 0; n < tokens.length; n++) {
      const { word } = tokens[n]!
      const verdict = this.#judge(word)
      if (verdict.match || (parts && verdict.part)) marked.add(n)
      const next = verdict.opensPair ? tokens[n + 1]?.word : undefined
      if (next !== undefined && this.#isPair(word + next)) marked.add(n).add(n + 1)
    }
    for (const phrase of this.#phrases) {
      for (let at = 0; at + phrase.length <= tokens.length; at++) {
        if (phrase.every((word, n) => tokens[at + n]!.word === word)) for (const n of phrase.keys()) marked.add(at + n)
      }
    }
    return marked.size === 0 ? [] : tokens.filter((_, n) => marked.has(n))
  }

  /** The same marks for a text in plain letters: most words of a page are passed by without being cut out. */
  #scan(text: string, parts: boolean): Token[] {
    const marks: Token[] = []
    let opener: Token | undefined
    for (let at = 0; at < text.length; at++) {
      const start = at
      let held = 0
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (!isAsciiWordCode(code) && !(code >= 65 && code <= 90)) break
        held |= 1 << (code & 31)
      }
      if (at === start) continue
      if (opener === undefined && !mayMatter(this.#wanted, held, text.charCodeAt(start) | 32)) continue
      const token = { word: text.slice(start, Math.min(at, start + MAX_WORD)).toLowerCase(), start, end: at }
      const verdict = this.#judge(token.word)
      const before = opener
      if (before && this.#isPair(before.word + token.word)) {
        if (marks.at(-1) !== before) marks.push(before)
        marks.push(token)
      } else if (verdict.match || (parts && verdict.part)) marks.push(token)
      opener = verdict.opensPair ? token : undefined
    }
    return marks
  }

  /** Whether two words in a row are one of the query. */
  #isPair(word: string): boolean {
    return this.#singles.some(({ typed, exact }) => !exact && typed === word)
  }

  #judge(word: string): Verdict {
    const known = this.#judged.get(word)
    if (known) return known
    const verdict = {
      match: this.#joined.some((one) => (one.prefix ? word.startsWith(one.word) : word === one.word)),
      part: false,
      opensPair: false,
    }
    for (const { typed, typos, exact, prefix } of this.#singles) {
      if (word === typed) verdict.match = true
      if (exact) continue
      if (prefix && word.startsWith(typed)) verdict.match = true
      if (typos > 0 && !verdict.match) {
        verdict.match = editDistance(typed, word, typos) <= typos
        // Meilisearch forgives typos in a beginning, too.
        for (let length = typed.length - typos; prefix && !verdict.match && length <= typed.length + typos; length++)
          verdict.match = length < word.length && editDistance(typed, word.slice(0, length), typos) <= typos
      }
      verdict.part ||= isPartSearchable(typed) && word.includes(typed)
      verdict.opensPair ||= word.length < typed.length && typed.startsWith(word)
    }
    this.#judged.set(word, verdict)
    return verdict
  }
}

function mayMatter(wanted: readonly Wanted[], held: number, first: number): boolean {
  for (let n = 0; n < wanted.length; n++) {
    const one = wanted[n]!
    if ((first === one.first && (held & ~one.letters) === 0) || !isMoreThan(one.letters & ~held, one.missing))
      return true
  }
  return false
}

function render(text: string, marks: readonly Token[]): string {
  const first = marks[0]!
  let from = 0
  let to = text.length
  if (text.length > SNIPPET) {
    from = Math.max(0, first.start - SNIPPET / 3)
    to = Math.min(text.length, Math.max(first.end, from + SNIPPET))
    // Cut between words, and never inside a letter.
    if (from > 0) from = Math.min(nextGap(text, from), first.start)
    if (to < text.length) to = Math.max(lastGap(text, to), first.end)
  }
  let html = from > 0 ? '…' : ''
  let at = from
  for (let n = 0; n < marks.length; n++) {
    const { start } = marks[n]!
    let { end } = marks[n]!
    if (start < at || end > to) continue
    // Characters side by side are one stretch.
    for (; marks[n + 1] && marks[n + 1]!.start <= end && marks[n + 1]!.end <= to; n++) end = marks[n + 1]!.end
    html += `${escapeHtml(text.slice(at, start))}<em>${escapeHtml(text.slice(start, end))}</em>`
    at = end
  }
  return html + escapeHtml(text.slice(at, to)) + (to < text.length ? '…' : '')
}

/** How far a space is looked for: scripts without spaces are cut between letters. */
const GAP_WITHIN = 40
const nextGap = (text: string, from: number) => {
  const gap = text.slice(from, from + GAP_WITHIN).search(/\s/)
  return gap < 0 ? betweenLetters(text, from) : from + gap + 1
}
const lastGap = (text: string, to: number) => {
  const from = Math.max(0, to - GAP_WITHIN)
  const gap = text.slice(from, to).search(/\s\S*$/)
  return gap < 0 ? betweenLetters(text, to) : from + gap
}
const betweenLetters = (text: string, at: number) => {
  let cut = at
  while (cut > 0 && /^[\p{M}\udc00-\udfff]/u.test(text.slice(cut, cut + 2))) cut--
  return cut
}

export function escapeHtml(text: string): string {
  if (/^[\w ,.:;!?()/-]*$/.test(text)) return text
  return text.toWellFormed().replace(/[&<>"']/g, (sign) => ESCAPES[sign]!)
}
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
