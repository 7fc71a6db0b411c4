import { type SQL, sql } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import { areMany, type Common, hasFrequent, isFrequent } from './common-words.ts'
import { partialRankOf, ranked } from './rank.ts'
import type { ReadModel } from './read-model.ts'
import { partialScore } from './relax.ts'
import { rowsOf } from './tables.ts'
import { anyOf, type ExpandedQuestion, fixedOf, oneOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/** Where a word is in very many frames, only the strongest of them are ranked. */
export const FEW_RANKED = 4_000
/** Of the frames that meet the most telling words this many are ranked by their texts: more than any limit. */
const MOST_TELLING = 200

export interface FoundFrame {
  id: string
  score: number
  /** Whether it meets the nth term; null where it meets all. */
  met: boolean[] | null
}

interface Asked {
  filters: FrameFilters
  question: ExpandedQuestion
  /** The frames that stand before them. */
  beyond: SQL
}

/** Frames that meet some words of a question: most first, then those that meet the more telling ones. */
export async function findNextBest(
  { db, kept, commonWords }: ReadModel,
  { limit, ...asked }: Asked & { limit: number },
): Promise<FoundFrame[]> {
  if (limit <= 0) return []
  const common = await commonWords()
  const on = hasFrequent(asked.question.terms, common) ? db : kept
  const found: FoundFrame[] = []
  for (const query of nextBestQueries(asked, common))
    if (found.length < limit) found.push(...(await rowsOf<FoundFrame>(on, query(sql`${limit - found.length}`))))
  return found
}

/** Queries of `id`, `strength`, `score` and `met` for a limit, those with the better frames first. */
export function nextBestQueries(asked: Asked, common: Common): ((limit: SQL) => SQL)[] {
  const { terms } = asked.question
  if (terms.length < 2) return []
  // Frames that have only a very frequent word of the question come last.
  const rare = terms.filter((term) => !isFrequent([term], common))
  if (rare.length === terms.length || rare.length === 0)
    return [someQuery(asked, sql`words @@ ${anyOf(terms)}`, { isMany: areMany(terms, common), share: 1 })]
  return [
    someQuery(asked, sql`words @@ ${anyOf(rare)}`, { isMany: areMany(rare, common), share: 1 }),
    // Below the lowest score of those before.
    someQuery(asked, sql`words @@ ${anyOf(terms)} and not words @@ ${anyOf(rare)}`, {
      isMany: true,
      share: 0.1 / terms.length,
    }),
  ]
}

const someQuery =
  ({ filters, question, beyond }: Asked, some: SQL, { isMany, share }: { isMany: boolean; share: number }) =>
  (limit: SQL): SQL => {
    const { terms } = question
    const where = sql`${whereOf(filters, fixedOf(question))} and ${some} and not words @@ ${beyond} and ${limit} > 0`
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
    return sql`
    with found as materialized (
      select id, strength, words, ${join(flags, sql`, `)} from ${ranked(where, isMany ? FEW_RANKED : undefined)}),
    weights as (select ${join(weights, sql`, `)} from found),
    top as (
      select id, strength, words, ${join(names, sql`, `)}, ${met} as met, (${told}) / (${total}) as told
        from found, weights order by met desc, told desc, strength desc, id limit ${sql.raw(String(MOST_TELLING))})
    select id, strength, ${sql.raw(String(share))} * ${score} as score, array[${join(names, sql`, `)}]::bool[] as met
      from top order by score desc, strength desc, id limit ${limit}`
  }
