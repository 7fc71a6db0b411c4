import type { FrameDocument } from './library-search.ts'
import type { Highlighter } from './text/highlight.ts'

const TEXT_FIELDS = ['caption', 'composition', 'steal', 'on_screen_text'] as const
export type FrameTexts = Pick<FrameDocument, (typeof TEXT_FIELDS)[number]>

/** The texts of a frame that the query matched, highlighted, by field. */
export function matchedInFrame(texts: FrameTexts, highlighter: Highlighter): Record<string, string> {
  const matched: Record<string, string> = {}
  for (const field of TEXT_FIELDS) {
    const text = texts[field]
    const html = text ? highlighter.mark(text, { parts: field === 'on_screen_text' }) : undefined
    if (html !== undefined) matched[field] = html
  }
  return matched
}

export function matchedInNames(names: Record<string, string>, highlighter: Highlighter): Record<string, string> {
  const matched: Record<string, string> = {}
  for (const [field, text] of Object.entries(names)) {
    const html = highlighter.mark(text)
    if (html !== undefined) matched[field] = html
  }
  return matched
}
