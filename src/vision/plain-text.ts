import { cleanLines } from '../clean-text.ts'

/**
 * Makes text from a picture or a model safe for the database and for a page: as `cleanLines`, without invisible signs,
 * runs of blanks as one, cut at `maxLength` characters without splitting one. Markup stays: it is text, and every page
 * escapes it.
 */
export function plainText(text: string, maxLength: number): string {
  const clean = cleanLines(text.toWellFormed().replaceAll('\uFFFD', ''))
    .replace(/[\u200B\u2060-\u2064\uFEFF]+/g, ' ')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n\s*/g, '\n')
    .trim()
  if (clean.length <= maxLength) return clean
  const cut = clean.slice(0, maxLength)
  return cut.slice(0, cut.isWellFormed() ? undefined : -1).trimEnd()
}
