import { type SQL, sql } from 'drizzle-orm'
import type { ExpandedTerm } from '../text/expand.ts'
import { isCharacter, lexemesOf } from '../text/tokens.ts'

/** Terms of a query as tsquery. */

export const allOf = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(textOf).join(' & ')}::tsquery`
export const anyOf = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(textOf).join(' | ')}::tsquery`
export const oneOf = (term: ExpandedTerm): SQL => sql`${textOf(term)}::tsquery`
/** Without typos, parts and other ways of writing. */
export const asTyped = (terms: readonly ExpandedTerm[]): SQL =>
  sql`${terms.map((term) => phraseOf(term.words)).join(' & ')}::tsquery`

function textOf(term: ExpandedTerm): string {
  if (term.exact) return phraseOf(term.words)
  const word = quoted(term.words[0]!)
  const options = [
    term.prefix ? `${word}:*` : word,
    ...term.close.map(quoted),
    ...term.pairs.map(phraseOf),
    ...term.joined.map(quoted),
    ...term.parts.map((part) => `${quoted(part)}:C`),
  ]
  return `(${options.join(' | ')})`
}

function phraseOf(words: readonly string[]): string {
  const parts = rowOf(words).map(({ lexeme, prefix, at }, n, row) => {
    const gap = n > 0 ? ` <${at - row[n - 1]!.at}> ` : ''
    return `${gap}${quoted(lexeme)}${prefix ? ':*' : ''}`
  })
  return `(${parts.join('')})`
}

/**
 * The lexemes (`lexemesOf`) that a row of words is found by.
 * The lexeme before the last of several characters holds it. A single character is found by lexemes that begin with it.
 */
export function rowOf(words: readonly string[]): { lexeme: string; prefix: boolean; at: number }[] {
  return lexemesOf(words).flatMap((lexeme, at) => {
    const single = lexeme === words[at] && isCharacter(lexeme)
    return single && at > 0 && isCharacter(words[at - 1]!) ? [] : [{ lexeme, prefix: single, at }]
  })
}

export const quoted = (lexeme: string): string => `'${lexeme}'`
