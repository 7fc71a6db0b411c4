import { sql } from 'drizzle-orm'
import type { FrameFilters, Loosened } from '../library-search.ts'
import { MOST_LOOSENED } from '../limits.ts'
import type { Asked } from './match-set.ts'
import { type Executor, FRAMES, rowsOf } from './tables.ts'
import { anyOfSome, atLeast, tsquery } from './tsquery.ts'
import { whereOf } from './where.ts'

/**
 * What would be found without each filter, without all of them, and without the words, where nothing was found. A
 * question with several words finds the frames that meet most, so any word is enough.
 */
export async function adviceFor(reads: Executor, filters: FrameFilters, asked: Asked | undefined): Promise<Loosened[]> {
  const names = Object.keys(filters) as (keyof FrameFilters)[]
  if (names.length === 0) return []
  const isPartly = (asked?.senses.length ?? 0) > 1
  const words = asked && someWord(asked)
  const trials: { dropped: Loosened['dropped']; filters: FrameFilters; isInWords: boolean }[] = [
    ...(asked && words === undefined
      ? []
      : names.map((name) => ({ dropped: name, filters: { ...filters, [name]: [] }, isInWords: true }))),
    ...(words !== undefined && names.length > 1 ? [{ dropped: 'filters' as const, filters: {}, isInWords: true }] : []),
    ...(asked ? [{ dropped: 'words' as const, filters, isInWords: false }] : []),
  ]
  const counts = trials.map(({ filters: left, isInWords }) => {
    const where = whereOf(left, isInWords && words !== undefined ? tsquery(words) : undefined)
    return sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MOST_LOOSENED}) found)`
  })
  if (counts.length === 0) return []
  const [row] = await rowsOf<{ counts: number[] }>(reads, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  return trials.flatMap(({ dropped }, n) => {
    const frames = row!.counts[n]!
    return frames > 0 ? [{ dropped, frames, partly: isPartly && dropped !== 'words' }] : []
  })
}

/** What a frame must have: quotes, nothing excluded, and some word. */
function someWord({ senses, found, excluded }: Asked): string | undefined {
  if (senses.length > 0 && found.length === 0) return undefined
  const free = found.filter((sense) => !sense.quoted)
  const fixed = atLeast({ senses: found.filter((sense) => sense.quoted), excluded }, found.length - free.length)
  const some = anyOfSome(free)
  return fixed && some ? `${fixed} & ${some}` : (fixed ?? some)
}
