import { type SQL, sql } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { partialRankOf } from './rank.ts'
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

/** Undefined where nothing is found with fewer words either. Asks only where no frame meets all. */
export async function relax(
  db: Executor,
  filters: FrameFilters,
  question: ExpandedQuestion,
): Promise<Relaxed | undefined> {
  const { terms, excluded } = question
  const quoted = terms.filter((term) => term.quoted)
  const free = terms.filter((term) => !term.quoted)
  if (free.length === 0 || terms.length < 2) return undefined
  const weights = await weigh(db, filters, terms)
  const weightOf = new Map(terms.map((term, n) => [term, weights[n]!]))
  if (quoted.some((term) => weightOf.get(term) === 0)) return undefined
  const chosen = free
    .filter((term) => weightOf.get(term)! > 0)
    .sort((a, b) => weightOf.get(b)! - weightOf.get(a)!)
    .slice(0, MAX_CHOSEN)
  const among = { terms: [...quoted, ...chosen], excluded }
  const least = await mostMet(db, filters, among, chosen.length < free.length ? chosen.length : chosen.length - 1)
  if (least === undefined) return undefined
  const kept = await metByAll(db, filters, among, least, chosen)
  const held = new Set([...quoted, ...kept])
  return {
    words: someOf(among, least),
    score: scoreOfMost(among.terms, weightOf, quoted.length + least, terms.length),
    letGo: terms.filter((term) => !held.has(term)),
    met: quoted.length + least,
  }
}

/** What each term tells: more, the fewer frames meet it. 0 where none does. */
async function weigh(db: Executor, filters: FrameFilters, terms: readonly ExpandedTerm[]): Promise<number[]> {
  const count = (where: SQL) =>
    sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MAX_COUNTED}) counted)`
  const counts = [whereOf(filters), ...terms.map((term) => whereOf(filters, oneOf(term)))].map(count)
  const [row] = await rowsOf<{ counts: number[] }>(db, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  const [all, ...each] = row!.counts
  return each.map((n) => (n === 0 ? 0 : Math.log(1 + all! / n)))
}

/** The largest number of free terms, up to `from`, that some frame meets. */
async function mostMet(
  db: Executor,
  filters: FrameFilters,
  question: ExpandedQuestion,
  from: number,
): Promise<number | undefined> {
  const least = question.terms.some((term) => term.quoted) ? 0 : 1
  const levels = Array.from({ length: from - least + 1 }, (_, n) => from - n)
  if (levels.length === 0) return undefined
  const cases = levels.map(
    (n) => sql`when exists (select from ${FRAMES} where ${whereOf(filters, someOf(question, n))}) then ${n}::int`,
  )
  const [row] = await rowsOf<{ most: number | null }>(db, sql`select case ${sql.join(cases, sql` `)} end as most`)
  return row!.most ?? undefined
}

/** Those of `terms` that every frame of the set meets. */
async function metByAll(
  db: Executor,
  filters: FrameFilters,
  question: ExpandedQuestion,
  least: number,
  terms: readonly ExpandedTerm[],
): Promise<ExpandedTerm[]> {
  if (least === terms.length) return [...terms]
  const set = whereOf(filters, someOf(question, least))
  const lacking = terms.map((term) => sql`exists (select from ${FRAMES} where ${set} and not words @@ ${oneOf(term)})`)
  const [row] = await rowsOf<{ lacking: boolean[] }>(db, sql`select array[${sql.join(lacking, sql`, `)}] as lacking`)
  return terms.filter((_, n) => !row!.lacking[n])
}

/** Below 0.5: by how many of the words are met, then by what these tell. */
function scoreOfMost(
  terms: readonly ExpandedTerm[],
  weightOf: ReadonlyMap<ExpandedTerm, number>,
  met: number,
  of: number,
): SQL {
  const total = terms.reduce((sum, term) => sum + weightOf.get(term)!, 0)
  const told = terms.map(
    (term) => sql`(words @@ ${oneOf(term)})::int * ${sql.raw((weightOf.get(term)! / total).toFixed(6))}`,
  )
  return partialScore(sql.raw(String(met)), sql`(${sql.join(told, sql` + `)})`, partialRankOf(terms), of)
}

/** `told`, `rank`: 0–1. */
export const partialScore = (met: SQL, told: SQL, rank: SQL, of: number): SQL =>
  sql`(0.49 / ${sql.raw(String(of))} * (${met} - 1 + 0.8 * ${told} + 0.19 * ${rank}))::float8`
