import { sql } from 'drizzle-orm'
import type { Sense } from '../text/senses.ts'
import { ttlCached } from '../ttl-cache.ts'
import { type Executor, rowsOf } from './tables.ts'
import { anyOf } from './tsquery.ts'

/** How many frames have the commonest words, by PostgreSQL's statistics. A small library has no such words. */
export interface Common {
  counts: ReadonlyMap<string, number>
  /** All frames of the library. */
  frames: number
  /** More frames than this are not all ranked. */
  many: number
}

const KEPT_MS = 60_000

export const openCommon = (db: Executor, many: number): (() => Promise<Common>) =>
  ttlCached(() => readCommon(db, many), KEPT_MS)

async function readCommon(db: Executor, many: number): Promise<Common> {
  const rows = await rowsOf<{ word: string | null; n: number; frames: number }>(
    db,
    sql`
    select m.word, (m.share * c.reltuples)::float8 as n, c.reltuples::float8 as frames
      from pg_stats s join pg_class c on c.oid = 'library_search.frames'::regclass
      cross join unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as m(word, share)
     where s.schemaname = 'library_search' and s.tablename = 'frames' and s.attname = 'words'
       and m.share * c.reltuples > ${many / 20}`,
  )
  // The list of shares ends with three figures that belong to no word.
  const counts = new Map(rows.flatMap(({ word, n }) => (word === null ? [] : [[word, n] as const])))
  return { counts, frames: rows[0]?.frames ?? 0, many }
}

/** Frames that meet a concept: at most this many. A word that is not common counts nothing. */
function framesWith(sense: Sense, { counts, frames }: Common): number {
  if (counts.size === 0) return 0
  const lexemes = (anyOf(sense) ?? '').match(/(?<=')[^']+(?=')/g) ?? []
  return Math.min(
    frames,
    [...new Set(lexemes)].reduce((sum, lexeme) => sum + (counts.get(lexeme) ?? 0), 0),
  )
}

/** Frames that meet all of these, if words stood together by chance. */
export const expectedWith = (senses: readonly Sense[], common: Common): number =>
  senses.reduce((left, sense) => (left * framesWith(sense, common)) / Math.max(1, common.frames), common.frames)

/**
 * Whether the frames that meet all of these may be too many to rank. They are estimated as the geometric mean of two
 * numbers: of frames if words stood together by chance, and of frames with the rarest word. Choosing the strongest
 * takes as long as ranking all of 25,000 frames: both read each frame once.
 */
export function areManyWithAll(senses: readonly Sense[], common: Common): boolean {
  if (senses.length === 0) return true
  const rarest = Math.min(...senses.map((sense) => framesWith(sense, common)))
  return Math.sqrt(rarest * expectedWith(senses, common)) > 2 * common.many
}

/** Whether the frames that meet `least` of these may be too many: each has one that is not of the commonest. */
export function areManyWith(senses: readonly Sense[], least: number, common: Common): boolean {
  const counts = senses.map((sense) => framesWith(sense, common)).sort((a, b) => a - b)
  return counts.slice(0, counts.length - least + 1).reduce((sum, n) => sum + n, 0) > common.many
}
