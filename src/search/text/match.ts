import { WRITTEN } from '../../vocabulary.ts'
import { KINDS, type MatchKind, type Sense } from './senses.ts'
import { gluedWords, sameStem, type Token, tokenize } from './tokens.ts'

/** Scores are 0–1. All words found: 0.5 and above. Some words found: below 0.5. */
export const rounded = (score: number): number => Math.round(Math.min(1, Math.max(0, Number(score))) * 1e6) / 1e6

/** Longest highlighted text, in characters around its first match. */
const SNIPPET = 240

/** By what a word of a question is met. */
export interface Met {
  word: string
  /** The field of the document: a text, an attribute, `palette`, `author` or `title`. */
  field: string
  kind: MatchKind
}

export interface Explained {
  /** Field → HTML-escaped text with `<em>` around what matched. */
  matched: Record<string, string>
  met: Met[]
  /** Words that are not met by a word, an attribute or a synonym; undefined where there are none. */
  missing?: string[]
}

interface Field {
  name: string
  text: string
  /** Of the text, what is searched: all of it, if absent. */
  searched?: string
  /** Its words are met as an attribute is. */
  isName?: boolean
  /** Its words are also found by a part of them. */
  hasParts?: boolean
}

/** A word that meets the nth word of a concept. */
interface Verdict {
  sense: Sense
  nth: number
  kind: MatchKind
}

const SCREEN = 'on_screen_text'
type Written = (typeof WRITTEN)[number]
type Texts = { readonly [F in Written]?: string | null } & { has_measured_caption?: true }

/** What a measured caption tells beside attributes and on-screen text. Its other words are a template. */
const MEASURED_THINGS = /^(?:phone|window|card|message|column|ring|axis|mark)s?$/i

/** A text of a frame as it is searched: every letter in its place. */
export function searchedText(frame: Texts, name: Written): string {
  const text = frame[name] ?? ''
  if (name !== 'caption' || !frame.has_measured_caption) return text
  return text.replace(/[\p{L}\p{N}]+/gu, (word) => (MEASURED_THINGS.test(word) ? word : ' '.repeat(word.length)))
}

/** Says what documents match of a question. Judges each distinct word once for all texts of an answer. */
export class Matcher {
  /** The attributes that words of the question name. */
  readonly attributes: ReadonlySet<string>
  readonly #senses: readonly Sense[]
  readonly #judged = new Map<string, readonly Verdict[]>()
  readonly #phrases: readonly { sense: Sense; words: readonly string[]; kind: MatchKind }[]

  constructor(senses: readonly Sense[]) {
    this.#senses = senses
    this.attributes = new Set(senses.flatMap(({ named }) => named.map((one) => one.slice(0, one.indexOf('=')))))
    this.#phrases = senses.flatMap((sense) => [
      ...(sense.exact ? [{ sense, words: sense.words, kind: 'word' as const }] : []),
      ...sense.called.map((words) => ({ sense, words, kind: 'synonym' as const })),
      ...(sense.guesses?.pairs ?? []).map((words) => ({ sense, words, kind: 'typo' as const })),
    ])
  }

  /** `named`: what the frame shows of these `attributes`, as `attribute=value`. */
  frame(frame: Texts & { author?: string | null; video?: { title: string } }, named: readonly string[]): Explained {
    const title = frame.video?.title
    return this.#explain(
      [
        ...WRITTEN.flatMap((name) => {
          const searched = searchedText(frame, name)
          return searched ? [{ name, text: frame[name]!, searched, hasParts: name === SCREEN }] : []
        }),
        ...(frame.author ? [{ name: 'author', text: frame.author, isName: true }] : []),
        ...(title ? [{ name: 'title', text: title, isName: true }] : []),
      ],
      named,
    )
  }

  /** Of a document that is found by its names. */
  names(names: Record<string, string>): Record<string, string> {
    return this.#explain(
      Object.entries(names).map(([name, text]) => ({ name, text })),
      [],
    ).matched
  }

  #explain(fields: readonly Field[], named: readonly string[]): Explained {
    const matched: Record<string, string> = {}
    const best = new Map<Sense, Met>()
    const note = (sense: Sense, field: string, kind: MatchKind) => {
      const known = best.get(sense)
      if (!known || KINDS.indexOf(kind) < KINDS.indexOf(known.kind)) best.set(sense, { word: sense.text, field, kind })
    }
    const held = new Map<Sense, Map<number, Field>>()
    for (const field of fields) {
      const searched = field.searched ?? field.text
      const tokens = tokenize(searched)
      const marks = new Set<number>()
      const judge = (word: string, at: number, length: number) => {
        for (const { sense, nth, kind } of this.#judge(word)) {
          if ((kind === 'part' && !field.hasParts) || (field.isName && (sense.quoted || kind === 'synonym'))) continue
          for (let n = 0; n < length; n++) marks.add(at + n)
          if (nth < 0) note(sense, field.name, field.isName && kind === 'word' ? 'attribute' : kind)
          else if (!field.isName) held.set(sense, (held.get(sense) ?? new Map()).set(nth, field))
        }
      }
      tokens.forEach(({ word }, at) => {
        judge(word, at, 1)
      })
      for (const { word, at } of gluedWords(searched, tokens)) judge(word, at, 2)
      for (const sense of this.#senses) {
        if (!sense.inRow || field.isName) continue
        for (const at of placesWhere(tokens, sense.words, sameWord)) {
          for (const n of sense.words.keys()) marks.add(at + n)
          note(sense, field.name, 'word')
        }
      }
      for (const { sense, words, kind } of this.#phrases) {
        if (field.isName && (sense.quoted || kind === 'synonym')) continue
        for (const at of placesWhere(tokens, words)) {
          for (const n of words.keys()) marks.add(at + n)
          note(sense, field.name, field.isName && kind === 'word' ? 'attribute' : kind)
        }
      }
      if (marks.size > 0)
        matched[field.name] = render(
          field.text,
          tokens.filter((_, n) => marks.has(n)),
        )
    }
    for (const [sense, words] of held) if (words.size === sense.words.length) note(sense, words.get(0)!.name, 'word')
    for (const sense of this.#senses) {
      for (const one of sense.named) {
        if (!named.includes(one)) continue
        const [attribute, value] = one.split('=') as [string, string]
        const field = attribute === 'color' ? 'palette' : attribute
        note(sense, field, 'attribute')
        if (attribute !== 'color') matched[field] = `<em>${escapeHtml(value)}</em>`
      }
    }
    const met = this.#senses.flatMap((sense) => best.get(sense) ?? [])
    const missing = this.#senses.filter((sense) => !FULL.has(best.get(sense)?.kind)).map(({ text }) => text)
    return { matched, met, ...(missing.length > 0 ? { missing } : {}) }
  }

  #judge(word: string): readonly Verdict[] {
    const known = this.#judged.get(word)
    if (known) return known
    const verdicts = this.#senses.flatMap((sense) => verdictsOf(word, sense))
    this.#judged.set(word, verdicts)
    return verdicts
  }
}

const FULL: ReadonlySet<MatchKind | undefined> = new Set(['word', 'attribute', 'synonym'])

/** `nth`: of a phrase, which of its words; -1 where the word alone meets the concept. */
function verdictsOf(word: string, sense: Sense): Verdict[] {
  const { words, exact, inRow, joins, guesses } = sense
  if (exact || inRow) return []
  if (joins.includes(word)) return [{ sense, nth: -1, kind: 'word' }]
  const verdicts = words.flatMap((asked, n): Verdict[] =>
    sameWord(asked, word) ? [{ sense, nth: words.length > 1 ? n : -1, kind: 'word' }] : [],
  )
  if (verdicts.length > 0 || !guesses) return verdicts
  const { longer, begins, parts, close } = guesses
  if (longer.includes(word) || (begins && word.startsWith(words[0]!))) return [{ sense, nth: -1, kind: 'beginning' }]
  if (parts.includes(word)) return [{ sense, nth: -1, kind: 'part' }]
  return close.includes(word) ? [{ sense, nth: -1, kind: 'typo' }] : []
}

/** Where these words stand in a row. */
function placesWhere(
  tokens: readonly Token[],
  words: readonly string[],
  isSame = (asked: string, word: string): boolean => asked === word,
): number[] {
  return [...tokens.keys()].filter(
    (at) => at + words.length <= tokens.length && words.every((word, n) => isSame(word, tokens[at + n]!.word)),
  )
}

const sameWord = (asked: string, word: string): boolean => asked === word || sameStem(asked, word)

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
