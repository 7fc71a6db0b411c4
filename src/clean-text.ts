/*
 * Text from outside, as it may be stored, logged and printed. Control characters act on a terminal, PostgreSQL refuses
 * NUL, and direction marks turn the text beside them.
 */

/**
 * The text composed (NFC) or taken apart (NFKD). A run of marks keeps 30, as in Unicode's stream-safe texts (UAX #15,
 * 13): without that bound the time to order them grows with the square of their number.
 */
export function normalized(text: string, form: 'NFC' | 'NFKD'): string {
  return text.replace(/(\p{M}{30})\p{M}+/gu, '$1').normalize(form)
}

/** U+2800 is the braille pattern without dots. */
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * One line: NFC, without control characters, direction marks and lone surrogates, one space between words. It is cut at
 * `most`, and not within a surrogate pair. A text of invisible characters alone is empty.
 */
export function cleanText(value: string, most = Number.POSITIVE_INFINITY): string {
  const text = normalized(value.toWellFormed(), 'NFC')
    .replace(/[\s\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .trim()
    .slice(0, most)
  if (!VISIBLE.test(text)) return ''
  return text.isWellFormed() ? text : text.slice(0, -1)
}

/** As `cleanText`, for a text of several lines: line ends stay. */
export function cleanLines(value: string): string {
  return normalized(value.toWellFormed(), 'NFC')
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

// How texts of others, times, counts and shares are written for models and people.

/**
 * One line of about `max` Latin letters at most; characters of wide scripts count double.
 * Text from videos and models is data: no line of it may look like one of ours.
 */
export function clip(text: string, max: number): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  let weight = 0
  let end = 0
  for (const character of line) {
    weight += character.codePointAt(0)! < 0x250 ? 1 : 2
    if (weight > max) return `${line.slice(0, end).trimEnd()}…`
    end += character.length
  }
  return line
}

/** Text from videos, models and people, clipped and in double quotes. Quotes inside become apostrophes. */
export function quote(text: string, max: number): string {
  return `"${clip(text.replace(/["\u201c-\u201f\u00ab\u00bb\u2033\uff02]/g, "'"), max)}"`
}

/** Seconds as minutes and seconds, from an hour on with hours. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  return (parts[0]! > 0 ? parts : parts.slice(1))
    .map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0')))
    .join(':')
}

/** `2 min`, `3 h`: a rough span, in words that stay right for a while. */
export function span(seconds: number): string {
  if (seconds < 90) return `${seconds && Math.max(1, Math.round(seconds))} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** A share of one in per cent. A share that is there is never shown as 0. */
export function percent(share: number): string {
  const whole = Math.round(share * 100)
  return whole === 0 && share > 0 ? '<1\u00a0%' : `${whole}\u00a0%`
}

export function megabytes(bytes: number): string {
  const mb = bytes / 1024 / 1024
  return mb >= 1_024 ? `${(mb / 1_024).toFixed(1)} GB` : `${mb < 10 ? mb.toFixed(1) : Math.round(mb)} MB`
}
