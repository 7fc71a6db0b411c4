import type { FrameHit, ShownFrame } from './library-search.ts'
import { type FrameTexts, matchedInFrame } from './matched.ts'
import type { Highlighter } from './text/highlight.ts'

/** A hit whose frame an engine holds as the JSON text that responses show. The document is parsed when it is read. */
export class StoredFrame implements FrameHit {
  readonly text: string
  readonly score: number
  readonly matched: Record<string, string>
  readonly missing?: readonly string[]
  #document: ShownFrame | undefined

  constructor(text: string, score: number, highlighter: Highlighter | undefined, missing?: readonly string[]) {
    this.text = text
    this.score = score
    this.matched = highlighter ? matchedInFrame(textsOf(text), highlighter) : {}
    if (missing) this.missing = missing
  }

  get document(): ShownFrame {
    this.#document ??= JSON.parse(this.text) as ShownFrame
    return this.#document
  }
}

/** The searched texts and attributes of a stored frame, without parsing the rest. */
export function textsOf(text: string): FrameTexts {
  const from = text.indexOf(TEXTS_FROM)
  return JSON.parse(`{${text.slice(from + 1, text.indexOf(TEXTS_TO, from))}}`) as FrameTexts
}
// A JSON string holds no bare quote, so such a name between commas can only be the field.
const TEXTS_FROM = ',"kind":'
const TEXTS_TO = ',"palette":'
