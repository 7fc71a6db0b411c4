import type { SQL } from 'drizzle-orm'
import { NAMED } from '../score.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { sql } from './sql.ts'
import { FRAMES } from './tables.ts'
import { allTexts, anyOf, anyText, asTyped, namedOf, oneOf } from './tsquery.ts'

/** Total orders. `newest` is the video's arrival, then its time order. */
export const ORDERS = {
  newest: { columns: 'added_ms, video_id, t_ms', by: 'added_ms desc, video_id, t_ms' },
  strength: { columns: 'strength', by: 'strength desc, id' },
  relevance: { columns: 'strength', by: 'score desc, strength desc, id' },
} as const
export const BY_STRENGTH = sql.raw(ORDERS.strength.by)

/** Frames that meet a condition; `most`: only the strongest of them, where there are too many to rank. */
export function ranked(where: SQL, most: number | undefined): SQL {
  if (most === undefined) return sql`${FRAMES} where ${where}`
  return sql`(select id, strength, words from ${FRAMES} where ${where} order by ${BY_STRENGTH} limit ${most}) strongest`
}

/** Weights of the classes D to A: composition, on-screen text, steal, caption. */
const WEIGHTS = sql.raw(`'{0.3, 0.6, 0.7, 1}'::float4[]`)

/** For rows with every word: 0.5–1. Higher where the words are as typed, in the caption or close together. */
export function scoreOf(terms: readonly ExpandedTerm[]): SQL {
  if (terms.length === 0) return sql`0.5::float8`
  const byText = sql`least(1, ts_rank(${WEIGHTS}, words, ${allTexts(terms)}))`
  const typed = sql`0.5 + 0.2 * (words @@ ${asTyped(terms)})::int`
  const named = namedShareOf(terms)
  if (!named) return sql`(${typed} + 0.3 * ${byText})::float8`
  // What a frame is counts before what its texts mention.
  return sql`(${typed} + 0.15 * ${named} + 0.15 * ${byText})::float8`
}

/** For names with some of the words: below 0.5, by how many. */
export function partialScoreOf(terms: readonly ExpandedTerm[]): SQL {
  return sql`(0.45 * ${shareOf(terms.map(oneOf))}
    + 0.04 * least(1, ts_rank(${WEIGHTS}, words, ${anyOf(terms)})))::float8`
}

/** The share of these that a row meets. `of`: how many can be met, where it is not all. */
function shareOf(queries: readonly SQL[], of = queries.length): SQL {
  const met = queries.map((query) => sql`(words @@ ${query})::int`)
  return sql`((${sql.join(met, sql` + `)})::float8 / ${of}::float8)`
}

/**
 * The share of the attributes named that a row has. Undefined where none is named. The statement does not depend on
 * which words name one, so that few plans serve all questions.
 */
function namedShareOf(terms: readonly ExpandedTerm[]): SQL | undefined {
  const count = terms.filter((term) => term.named.length > 0).length
  return count === 0 ? undefined : shareOf(terms.map(namedOf), count)
}

/** 0–1, by the texts and attributes that some of the words meet. */
export function partialRankOf(terms: readonly ExpandedTerm[]): SQL {
  const byText = sql`least(1, ts_rank(${WEIGHTS}, words, ${anyText(terms)}))`
  const named = namedShareOf(terms)
  return named ? sql`(0.5 * ${byText} + 0.5 * ${named})` : byText
}

/** `scoreByName` in SQL: the longer the name, the higher. */
export const namedScore = (letters: SQL, key: string): SQL =>
  sql`(${sql.raw(String(NAMED))} + 0.04 * ${letters} / length(${key}::text))::float8`
