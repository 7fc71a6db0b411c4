import { type SQL, sql } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import type { Concept } from '../text/query.ts'
import { isMet, type Sense } from '../text/senses.ts'
import { nearlyScoreOf, partly, ranked, scoreOf } from './rank.ts'
import { areManyWith, areManyWithAll, type Common, expectedWith } from './selectivity.ts'
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
  common: Common
}

/** Frames that meet as many words of a question, and how they are ranked. */
export interface MatchSet {
  /** How many words each of them meets. */
  level: number
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

/** Words that choices are made among. The least telling of more are let go. */
const MAX_CHOSEN = 6
/** A frame of a word beyond this says no more about it. */
const MAX_COUNTED = 10_000
/** Of the next best no more than the strongest of so many are ranked. */
const FEW_RANKED = 4_000
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

/** The frames that meet so many words. What is in quotes is never let go. */
export function setWith({ filters, senses, found, excluded, common }: Asked, level: number): MatchSet {
  const words = tsquery(atLeast({ senses: found, excluded }, level)!)
  return {
    level,
    isFull: false,
    words,
    where: whereOf(filters, words),
    scored: (source) => partly(source, found, senses.length),
    isLarge: areManyWith(found, level, common),
    isByIndex: false,
  }
}

/** The same question with choices made among few concepts: those that the fewest frames meet. */
export async function mostTelling(reads: Executor, asked: Asked): Promise<Asked> {
  const free = asked.found.filter((sense) => !sense.quoted)
  if (free.length <= MAX_CHOSEN) return asked
  const counts = free.map((sense) => {
    const where = whereOf(asked.filters, tsquery(anyOf(sense)!))
    return sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MAX_COUNTED}) counted)`
  })
  const [row] = await rowsOf<{ counts: number[] }>(reads, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  const countOf = (sense: Sense) => row!.counts[free.indexOf(sense)]!
  const telling = free.filter((sense) => countOf(sense) > 0).sort((a, b) => countOf(a) - countOf(b))
  const chosen = new Set(telling.slice(0, MAX_CHOSEN))
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
    const scored = (source: SQL) => partly(source, found, senses.length)
    sets.push({ level, isFull: false, words, where, scored, isLarge, isByIndex: false })
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

/** The frames of a set that are ranked for a short list. */
export const fewOf = ({ where, isLarge, scored }: MatchSet): SQL =>
  scored(ranked(where, isLarge ? FEW_RANKED : undefined))
