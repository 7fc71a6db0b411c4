import type { FrameDocument } from './library-search.ts'
import { NAMED_ATTRIBUTES } from './named-values.ts'
import type { Highlighter } from './text/highlight.ts'

const TEXT_FIELDS = ['caption', 'composition', 'steal', 'on_screen_text'] as const
export type FrameTexts = Pick<FrameDocument, (typeof TEXT_FIELDS)[number] | (typeof NAMED_ATTRIBUTES)[number]>

/** The texts and attributes of a frame that the query matched, highlighted, by field. */
export function matchedInFrame(texts: Partial<FrameTexts>, highlighter: Highlighter): Record<string, string> {
  const matched: Record<string, string> = {}
  for (const field of TEXT_FIELDS) {
    const text = texts[field]
    const html = text ? highlighter.mark(text, { parts: field === 'on_screen_text' }) : undefined
    if (html !== undefined) matched[field] = html
  }
  for (const attribute of NAMED_ATTRIBUTES) {
    const value = texts[attribute]
    const html = value ? highlighter.markNamed(attribute, value) : undefined
    if (html !== undefined) matched[attribute] = html
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
