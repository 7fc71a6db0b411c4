import { type SQL, sql } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import type { Concept } from '../text/query.ts'
import { isMet, type Sense } from '../text/senses.ts'
import { ttlCached } from '../ttl-cache.ts'
import { nearlyScoreOf, partly, scoreOf } from './rank.ts'
import { type Executor, FRAMES, rowsOf } from './tables.ts'
import { anyOf, anyOfSome, atLeast, fixedOf, singlesOf, tsquery } from './tsquery.ts'
import { whereOf } from './where.ts'

/** The second step of a question: which frames meet how many of its words. */

export interface Asked {
  filters: FrameFilters
  senses: readonly Sense[]
  /** Of these, those that the library may have. */
  found: readonly Sense[]
  excluded: readonly Concept[]
  common: TermStats
}

/** Frames that meet as many words of a question, and how they are ranked. */
export interface MatchSet {
  /** How many words each of them meets. */
  level: number
  /** The words that it chooses among, in the order of `held`. */
  found: readonly Sense[]
  /** Whether each of them has every word as a word, an attribute or a synonym. */
  isFull: boolean
  /** What their texts and attributes have; undefined without words. */
  words: SQL | undefined
  where: SQL
  /** The rows of a source with their `score`; and with `held`, where not all meet the same words. */
  scored(source: SQL): SQL
  /** The matches may be too many to rank all of them. */
  isLarge: boolean
  /** The index of words finds all matches sooner than a walk by strength finds the strongest. */
  isByIndex: boolean
}

/** Words that choices are made among. The least selective of more are dropped. */
const MAX_CHOSEN = 6
/** A frame of a word beyond this says no more about it. */
const MAX_COUNTED = 10_000
/** Of partial matches no more than the strongest of so many are ranked. */
export const FEW_RANKED = 4_000
/** Where the matches are too many, the strongest of them are ranked first, then the next ones: a total order too. */
export const TIER = 4_800

/** The frames that meet every word that the library has. */
export function wholeSet({ filters, senses, found, excluded, common }: Asked): MatchSet {
  const isFull = senses.every(isMet)
  const score = isFull ? scoreOf(senses) : nearlyScoreOf(found, senses.length)
  const expected = expectedWith(found, common)
  const words = tsquery(atLeast({ senses: found, excluded }, found.length)!)
  return {
    level: found.length,
    found,
    isFull,
    words,
    where: whereOf(filters, words),
    scored: (source) => sql`(select *, ${score} as score, null::bool[] as held from ${source}) scored`,
    isLarge: areManyWithAll(found, common),
    // A walk by strength looks at `TIER` ÷ share frames. Each costs about 2.5 times as much as a match that the index
    // of words finds: 4 µs and 1.6 µs at 100,000 frames.
    isByIndex: expected ** 2 < 2.5 * TIER * common.frames,
  }
}

/** The frames that meet so many words. What is in quotes is never dropped. */
export function setWith({ filters, senses, found, excluded, common }: Asked, level: number): MatchSet {
  const words = tsquery(atLeast({ senses: found, excluded }, level)!)
  return partialSet(
    { senses, found },
    { level, words, where: whereOf(filters, words), isLarge: areManyWith(found, level, common) },
  )
}

/** Frames with some of the words. */
function partialSet(
  { senses, found }: Pick<Asked, 'senses' | 'found'>,
  set: Pick<MatchSet, 'level' | 'words' | 'where' | 'isLarge'>,
): MatchSet {
  const scored = (source: SQL) => partly(source, found, senses.length)
  return { ...set, found, isFull: false, scored, isByIndex: false }
}

/** The same question with choices made among few concepts: those that the fewest frames meet. */
export async function mostSelective(reads: Executor, asked: Asked): Promise<Asked> {
  const free = asked.found.filter((sense) => !sense.quoted)
  if (free.length <= MAX_CHOSEN) return asked
  const counts = free.map((sense) => {
    const where = whereOf(asked.filters, tsquery(anyOf(sense)!))
    return sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MAX_COUNTED}) counted)`
  })
  const [row] = await rowsOf<{ counts: number[] }>(reads, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  const countOf = (sense: Sense) => row!.counts[free.indexOf(sense)]!
  const selective = free.filter((sense) => countOf(sense) > 0).sort((a, b) => countOf(a) - countOf(b))
  const chosen = new Set(selective.slice(0, MAX_CHOSEN))
  return { ...asked, found: asked.found.filter((sense) => sense.quoted || chosen.has(sense)) }
}

/** What follows a set in a short list, the best first: each holds no frame of those before. */
export function setsBelow({ filters, senses, found, excluded, common }: Asked, above: MatchSet): MatchSet[] {
  const fixed = fixedOf({ senses: found, excluded })
  const fixedLevel = found.filter((sense) => sense.quoted).length
  const sets: MatchSet[] = []
  let before = [above.where]
  const add = (query: string | undefined, level: number, isLarge: boolean) => {
    if (query === undefined) return
    const words = tsquery(fixed === undefined ? query : `${fixed} & ${query}`)
    const some = whereOf(filters, words)
    const where = sql`${some} and not (${sql.join(before, sql` or `)})`
    before = [...before, some]
    sets.push(partialSet({ senses, found }, { level, words, where, isLarge }))
  }
  const free = found.filter((sense) => !sense.quoted)
  const least = above.level - 1 - fixedLevel
  if (least > 1 && free.length <= MAX_CHOSEN)
    add(atLeast({ senses: free, excluded: [] }, least), above.level - 1, areManyWith(free, least, common))
  if (free.length > 1) {
    // Frames that have only a very frequent word of the question come last.
    const rare = free.filter((sense) => !areManyWithAll([sense], common))
    if (rare.length < free.length && rare.length > 0) add(anyOfSome(rare), 1, areManyWith(rare, 1, common))
    add(anyOfSome(free), 1, areManyWith(free, 1, common))
  }
  add(singlesOf(free), 0, true)
  return sets
}

/** How many frames have the commonest words, by PostgreSQL's statistics. A small library has no such words. */
export interface TermStats {
  counts: ReadonlyMap<string, number>
  /** All frames of the library. */
  frames: number
  /** More frames than this are not all ranked. */
  many: number
}

const KEPT_MS = 60_000

export const openTermStats = (db: Executor, many: number): (() => Promise<TermStats>) =>
  ttlCached(() => readCommon(db, many), KEPT_MS)

async function readCommon(db: Executor, many: number): Promise<TermStats> {
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
function framesWith(sense: Sense, { counts, frames }: TermStats): number {
  if (counts.size === 0) return 0
  const lexemes = (anyOf(sense) ?? '').match(/(?<=')[^']+(?=')/g) ?? []
  return Math.min(
    frames,
    [...new Set(lexemes)].reduce((sum, lexeme) => sum + (counts.get(lexeme) ?? 0), 0),
  )
}

/** Frames that meet all of these, if words stood together by chance. */
const expectedWith = (senses: readonly Sense[], common: TermStats): number =>
  senses.reduce((left, sense) => (left * framesWith(sense, common)) / Math.max(1, common.frames), common.frames)

/**
 * Whether the frames that meet all of these may be too many to rank. They are estimated as the geometric mean of two
 * numbers: of frames if words stood together by chance, and of frames with the rarest word. Choosing the strongest
 * takes as long as ranking all of 25,000 frames: both read each frame once.
 */
function areManyWithAll(senses: readonly Sense[], common: TermStats): boolean {
  if (senses.length === 0) return true
  const rarest = Math.min(...senses.map((sense) => framesWith(sense, common)))
  return Math.sqrt(rarest * expectedWith(senses, common)) > 2 * common.many
}

/** Whether the frames that meet `least` of these may be too many: each has one that is not of the commonest. */
function areManyWith(senses: readonly Sense[], least: number, common: TermStats): boolean {
  const counts = senses.map((sense) => framesWith(sense, common)).sort((a, b) => a - b)
  return counts.slice(0, counts.length - least + 1).reduce((sum, n) => sum + n, 0) > common.many
}
