import type { ReadAs } from '../search/library-search.ts'
import { type Html, html } from './html.ts'

/** Values of an attribute that are named in a line. */
const MAX_VALUES = 2

/** One line that says how a question was read; nothing for plain words that every frame meets. `exact`: its address. */
export function readingLine(read: ReadAs | undefined, exact: (q: string) => string): Html | false {
  if (!read || isPlain(read)) return false
  const words = read.words.map(({ word, as }, n) => html`${n > 0 && ', '}<b>${word}</b> (${takenFor(as)})`)
  return html`<p class="reading">Read as ${words}.
${read.let_go.length > 0 && html`No frame meets every word; some lack ${list(read.let_go)}.`}
${read.without.length > 0 && html`Left out: ${list(read.without)}.`}
${read.ignored.length > 0 && html`Ignored: ${list(read.ignored)}.`}
<a href="${exact(exactly(read))}">Search for exactly these words</a></p>`
}

function isPlain({ words, without, ignored, let_go }: ReadAs): boolean {
  const isText = words.every(({ as }) => as.every((one) => one === 'text' || one === 'exact text'))
  return words.length === 0 || (isText && without.length === 0 && ignored.length === 0 && let_go.length === 0)
}

/** `tone dark or text` for `tone=dark` and `text`. */
function takenFor(as: readonly string[]): string {
  const values = Map.groupBy(
    as.filter((one) => one.includes('=')),
    (one) => one.slice(0, one.indexOf('=')),
  )
  const attributes = [...values].map(([attribute, named]) => {
    const shown = named.slice(0, MAX_VALUES).map((one) => one.slice(attribute.length + 1))
    return `${attribute} ${shown.join(', ')}${named.length > MAX_VALUES ? ' …' : ''}`
  })
  return [...attributes, ...as.filter((one) => !one.includes('='))].join(' or ')
}

/** The same words as texts alone. */
function exactly({ words, without }: ReadAs): string {
  const quoted = (word: string) => (word.startsWith('"') ? word : `"${word}"`)
  return [...words.map(({ word }) => quoted(word)), ...without.map((word) => `-${quoted(word)}`)].join(' ')
}

const list = (words: readonly string[]): string => words.join(', ')
