import type { SQL } from 'drizzle-orm'
import type { FrameFilters, Loosened } from '../library-search.ts'
import { MOST_LOOSENED } from '../limits.ts'
import { sql } from './sql.ts'
import { type Executor, FRAMES, rowsOf } from './tables.ts'
import { type ExpandedQuestion, someOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/**
 * Only this many of the frames with a word of the question are read, because reading all takes longer than the search.
 * A count from them may be too low, but every suggestion finds frames.
 */
const LOOKED_AT = 100

/** The counts of an advice, and what they say. */
export interface Loosen {
  /** As SQL, an array. `passes`: whether any frame passes the filters, where the statement knows it. */
  counts(passes?: SQL): SQL
  read(counts: readonly number[]): Loosened[]
}

/**
 * What would be found without each filter, without all of them, and without the words, where nothing was found. A
 * question with several words finds the frames that meet most, so any word is enough. Undefined without filters.
 */
export function loosenOf(filters: FrameFilters, question: ExpandedQuestion | undefined): Loosen | undefined {
  const names = Object.keys(filters) as (keyof FrameFilters)[]
  if (names.length === 0) return undefined
  const dropped: Loosened['dropped'][] = [...names]
  if (question && names.length > 1) dropped.push('filters')
  if (question) dropped.push('words')
  const partly = (question?.terms.length ?? 0) > 1
  return {
    counts(passes = sql`true`) {
      if (!question) return sql`array[${list(names.map((name) => countOf({ ...filters, [name]: undefined })))}]`
      const passing = sql`case when ${passes} then ${countOf(filters)} else 0 end`
      return sql`(${countsAmong(names, filters, question)} || array[${passing}])`
    },
    read: (counts) =>
      dropped.flatMap((one, n) => {
        const frames = counts[n]!
        return frames > 0 ? [{ dropped: one, frames, partly: partly && one !== 'words' }] : []
      }),
  }
}

export async function countLoosened(db: Executor, loosen: Loosen | undefined): Promise<Loosened[]> {
  if (!loosen) return []
  const [row] = await rowsOf<{ counts: number[] }>(db, sql`select ${loosen.counts()} as counts`)
  return loosen.read(row!.counts)
}

/** One pass over the frames with a word serves every filter that may be dropped. */
function countsAmong(names: readonly (keyof FrameFilters)[], filters: FrameFilters, question: ExpandedQuestion): SQL {
  const some = someOf(question, question.terms.some((term) => !term.quoted) ? 1 : 0)
  const flags = names.map((name, n) => sql`${whereOf({ [name]: filters[name] })} as ${sql.raw(`f${n}`)}`)
  const others = names.map((_, dropped) => names.flatMap((_, n) => (n === dropped ? [] : `f${n}`)))
  const left = names.length > 1 ? [...others, []] : others
  const counts = left.map(
    (held) => `least(count(*) filter (where ${held.join(' and ') || 'true'}), ${MOST_LOOSENED})::int`,
  )
  const looked = sql`(select ${list(flags)} from ${FRAMES} where words @@ ${some} limit ${LOOKED_AT})`
  return sql`(select array[${sql.raw(counts.join(', '))}] from ${looked} looked)`
}

function countOf(filters: FrameFilters): SQL {
  const found = sql`(select from ${FRAMES} where ${whereOf(filters)} limit ${MOST_LOOSENED})`
  return sql`(select count(*)::int from ${found} found)`
}

const list = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)
