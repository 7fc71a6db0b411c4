import type pg from 'pg'
import { UNSTORABLE } from '../../clean-text.ts'
import { drizzle, type SQL, sql } from '../../sql/orm.ts'
import { byName, COUNTED, DERIVED } from '../../vocabulary.ts'
import { cellOf, isColorName } from '../color.ts'
import type { FilterName, FrameFilters } from '../library-search.ts'
import type { Concept, Sense } from '../text/senses.ts'
import { isCharacter, lexemesOf, WORDS_VERSION } from '../text/tokens.ts'

/** Anything that runs SQL: a pool or a transaction. */
export interface Executor {
  execute(query: SQL): PromiseLike<{ rows: unknown[] }>
}

export async function rowsOf<T>(db: Executor, query: SQL): Promise<T[]> {
  return (await db.execute(query)).rows as T[]
}

/** The version of the read model, which changes with any of its documents. */
export async function versionOf(db: Executor): Promise<string> {
  const [row] = await rowsOf<{ version: string }>(
    db,
    sql`select left(generation::text, 8) || '-' || version as version from read_models where engine = 'postgres'`,
  )
  return row?.version ?? '0'
}

/** The schema of the live read model. A rebuild fills another schema and then swaps the two. */
export const LIVE = 'library_search'

export const DOCUMENTS = sql.raw(`${LIVE}.documents`)
/** Frames with their attributes, order and words, without the documents. */
export const FRAMES = sql.raw(`${LIVE}.frames`)
/** The same for videos, brands and techniques. */
export const ENTRIES = sql.raw(`${LIVE}.entries`)

/** Reads that see the library at one moment. */
export interface Snapshot extends Executor {
  /** Runs a statement of fixed text: each connection plans it once, for any values. */
  prepared<T>(name: string, text: string, values: readonly unknown[]): Promise<T[]>
}

/** The words of a question and its frames must be of one moment: a word that comes in between is not looked for. */
export async function inSnapshot<T>(pool: pg.Pool, read: (reads: Snapshot) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  const db = drizzle(client)
  try {
    await client.query('begin isolation level repeatable read read only')
    const answer = await read({
      execute: (query: SQL) => db.execute(query),
      prepared: async <R>(name: string, text: string, values: readonly unknown[]) =>
        (await client.query({ name, text, values: [...values] })).rows as R[],
    })
    await client.query('commit')
    client.release()
    return answer
  } catch (error) {
    // Closes the connection: its transaction may be open.
    client.release(true)
    throw error
  }
}

/** A rebuild fills this schema beside the live one. */
export const NEXT = 'library_search_next'
/** In the next generation, until the swap: the version of a document that the live one does not have so. */
export const AT_SWAP = 0

/** Whether another version cut the words of the live generation. An empty generation is marked as current. */
export async function hasOldWords(tx: Executor): Promise<boolean> {
  await tx.execute(sql`
    update read_models set words = ${WORDS_VERSION}
     where engine = 'postgres' and words <> ${WORDS_VERSION} and not exists (select from ${sql.raw(LIVE)}.documents)`)
  const [row] = await rowsOf<{ old: boolean }>(
    tx,
    sql`select words <> ${WORDS_VERSION} as old from read_models where engine = 'postgres'`,
  )
  return row!.old
}

/** What a frame must have, as conditions: values by column or lexeme, words as tsquery. */

type Condition = (values: readonly string[]) => SQL

/** What each filter asks of a frame. */
const FILTERS: Record<FilterName, Condition> = {
  ...byName(COUNTED, inColumn),
  video: inColumn('video_id'),
  color: hasColor,
  ...byName(
    DERIVED,
    (name): Condition =>
      (values) =>
        hasNamed(values.map((value) => `${name}=${value}`)),
  ),
}

/** Frames that pass the filters, and have these words. */
export function whereOf(filters: FrameFilters, words?: SQL): SQL {
  const conditions: SQL[] = []
  for (const [name, condition] of Object.entries(FILTERS) as [FilterName, Condition][]) {
    const values = filters[name]
    if (values && values.length > 0) conditions.push(condition(values))
    const others = filters[`not_${name}`]
    // A value that is not known is not one of these.
    if (others && others.length > 0) conditions.push(sql`(${condition(others)}) is not true`)
  }
  if (words) conditions.push(sql`words @@ ${words}`)
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`true`
}

function inColumn(name: string): Condition {
  const column = sql.raw(name)
  return (values) => {
    const list = storable(values)
    return list.length === 1 ? sql`${column} = ${list[0]}` : sql`${column} = any(${sql.param(list)}::text[])`
  }
}

function hasNamed(named: readonly string[]): SQL {
  return sql`words @@ ${oneNamed(named)}`
}

/** Near one of the hex colours, or with a colour that is called so. */
function hasColor(colors: readonly string[]): SQL {
  const names = colors.filter(isColorName)
  const cells = colors.filter((color) => !isColorName(color)).map(cellOf)
  const near = sql`colors && ${sql.param(cells)}::smallint[]`
  if (names.length === 0) return near
  const called = hasNamed(names.map((name) => `color=${name}`))
  return cells.length === 0 ? called : sql`(${near} or ${called})`
}

/** No row has any other value, and a query with one fails. */
export const storable = (values: readonly string[]): string[] => values.filter((value) => !UNSTORABLE.test(value))

/**
 * What is found, and what no row may have. Each function below gives the text of a tsquery, undefined where no row can
 * meet it.
 */
interface Found {
  senses: readonly Sense[]
  excluded: readonly Concept[]
}

type Query = string | undefined

export const tsquery = (query: string): SQL => sql`${query}::tsquery`

/** A lexeme of a row that is no word of its texts: no word, nor the beginning of one, equals it. */
export const namedLexeme = (named: string): string => `=${named}`
/** A colour that fills much of the frame. */
export const mostlyLexeme = (named: string): string => `=mostly=${named}`
/** A word of the title of its film, or of the brand. */
export const nameLexeme = (word: string): string => `=of=${word}`

export const quoted = (lexeme: string): string => `'${lexeme}'`

const eitherOf = (options: readonly Query[]): Query => joined(options, ' | ')
const allOf = (parts: readonly Query[]): Query => (parts.includes(undefined) ? undefined : joined(parts, ' & '))
const joined = (options: readonly Query[], by: string): Query => {
  const known = [...new Set(options.filter((one) => one !== undefined))]
  return known.length > 1 ? `(${known.join(by)})` : known[0]
}

/** The word itself in a text, another form of it, or written together with its neighbour. */
export function inTexts({ exact, words, inRow, forms, joins }: Sense): Query {
  if (exact) return phraseOf(words)
  const each = forms.map((list) => eitherOf(list.map(quoted)))
  return eitherOf([inRow && !each.includes(undefined) ? `(${each.join(' <-> ')})` : allOf(each), ...joins.map(quoted)])
}

export const asTyped = ({ words, exact, inRow }: Sense): Query =>
  exact || inRow ? phraseOf(words) : allOf(words.map(quoted))

/** The attribute that it names, or a word of a title or brand. */
export function inAttributes({ words, exact, quoted: isQuoted, named, inNames }: Sense): Query {
  if (isQuoted) return undefined
  const names = exact ? [phraseOf(words, nameLexeme)] : inNames.map((word) => quoted(nameLexeme(word)))
  return eitherOf([...named.map((one) => quoted(namedLexeme(one))), ...names])
}

/** A word of a text that means the same. */
export const inSynonyms = ({ called }: Sense): Query => eitherOf(called.map((words) => phraseOf(words)))

/** What it may stand for where the library has it in no form. */
function inGuesses({ guesses, words }: Sense): Query {
  if (!guesses) return undefined
  const { longer, begins, parts, close, pairs } = guesses
  return eitherOf([
    ...[...longer, ...close].flatMap((word) => [quoted(word), quoted(nameLexeme(word))]),
    // On-screen text alone is of class C.
    ...parts.map((word) => `${quoted(word)}:C`),
    ...pairs.map((pair) => phraseOf(pair)),
    ...(begins ? [`${quoted(words[0]!)}:*`] : []),
  ])
}
/** By a word, an attribute or a synonym, or else by what it may stand for. */
export const anyOf = (sense: Sense): Query =>
  eitherOf([inTexts(sense), inAttributes(sense), inSynonyms(sense), inGuesses(sense)])

export const anyOfSome = (senses: readonly Sense[]): Query => eitherOf(senses.map(anyOf))

/** Rows that meet `least` of these, what is in quotes, and nothing that is excluded. */
export function atLeast({ senses, excluded }: Found, least: number): Query {
  const fixed = senses.filter((sense) => sense.quoted)
  const free = senses.filter((sense) => !sense.quoted)
  const choices = choose(free, least - fixed.length)
  const some =
    choices.length === 1 && choices[0]!.length === 0 ? [] : [eitherOf(choices.map((c) => allOf(c.map(anyOf))))]
  return allOf([...fixed.map(anyOf), ...some, ...excluded.map(notOf)])
}

/** What every row of an answer has: quotes, and nothing that is excluded. */
export const fixedOf = ({ senses, excluded }: Found): Query =>
  allOf([...senses.filter((sense) => sense.quoted).map(anyOf), ...excluded.map(notOf)])

/** Rows with one of these `attribute=value`. */
export const oneNamed = (named: readonly string[], toLexeme = namedLexeme): SQL =>
  tsquery(eitherOf(named.map((one) => quoted(toLexeme(one))))!)

const notOf = ({ words, named }: Concept): string =>
  `!${eitherOf([phraseOf(words), ...named.map((one) => quoted(namedLexeme(one)))])}`

/** Every choice of `size` among `all`. */
function choose<T>(all: readonly T[], size: number): T[][] {
  if (size <= 0) return [[]]
  return all.flatMap((one, n) => choose(all.slice(n + 1), size - 1).map((rest) => [one, ...rest]))
}

/** Words in a row, as lexemes that hold them. */
function phraseOf(words: readonly string[], lexemeOf: (word: string) => string = (word) => word): string {
  const parts = rowOf(words).map(({ lexeme, prefix, at }, n, row) => {
    const gap = n > 0 ? ` <${at - row[n - 1]!.at}> ` : ''
    return `${gap}${quoted(lexemeOf(lexeme))}${prefix ? ':*' : ''}`
  })
  return parts.length > 1 ? `(${parts.join('')})` : parts[0]!
}

/**
 * The lexemes (`lexemesOf`) that a row of words is found by.
 * The lexeme before the last of several characters holds it. A single character is found by lexemes that begin with it.
 */
function rowOf(words: readonly string[]): { lexeme: string; prefix: boolean; at: number }[] {
  return lexemesOf(words).flatMap((lexeme, at) => {
    const single = lexeme === words[at] && isCharacter(lexeme)
    return single && at > 0 && isCharacter(words[at - 1]!) ? [] : [{ lexeme, prefix: single, at }]
  })
}
