/** Words as both sides of a search see them: documents and queries are cut by the same function, so that what is stored can be found. Pure. */

export interface Token {
  /** Lower case, without accents. */
  word: string
  /** Where it stands in the original text. */
  start: number
  end: number
}

/** What can stand in one query beyond this is left out; Meilisearch reads ten words too. */
export const MAX_QUERY_WORDS = 10
/** Longer runs of letters are cut: an index entry has its limits. */
const MAX_WORD = 64

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/** Case, accents and compatibility forms folded away. */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[ßøłđðþæœı]/g, (letter) => PLAIN[letter] ?? letter)
}

const ASCII = /^[\x00-\x7f]*$/
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
    // Folding may open a word up (½ becomes 1⁄2): only letters and digits stay.
    const folded = fold(match[0])
    const word = ASCII.test(folded) ? folded.slice(0, MAX_WORD) : lettersOf(folded)
    if (word !== '') tokens.push({ word, start: match.index, end: match.index + match[0].length })
  }
  return tokens
}

const isAsciiWordCode = (code: number) => (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
const lettersOf = (folded: string) => [...folded.replace(/[^\p{L}\p{N}]/gu, '')].slice(0, MAX_WORD).join('')

/** One thing a query asks for: a word, or a phrase of several in a row. */
export interface Term {
  words: string[]
  /** In quotes: no prefix, no typo, in this order. */
  exact: boolean
  /** The word being typed: its beginning is enough. */
  prefix: boolean
}

/** Quoted stretches become phrases, everything else single words; an unclosed quote is a quote that is still being typed. */
export function parseQuery(q: string): Term[] {
  const terms: Term[] = []
  let room = MAX_QUERY_WORDS
  const pieces = q.split(/["“”„]/)
  pieces.forEach((piece, n) => {
    const words = tokenize(piece)
      .map((token) => token.word)
      .slice(0, room)
    room -= words.length
    if (words.length === 0) return
    if (n % 2 === 1 && n < pieces.length - 1) terms.push({ words, exact: true, prefix: false })
    else for (const word of words) terms.push({ words: [word], exact: false, prefix: false })
  })
  const last = terms.at(-1)
  if (last && !last.exact) last.prefix = true
  return terms
}

/** Typos forgiven for a word: none under five letters, one under nine, else two. */
export function typosAllowed(word: string): 0 | 1 | 2 {
  return word.length < 5 || /\d/.test(word) ? 0 : word.length < 9 ? 1 : 2
}

/** Optimal string alignment distance (insert, delete, replace, swap neighbours), or `limit + 1` as soon as it is more than `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit || unlikeLetters(a, b) > 2 * limit) return limit + 1
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

/** Letters that only one of two words has, at least: an edit changes two at most, so most pairs need no table. */
function unlikeLetters(a: string, b: string): number {
  let difference = letters(a) ^ letters(b)
  let count = 0
  for (; difference !== 0; difference &= difference - 1) count++
  return count
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
  return terms.map((term) => {
    const word = term.words[0]!
    if (term.exact) return { ...term, close: [], parts: [], pairs: [] }
    const all = candidates.get(word) ?? []
    const found = all.filter((candidate) => !candidate.word.includes(' '))
    const pairs = all.filter((candidate) => candidate.word.includes(' ')).map((candidate) => candidate.word.split(' ') as [string, string])
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

/**
 * Marks what a query matched: gives a field as HTML with `<em>` around it, cut to a stretch around the first match; undefined where nothing matched. `parts`:
 * the field whose words are also found by a part of them. Words are judged once for all texts of one answer.
 */
export function openHighlighter(terms: readonly Term[]): (text: string, options?: { parts?: boolean }) => string | undefined {
  const phrases = terms.filter((term) => term.words.length > 1).map((term) => term.words)
  const singles = terms
    .filter((term) => term.words.length === 1)
    .map(({ words, ...term }) => ({ ...term, typed: words[0]!, typos: typosAllowed(words[0]!) }))
  const judged = new Map<string, Verdict>()

  function judge(word: string): Verdict {
    const verdict = { match: false, part: false, opensPair: false }
    for (const { typed, typos, exact, prefix } of singles) {
      if (word === typed) verdict.match = true
      if (exact) continue
      if (prefix && word.startsWith(typed)) verdict.match = true
      if (typos > 0 && !verdict.match) {
        verdict.match = editDistance(typed, word, typos) <= typos
        // Meilisearch forgives typos in a beginning, too.
        if (prefix && word.length > typed.length && editDistance(typed, word.slice(0, typed.length), typos) <= typos) verdict.match = true
      }
      verdict.part ||= isPartSearchable(typed) && word.includes(typed)
      verdict.opensPair ||= word.length < typed.length && typed.startsWith(word)
    }
    return verdict
  }

  function remember(word: string): Verdict {
    const verdict = judge(word)
    judged.set(word, verdict)
    return verdict
  }

  return (text, { parts = false } = {}) => {
    const tokens = tokenize(text)
    const marked = new Set<number>()
    for (let n = 0; n < tokens.length; n++) {
      const { word } = tokens[n]!
      const verdict = judged.get(word) ?? remember(word)
      if (verdict.match || (parts && verdict.part)) marked.add(n)
      const next = verdict.opensPair ? tokens[n + 1]?.word : undefined
      if (next !== undefined && singles.some(({ typed, exact }) => !exact && typed === word + next)) marked.add(n).add(n + 1)
    }
    for (const phrase of phrases) {
      for (let at = 0; at + phrase.length <= tokens.length; at++) {
        if (phrase.every((word, n) => tokens[at + n]!.word === word)) for (const n of phrase.keys()) marked.add(at + n)
      }
    }
    if (marked.size === 0) return undefined
    return render(
      text,
      tokens.filter((_, n) => marked.has(n)),
    )
  }
}

function render(text: string, marks: readonly Token[]): string {
  const first = marks[0]!
  let from = 0
  let to = text.length
  if (text.length > SNIPPET) {
    from = Math.max(0, first.start - SNIPPET / 3)
    to = Math.min(text.length, Math.max(first.end, from + SNIPPET))
    // Cut between words, and never inside a surrogate pair.
    if (from > 0) from = Math.min(nextGap(text, from), first.start)
    if (to < text.length) to = Math.max(lastGap(text, to), first.end)
  }
  let html = from > 0 ? '…' : ''
  let at = from
  for (const { start, end } of marks) {
    if (start < at || end > to) continue
    html += `${escapeHtml(text.slice(at, start))}<em>${escapeHtml(text.slice(start, end))}</em>`
    at = end
  }
  return html + escapeHtml(text.slice(at, to)) + (to < text.length ? '…' : '')
}

const nextGap = (text: string, from: number) => {
  const gap = text.slice(from).search(/\s/)
  return gap < 0 ? from : from + gap + 1
}
const lastGap = (text: string, to: number) => Math.max(text.slice(0, to).search(/\s\S*$/), 0) || to

export function escapeHtml(text: string): string {
  if (/^[\w ,.:;!?()/-]*$/.test(text)) return text
  return text.toWellFormed().replace(/[&<>"']/g, (sign) => ESCAPES[sign]!)
}
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
