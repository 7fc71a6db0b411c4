import { isPartSearchable } from './expand.ts'
import type { JoinedTerm, ReadTerm } from './query.ts'
import { isAsciiWordCode, MAX_WORD, type Token, tokenize } from './tokens.ts'
import { editDistance, hasMoreThan, letterSet, typosAllowed } from './typos.ts'

/** Longest highlighted text, in characters around its first match. */
const SNIPPET = 240

interface Verdict {
  match: boolean
  part: boolean
  /** A word of the query begins with this one: the next word of the text may be the rest of it. */
  opensPair: boolean
}

/** What a word must hold to matter to one part of the query. A typo accounts for one missing letter at most. */
interface Wanted {
  letters: number
  missing: number
  first: number
}

/**
 * Marks what a query matched. Judges each distinct word once for all texts of a response.
 * A class on purpose: V8 drops the compiled code of closures made per query whenever it collects garbage in between.
 */
export class Highlighter {
  readonly #phrases: string[][]
  readonly #singles: { typed: string; typos: number; exact: boolean; prefix: boolean }[]
  readonly #joined: Pick<JoinedTerm, 'word' | 'prefix'>[]
  /** Attribute → its values that a word of the query names. */
  readonly #named: ReadonlyMap<string, ReadonlySet<string>>
  readonly #wanted: Wanted[]
  readonly #judged = new Map<string, Verdict>()

  constructor(terms: readonly (ReadTerm & { forms?: readonly string[] })[]) {
    this.#phrases = terms.filter((term) => term.words.length > 1).map((term) => term.words)
    this.#singles = terms
      .filter((term) => term.words.length === 1)
      .map(({ words, exact, prefix }) => ({ typed: words[0]!, typos: typosAllowed(words[0]!), exact, prefix }))
    const called = terms.flatMap((term) => term.called.filter((words) => words.length === 1).flat())
    const others = [...new Set([...terms.flatMap((term) => term.forms ?? []), ...called])]
    this.#joined = [...new Set(terms.flatMap(({ joins }) => joins)), ...others.map((word) => ({ word, prefix: false }))]
    this.#named = valuesByAttribute(terms.flatMap(({ named }) => named))
    this.#wanted = [
      ...this.#singles.map(({ typed, typos, exact }) => ({
        letters: letterSet(typed),
        missing: exact ? 0 : typos,
        first: typed.charCodeAt(0),
      })),
      ...this.#joined.map(({ word }) => ({ letters: letterSet(word), missing: 0, first: -1 })),
    ]
  }

  /**
   * A field as HTML with `<em>` around each match, cut around the first one; undefined without a match.
   * `parts`: the field's words are also found by a part of them.
   */
  mark(text: string, { parts = false }: { parts?: boolean } = {}): string | undefined {
    if (this.#wanted.length === 0 && this.#phrases.length === 0) return undefined
    const marks = (this.#phrases.length === 0 ? this.#scan(text, parts) : undefined) ?? this.#find(text, parts)
    return marks.length === 0 ? undefined : render(text, marks)
  }

  /** Whether a word of the query names a value of this attribute. */
  names(attribute: string): boolean {
    return this.#named.has(attribute)
  }

  /** The value of an attribute that a word of the query names. */
  markNamed(attribute: string, value: string): string | undefined {
    return this.#named.get(attribute)?.has(value) ? `<em>${escapeHtml(value)}</em>` : undefined
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

  /** The same marks for an ASCII text, where most words are skipped without being cut out; undefined for another. */
  #scan(text: string, parts: boolean): Token[] | undefined {
    const marks: Token[] = []
    let opener: Token | undefined
    for (let at = 0; at < text.length; at++) {
      const start = at
      let held = 0
      let isLower = true
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (code >= 65 && code <= 90) isLower = false
        else if (code > 127) return undefined
        else if (!isAsciiWordCode(code)) break
        held |= 1 << (code & 31)
      }
      if (at === start) continue
      if (opener === undefined && !mayMatter(this.#wanted, held, text.charCodeAt(start) | 32)) continue
      const cut = text.slice(start, Math.min(at, start + MAX_WORD))
      const token = { word: isLower ? cut : cut.toLowerCase(), start, end: at }
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

  /** Whether two words in a row are one word of the query. */
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
        // Meilisearch also forgives typos in the beginning of a word.
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

function valuesByAttribute(named: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const values = new Map<string, Set<string>>()
  for (const one of named) {
    const at = one.indexOf('=')
    const attribute = one.slice(0, at)
    values.set(attribute, (values.get(attribute) ?? new Set()).add(one.slice(at + 1)))
  }
  return values
}

function mayMatter(wanted: readonly Wanted[], held: number, first: number): boolean {
  for (let n = 0; n < wanted.length; n++) {
    const one = wanted[n]!
    if ((first === one.first && (held & ~one.letters) === 0) || !hasMoreThan(one.letters & ~held, one.missing))
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
    // Adjacent characters are marked as one stretch.
    for (; marks[n + 1] && marks[n + 1]!.start <= end && marks[n + 1]!.end <= to; n++) end = marks[n + 1]!.end
    html += `${escapeHtml(text.slice(at, start))}<em>${escapeHtml(text.slice(start, end))}</em>`
    at = end
  }
  return html + escapeHtml(text.slice(at, to)) + (to < text.length ? '…' : '')
}

/** How far to look for a space. Without one the text is cut between letters. */
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

function escapeHtml(text: string): string {
  if (/^[\w ,.:;!?()/-]*$/.test(text)) return text
  return text.toWellFormed().replace(/[&<>"']/g, (sign) => ESCAPES[sign]!)
}
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
