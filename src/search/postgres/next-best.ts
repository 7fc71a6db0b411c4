import { type SQL, sql } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import { type CommonWords, isFrequent } from './common-words.ts'
import { partialRankOf, ranked } from './rank.ts'
import { partialScore } from './relax.ts'
import { type Executor, rowsOf } from './tables.ts'
import { anyOf, type ExpandedQuestion, fixedOf, oneOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/** Where a word is in very many frames, only the strongest of them are ranked. */
export const FEW_RANKED = 4_000
/** Of the frames that meet the most telling words this many are ranked by their texts. */
const MOST_TELLING = 200

export interface FoundFrame {
  id: string
  score: number
  /** Whether it meets the nth term; absent where it meets all. */
  met?: boolean[]
}

interface Asked {
  filters: FrameFilters
  question: ExpandedQuestion
  /** The frames that stand before them. */
  beyond: SQL
  limit: number
}

/** Frames that meet some words of a question: most first, then those that meet the more telling ones. */
export async function findNextBest(db: Executor, commonWords: CommonWords, asked: Asked): Promise<FoundFrame[]> {
  const { terms } = asked.question
  if (asked.limit <= 0 || terms.length < 2) return []
  const common = await commonWords()
  // Frames that have only a very frequent word of the question come last.
  const rare = terms.filter((term) => !isFrequent([term], common))
  const hasBoth = rare.length > 0 && rare.length < terms.length
  const first = await findSome(db, asked, sql`words @@ ${anyOf(hasBoth ? rare : terms)}`, {
    most: rare.length === 0 ? FEW_RANKED : undefined,
    limit: asked.limit,
    share: 1,
  })
  if (!hasBoth || first.length >= asked.limit) return first
  const rest = await findSome(db, asked, sql`words @@ ${anyOf(terms)} and not words @@ ${anyOf(rare)}`, {
    most: FEW_RANKED,
    limit: asked.limit - first.length,
    // Below the lowest score of those before.
    share: 0.1 / terms.length,
  })
  return [...first, ...rest]
}

async function findSome(
  db: Executor,
  { filters, question, beyond }: Asked,
  some: SQL,
  { most, limit, share }: { most: number | undefined; limit: number; share: number },
): Promise<FoundFrame[]> {
  const { terms } = question
  const where = sql`${whereOf(filters, fixedOf(question))} and ${some} and not words @@ ${beyond}`
  const join = (parts: readonly SQL[], by: SQL) => sql.join([...parts], by)
  const names = terms.map((_, n) => sql.raw(`m${n}`))
  const flags = terms.map((term, n) => sql`(words @@ ${oneOf(term)})::int as ${names[n]!}`)
  // The fewer of these frames meet a word, the more it tells.
  const weights = names.map(
    (name, n) => sql`ln(1 + count(*)::float8 / greatest(1, sum(${name}))) as ${sql.raw(`w${n}`)}`,
  )
  const met = join(names, sql` + `)
  const told = join(
    names.map((name, n) => sql`${name} * ${sql.raw(`w${n}`)}`),
    sql` + `,
  )
  const total = join(
    names.map((_, n) => sql.raw(`w${n}`)),
    sql` + `,
  )
  const score = partialScore(sql`met`, sql`told`, partialRankOf(terms), terms.length)
  const rows = await rowsOf<{ id: string; score: number; met: number[] }>(
    db,
    sql`
    with found as materialized (
      select id, strength, words, ${join(flags, sql`, `)} from ${ranked(where, most)}),
    weights as (select ${join(weights, sql`, `)} from found),
    top as (
      select id, strength, words, ${join(names, sql`, `)}, ${met} as met, (${told}) / (${total}) as told
        from found, weights order by met desc, told desc, strength desc, id limit ${Math.max(MOST_TELLING, limit)})
    select id, ${sql.raw(String(share))} * ${score} as score,
           array[${join(names, sql`, `)}] as met
      from top order by score desc, strength desc, id limit ${limit}`,
  )
  return rows.map(({ id, score, met: flagsOf }) => ({ id, score, met: flagsOf.map((flag) => flag === 1) }))
}
