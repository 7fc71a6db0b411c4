/*
 * Text from outside, as it may be stored, logged and printed. Control characters act on a terminal, PostgreSQL refuses
 * NUL, and direction marks turn the text beside them.
 */

/** U+2800 is the braille pattern without dots. */
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * One line: NFC, without control characters, direction marks and lone surrogates, one space between words. It is cut at
 * `most`, and not within a surrogate pair. A text of invisible characters alone is empty.
 */
export function cleanText(value: string, most = Number.POSITIVE_INFINITY): string {
  const text = value
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\s\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, most)
  if (!VISIBLE.test(text)) return ''
  return text.isWellFormed() ? text : text.slice(0, -1)
}

/** As `cleanText`, for a text of several lines: line ends stay. */
export function cleanLines(value: string): string {
  return value
    .toWellFormed()
    .normalize('NFC')
    .replace(/\r\n?/g, '\n')
    .replace(/[\0-\t\v-\x1f\x7f-\x9f\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/g, ' ')
    .trim()
}

/** `Split Screen!` → `split-screen`; empty when no letter or digit remains. */
export function toSlug(phrase: string): string {
  return phrase
    .slice(0, 500)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64)
    .replace(/-$/, '')
}

/** In characters as people and JSON Schema count them: one beyond the basic plane, such as an emoji, is one. */
export function characterCount(text: string): number {
  return [...text].length
}

/** What PostgreSQL cannot keep, neither as text nor as JSON: NUL and half a surrogate pair. */
export const UNSTORABLE = /[\0\p{Surrogate}]/u
