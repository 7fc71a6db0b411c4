import { sql } from 'drizzle-orm'
import type { ExpandedTerm } from '../text/expand.ts'
import { type Executor, rowsOf } from './tables.ts'
import { namedLexeme, rowOf } from './tsquery.ts'

/** The words that very many frames have, with the number of those frames. */
export type CommonWords = () => Promise<ReadonlyMap<string, number>>

/** From PostgreSQL's statistics, read once a minute. A small library has no such words. */
export function openCommonWords(db: Executor, manyFrames: number): CommonWords {
  let cached = { until: -Infinity, frames: Promise.resolve(new Map<string, number>()) }
  return () => {
    if (performance.now() < cached.until) return cached.frames
    const frames = readCommonWords(db, manyFrames)
    cached = { until: performance.now() + 60_000, frames }
    frames.catch(() => {
      cached.until = -Infinity
    })
    return frames
  }
}

async function readCommonWords(db: Executor, manyFrames: number): Promise<Map<string, number>> {
  const rows = await rowsOf<{ word: string | null; n: number }>(
    db,
    sql`
    select m.word, (m.share * c.reltuples)::float8 as n
      from pg_stats s join pg_class c on c.oid = 'library_search.frames'::regclass
      cross join unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as m(word, share)
     where s.schemaname = 'library_search' and s.tablename = 'frames' and s.attname = 'words'
       and m.share * c.reltuples > ${manyFrames}`,
  )
  // The list of shares ends with three figures that belong to no word.
  return new Map(rows.flatMap(({ word, n }) => (word === null ? [] : [[word, n] as const])))
}

/** Whether one of these terms is in very many frames. Its statement wants a plan of its own. */
export const hasFrequent = (terms: readonly ExpandedTerm[], common: ReadonlyMap<string, number>): boolean =>
  terms.length === 0 || terms.some((term) => isFrequent([term], common))

/** Whether even the rarest of these terms is in very many frames. */
export function isFrequent(terms: readonly ExpandedTerm[], common: ReadonlyMap<string, number>): boolean {
  if (common.size === 0) return false
  const held = [...common.keys()]
  const begins = (beginning: string) => held.some((word) => word.startsWith(beginning))
  const isCommon = (words: readonly string[]) =>
    rowOf(words).every(({ lexeme, prefix }) => (prefix ? begins(lexeme) : common.has(lexeme)))
  return terms.every(
    ({ words, prefix, close, named }) =>
      (prefix ? begins(words[0]!) : isCommon(words)) ||
      [...close, ...named.map(namedLexeme)].some((word) => common.has(word)),
  )
}
