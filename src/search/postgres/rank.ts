import { type SQL, sql } from 'drizzle-orm'
import { NAMED } from '../score.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { FRAMES } from './tables.ts'
import { allOf, anyOf, asTyped, oneOf } from './tsquery.ts'

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

/** For rows with every word: 0.5–1. Higher where the words stand as typed, in the caption or close together. */
export function scoreOf(terms: readonly ExpandedTerm[]): SQL {
  return sql`(0.5 + 0.2 * (words @@ ${asTyped(terms)})::int
    + 0.3 * least(1, ts_rank(${WEIGHTS}, words, ${allOf(terms)})))::float8`
}

/** For rows with some of the words: below 0.5, by how many. */
export function partialScoreOf(terms: readonly ExpandedTerm[]): SQL {
  const matches = terms.map((term) => sql`(words @@ ${oneOf(term)})::int`)
  return sql`(0.45 * (${sql.join(matches, sql` + `)}) / ${sql.raw(String(terms.length))}
    + 0.04 * least(1, ts_rank(${WEIGHTS}, words, ${anyOf(terms)})))::float8`
}

/** `scoreByName` in SQL: the longer the name, the higher. */
export const namedScore = (letters: SQL, key: string): SQL =>
  sql`(${NAMED} + 0.04 * ${letters} / ${key.length})::float8`
