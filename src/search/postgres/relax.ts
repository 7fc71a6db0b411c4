import type { SQL } from 'drizzle-orm'
import type { FrameFilters, Loosened } from '../library-search.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { VERSION, versionOf } from './candidates.ts'
import type { Loosen } from './loosened.ts'
import { partialRankOf } from './rank.ts'
import { sql } from './sql.ts'
import { type Executor, FRAMES, rowsOf } from './tables.ts'
import { type ExpandedQuestion, oneOf, someOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/** What is done where no frame meets all words of a question: the frames that meet most. */

/** Frames of a word beyond this say no more about it. */
const MAX_COUNTED = 10_000
/** Words that choices are made among. The least telling of more are let go. */
const MAX_CHOSEN = 6

export interface Relaxed {
  /** The frames that meet most. */
  words: SQL
  score: SQL
  /** Words that not every frame of them meets. */
  letGo: readonly ExpandedTerm[]
  /** How many words each of them meets. */
  met: number
}

export interface Relaxing {
  /** Absent where nothing is found with fewer words either. */
  relaxed?: Relaxed
  /** Where nothing is found, what would be with fewer conditions. Only where it was asked for. */
  loosened?: Loosened[]
  version: string | undefined
}

/**
 * Asks only where no frame meets all, in one statement. First the largest number of words that some frame meets, then
 * which words, or what to advise.
 */
export async function relax(
  db: Executor,
  { filters, loosen }: { filters: FrameFilters; loosen: Loosen | undefined },
  question: ExpandedQuestion,
): Promise<Relaxing> {
  const { terms, excluded } = question
  const quoted = terms.filter((term) => term.quoted)
  const all = terms.filter((term) => !term.quoted)
  if (all.length === 0 || terms.length < 2) return { version: await versionOf(db) }
  const free = all.length > MAX_CHOSEN ? await mostTelling(db, filters, all) : all
  const among = { terms: [...quoted, ...free], excluded }
  const least = quoted.length > 0 ? 0 : 1
  const from = free.length < all.length ? free.length : free.length - 1
  const levels = Array.from({ length: from - least + 1 }, (_, n) => someOf(among, from - n))
  const [row] = await rowsOf<Row>(db, relaxQuery({ filters, levels, quoted, free, from, loosen }))
  const { at, version } = row!
  if (at === null || at === NONE_PASSES)
    return { version, ...(loosen && row!.loosened ? { loosened: loosen.read(row!.loosened) } : {}) }
  const weights = weightsOf(row!.counts!)
  const weightOf = new Map(among.terms.map((term, n) => [term, weights[n]!]))
  const chosen = free.filter((term) => weightOf.get(term)! > 0).sort((a, b) => weightOf.get(b)! - weightOf.get(a)!)
  const met = quoted.length + from - at
  const held = new Set([...quoted, ...chosen.filter((term) => !row!.lacking?.[free.indexOf(term)])])
  return {
    version,
    relaxed: {
      words: levels[at]!,
      score: scoreOfMost([...quoted, ...chosen], weightOf, met, terms.length),
      letGo: terms.filter((term) => !held.has(term)),
      met,
    },
  }
}

interface Row {
  version: string
  /** The first level that some frame reaches; null where none is, -1 where no frame passes the filters either. */
  at: number | null
  /** Frames that pass the filters, then those that meet each word. */
  counts: number[] | null
  /** Whether some frame of the set lacks the nth word; null where none lacks a word that some frame has. */
  lacking: boolean[] | null
  loosened: number[] | null
}

const NONE_PASSES = -1

interface RelaxAsked {
  filters: FrameFilters
  levels: readonly SQL[]
  quoted: readonly ExpandedTerm[]
  free: readonly ExpandedTerm[]
  /** How many of `free` the first level meets. */
  from: number
  loosen: Loosen | undefined
}

/**
 * PostgreSQL runs the queries inside a `case` only where their branch is taken. Which words the set lacks is asked only
 * where more words are met by some frame than by each frame of the set.
 */
function relaxQuery({ filters, levels, quoted, free, from, loosen }: RelaxAsked): SQL {
  // For one row, as `exists` wants, PostgreSQL would rather read the table than the index of words.
  const some = (where: SQL) => sql`(select count(*) > 0 from (select from ${FRAMES} where ${where} limit 100) found)`
  const reached = levels.map((words, n) => sql`when ${some(whereOf(filters, words))} then ${sql.raw(String(n))}`)
  const isFiltered = Object.values(filters).some((values) => values?.length)
  const cases = isFiltered ? [sql`when not ${some(whereOf(filters))} then ${sql.raw(String(NONE_PASSES))}`] : []
  const set = sql`(select (array[${list(levels)}])[level.at + 1] from level)`
  const lacking = free.map((term) => some(sql`${whereOf(filters, set)} and not words @@ ${oneOf(term)}`))
  const isMet = sql`(select count(*) from unnest(counts[${sql.raw(String(quoted.length + 2))}:]) n where n > 0)`
  const isNowhere = sql`coalesce(at, -1) = -1`
  const advice = loosen ? sql`case when ${isNowhere} then ${loosen.counts(sql`at is null`)} end` : sql`null::int[]`
  return sql`
    with level as materialized (select case ${sql.join([...cases, ...reached], sql` `)} end as at),
    counted as materialized (
      select at, case when at >= 0 then array[${list(countsOf(filters, [...quoted, ...free]))}] end as counts
        from level)
    select ${VERSION} as version, at, counts,
           case when ${isMet} > ${sql.raw(String(from))} - at then array[${list(lacking)}] end as lacking,
           ${advice} as loosened
      from counted`
}

const list = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)

const countsOf = (filters: FrameFilters, terms: readonly ExpandedTerm[]): SQL[] =>
  [whereOf(filters), ...terms.map((term) => whereOf(filters, oneOf(term)))].map(
    (where) => sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MAX_COUNTED}) counted)`,
  )

/** The weight of each term: higher, the fewer frames have it. 0 where none has. */
const weightsOf = ([all, ...each]: readonly number[]): number[] =>
  each.map((n) => (n === 0 ? 0 : Math.log(1 + all! / n)))

/** The terms with the highest weights, among those that some frame has. */
async function mostTelling(
  db: Executor,
  filters: FrameFilters,
  terms: readonly ExpandedTerm[],
): Promise<ExpandedTerm[]> {
  const [row] = await rowsOf<{ counts: number[] }>(db, sql`select array[${list(countsOf(filters, terms))}] as counts`)
  const weights = weightsOf(row!.counts)
  const weightOf = (term: ExpandedTerm) => weights[terms.indexOf(term)]!
  return terms
    .filter((term) => weightOf(term) > 0)
    .sort((a, b) => weightOf(b) - weightOf(a))
    .slice(0, MAX_CHOSEN)
}

/** Below 0.5: by the number of terms that a frame has, then by their weights. */
function scoreOfMost(
  terms: readonly ExpandedTerm[],
  weightOf: ReadonlyMap<ExpandedTerm, number>,
  met: number,
  of: number,
): SQL {
  const total = terms.reduce((sum, term) => sum + weightOf.get(term)!, 0)
  const told = terms.map((term) => sql`(words @@ ${oneOf(term)})::int * ${weightOf.get(term)! / total}::float8`)
  return partialScore(sql`${met}::int`, sql`(${sql.join(told, sql` + `)})`, partialRankOf(terms), of)
}

/** `told`, `rank`: 0–1. */
export const partialScore = (met: SQL, told: SQL, rank: SQL, of: number): SQL =>
  sql`(0.49 / ${sql.raw(String(of))} * (${met} - 1 + 0.8 * ${told} + 0.19 * ${rank}))::float8`
