import type { SQL } from 'drizzle-orm'
import type { ExpandedTerm } from '../text/expand.ts'
import type { ReadTerm } from '../text/query.ts'
import { isCharacter, lexemesOf } from '../text/tokens.ts'
import { sql } from './sql.ts'

/** Questions as tsquery. */

export interface ExpandedQuestion {
  terms: readonly ExpandedTerm[]
  excluded: readonly ReadTerm[]
}

/** Rows with every term, and nothing that is excluded. */
export const allOf = ({ terms, excluded }: ExpandedQuestion): SQL =>
  sql`${[...terms.map(textOf), ...excluded.map(notOf)].join(' & ')}::tsquery`

/** Rows with one of these terms at least. */
export const anyOf = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(textOf).join(' | ')}::tsquery`

/** Rows with what must not be let go, and `least` of the other terms. */
export function someOf({ terms, excluded }: ExpandedQuestion, least: number): SQL {
  const held = terms.filter(({ quoted: isQuoted }) => isQuoted).map(textOf)
  const choices = choose(
    terms.filter(({ quoted: isQuoted }) => !isQuoted),
    least,
  )
  const some = least === 0 ? [] : [`(${choices.map((choice) => choice.map(textOf).join(' & ')).join(' | ')})`]
  return sql`${[...held, ...some, ...excluded.map(notOf)].join(' & ')}::tsquery`
}

/** What every row of an answer has: quotes, and nothing that is excluded. Undefined where a question has neither. */
export function fixedOf({ terms, excluded }: ExpandedQuestion): SQL | undefined {
  const parts = [...terms.filter(({ quoted: isQuoted }) => isQuoted).map(textOf), ...excluded.map(notOf)]
  return parts.length > 0 ? sql`${parts.join(' & ')}::tsquery` : undefined
}

/** The same object for the same term, so that a statement holds it once. */
export function oneOf(term: ExpandedTerm): SQL {
  const known = ONES.get(term)
  if (known) return known
  const made = sql`${textOf(term)}::tsquery`
  ONES.set(term, made)
  return made
}
const ONES = new WeakMap<ExpandedTerm, SQL>()

/**
 * As `allOf` and `anyOf`, in texts alone: for ranking. Words that hold one in their middle count nothing, so that they
 * come after those that are it or begin with it: lab in available.
 */
export const allTexts = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(beginningsOf).join(' & ')}::tsquery`
export const anyText = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(beginningsOf).join(' | ')}::tsquery`
const beginningsOf = (term: ExpandedTerm): string =>
  wordsOf({ ...term, parts: term.parts.filter((part) => part.startsWith(term.words[0]!)) })

/** Without typos, parts and other ways of writing. */
export const asTyped = (terms: readonly ExpandedTerm[]): SQL =>
  sql`${terms.map((term) => eitherOf([phraseOf(term.words), ...term.named.map(lexemeOf)])).join(' & ')}::tsquery`

/** By the attribute that it names. No row meets a term that names none. */
export const namedOf = (term: ExpandedTerm): SQL =>
  sql`${term.named.length > 0 ? eitherOf(term.named.map(lexemeOf)) : lexemeOf('')}::tsquery`

/** Rows with one of these `attribute=value`. */
export const oneNamed = (named: readonly string[]): SQL => sql`${eitherOf(named.map(lexemeOf))}::tsquery`

const textOf = (term: ExpandedTerm): string => eitherOf([wordsOf(term), ...term.named.map(lexemeOf)])
const notOf = ({ words, named }: ReadTerm): string => `!${eitherOf([phraseOf(words), ...named.map(lexemeOf)])}`
/** `attribute=value` as a row of a frame has it: no word of a text, nor the beginning of one, equals it. */
export const namedLexeme = (named: string): string => `=${named}`
const lexemeOf = (named: string): string => quoted(namedLexeme(named))
const eitherOf = (options: readonly string[]): string =>
  options.length === 1 ? options[0]! : `(${options.join(' | ')})`

function wordsOf(term: ExpandedTerm): string {
  if (term.exact) return phraseOf(term.words)
  const word = quoted(term.words[0]!)
  const options = [
    term.prefix && !term.longer ? `${word}:*` : word,
    ...(term.longer ?? []).map(quoted),
    ...new Set([...term.close, ...term.forms].map(quoted)),
    ...term.pairs.map(phraseOf),
    // Written together with the word before or after it: signup for sign up.
    ...term.joins.map((one) => `${quoted(one.word)}${one.prefix ? ':*' : ''}`),
    ...term.parts.map((part) => `${quoted(part)}:C`),
    ...term.called.filter((name) => name.length > 1 || name[0] !== term.words[0]).map(phraseOf),
  ]
  return `(${options.join(' | ')})`
}

/** Every choice of `size` among `all`. */
function choose<T>(all: readonly T[], size: number): T[][] {
  if (size === 0) return [[]]
  return all.flatMap((one, n) => choose(all.slice(n + 1), size - 1).map((rest) => [one, ...rest]))
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
