import { sql } from 'drizzle-orm'
import type { ExpandedTerm } from '../text/expand.ts'
import { type Executor, rowsOf } from './tables.ts'
import { namedLexeme, rowOf } from './tsquery.ts'

/** The commonest words of the library with the number of frames that have them. */
export interface Common {
  counts: ReadonlyMap<string, number>
  /** All frames of the library. */
  frames: number
  /** More frames than this are not ranked. */
  many: number
}
export type CommonWords = () => Promise<Common>

/** From PostgreSQL's statistics, read once a minute. A small library has no such words. */
export function openCommonWords(db: Executor, many: number): CommonWords {
  let cached = { until: -Infinity, common: Promise.resolve<Common>({ counts: new Map(), frames: 0, many }) }
  return () => {
    if (performance.now() < cached.until) return cached.common
    const common = readCommonWords(db, many)
    cached = { until: performance.now() + 60_000, common }
    common.catch(() => {
      cached.until = -Infinity
    })
    return common
  }
}

async function readCommonWords(db: Executor, many: number): Promise<Common> {
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

/**
 * Whether the frames that meet all of these terms may be too many to rank. They are estimated as the geometric mean of
 * two numbers: of frames if words stood together by chance, and of frames with the rarest word. Choosing the strongest
 * takes as long as ranking all of 25,000 frames: both read each frame once.
 */
export function isFrequent(terms: readonly ExpandedTerm[], common: Common): boolean {
  if (terms.length === 0) return true
  const rarest = Math.min(...terms.map((term) => framesWith(term, common)))
  return Math.sqrt(rarest * expectedWith(terms, common)) > 2 * common.many
}

/** How many frames meet all of these terms, if words stood together by chance. */
export const expectedWith = (terms: readonly ExpandedTerm[], common: Common): number =>
  terms.reduce((left, term) => left * shareWith(term, common), common.frames)

/** Whether frames that meet one of these terms may be too many to rank. */
export const areMany = (terms: readonly ExpandedTerm[], common: Common): boolean =>
  terms.reduce((sum, term) => sum + framesWith(term, common), 0) > common.many

/** Whether frames that meet `least` of these terms may be too many: each has one that is not of the commonest. */
export function areManyOf(terms: readonly ExpandedTerm[], least: number, common: Common): boolean {
  const counts = terms.map((term) => framesWith(term, common)).sort((a, b) => a - b)
  return counts.slice(0, counts.length - least + 1).reduce((sum, n) => sum + n, 0) > common.many
}

/** Whether a statement about these terms wants a plan of its own. */
export const hasFrequent = (terms: readonly ExpandedTerm[], common: Common): boolean =>
  terms.length === 0 || areMany(terms, common)

/** Frames that meet a term, by its common words. */
const framesWith = (term: ExpandedTerm, common: Common): number => common.frames * shareWith(term, common)

/** The share of frames that meet a term, if its common words stood together by chance. Words in few frames count 0. */
function shareWith(term: ExpandedTerm, { counts, frames }: Common): number {
  if (counts.size === 0) return 0
  const begin = (beginning: string) => {
    let sum = 0
    for (const [word, n] of counts) if (word.startsWith(beginning)) sum += n
    return sum
  }
  const have = (words: readonly string[]) =>
    Math.min(...rowOf(words).map(({ lexeme, prefix }) => (prefix ? begin(lexeme) : (counts.get(lexeme) ?? 0))))
  const { words, prefix, close, forms, joins, named, called } = term
  const whole = prefix ? begin(words[0]!) : have(words)
  const singles = called.flatMap((name) => (name.length === 1 && name[0] !== words[0] ? name : []))
  const joined = joins.map(({ word }) => word)
  const others = [...new Set([...close, ...forms, ...joined, ...singles, ...named.map(namedLexeme)])]
  const phrases = called.filter((name) => name.length > 1)
  const lack = [whole, ...others.map((word) => counts.get(word) ?? 0), ...phrases.map(have)].reduce(
    (left, n) => left * (1 - Math.min(1, n / frames)),
    1,
  )
  return 1 - lack
}
