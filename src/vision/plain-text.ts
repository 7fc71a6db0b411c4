/**
 * Makes text from a picture or a model safe for the database and for a page. Removes control characters and invisible
 * direction marks, turns runs of blanks into one, keeps lines, and cuts at `maxLength` characters without splitting
 * one. Markup stays: it is text, and every page escapes it.
 */
export function plainText(text: string, maxLength: number): string {
  const clean = text
    .toWellFormed()
    .normalize('NFC')
    .replaceAll('\uFFFD', '')
    .replace(/\r\n?/g, '\n')
    .replace(
      /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]+/g,
      ' ',
    )
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n\s*/g, '\n')
    .trim()
  if (clean.length <= maxLength) return clean
  const cut = clean.slice(0, maxLength)
  return cut.slice(0, cut.isWellFormed() ? undefined : -1).trimEnd()
}
