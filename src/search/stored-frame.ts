import type { FrameHit, ShownFrame } from './library-search.ts'
import { type FrameTexts, matchedInFrame } from './matched.ts'
import { NAMED_ATTRIBUTES } from './named-values.ts'
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
    this.matched = highlighter ? matchedIn(text, highlighter) : {}
    if (missing) this.missing = missing
  }

  get document(): ShownFrame {
    this.#document ??= JSON.parse(this.text) as ShownFrame
    return this.#document
  }
}

const matchedIn = (text: string, highlighter: Highlighter) =>
  matchedInFrame(
    textsOf(text, (name) => highlighter.names(name)),
    highlighter,
  )

/** The searched texts of a stored frame, and the attributes that `isAsked`, without parsing the rest. */
function textsOf(text: string, isAsked: (attribute: string) => boolean = () => true): Partial<FrameTexts> {
  const from = text.indexOf(TEXTS_FROM)
  const caption = text.indexOf(',"caption":', from)
  const to = text.indexOf(TEXTS_TO, caption)
  const escaped = text.indexOf('\\', from)
  if (escaped >= 0 && escaped < to) return JSON.parse(`{${text.slice(from + 1, to)}}`) as FrameTexts
  // Without escapes the values are cut out: of 120 frames in a sixth of the time of parsing them.
  const composition = text.indexOf(',"composition":', caption)
  const steal = text.indexOf(',"steal":', composition)
  const screen = text.indexOf(',"on_screen_text":', steal)
  const texts: Record<string, string | null> = {
    caption: valueBetween(text, caption + ',"caption":'.length, composition),
    composition: valueBetween(text, composition + ',"composition":'.length, steal),
    steal: valueBetween(text, steal + ',"steal":'.length, screen),
    on_screen_text: valueBetween(text, screen + ',"on_screen_text":'.length, to),
  }
  for (const attribute of NAMED_ATTRIBUTES) {
    if (!isAsked(attribute)) continue
    const start = text.indexOf(`,"${attribute}":`, from) + attribute.length + ',"":'.length
    texts[attribute] = valueBetween(text, start, text.indexOf(',"', start))
  }
  return texts
}
// A JSON string holds no bare quote, so such a name between commas can only be the field.
const TEXTS_FROM = ',"kind":'
const TEXTS_TO = ',"palette":'

/** A string without escapes, or null. */
const valueBetween = (text: string, start: number, end: number): string | null =>
  text.charCodeAt(start) === QUOTE ? text.slice(start + 1, end - 1) : null
const QUOTE = 34
