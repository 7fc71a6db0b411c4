import type { SQL } from 'drizzle-orm'
import type { FrameFilters } from '../library-search.ts'
import { areMany, areManyOf, type Common, hasFrequent, isFrequent } from './common-words.ts'
import { partialRankOf, ranked } from './rank.ts'
import type { ReadModel } from './read-model.ts'
import { partialScore } from './relax.ts'
import { sql } from './sql.ts'
import { DOCUMENTS, rowsOf } from './tables.ts'
import { anyOf, type ExpandedQuestion, fixedOf, oneOf, someOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/** Where a word is in very many frames, only the strongest of them are ranked. */
export const FEW_RANKED = 4_000
/** Of the frames that meet the most telling words this many are ranked by their texts: more than any limit. */
const MOST_TELLING = 200

/** A frame that was found, with its document as text. */
export interface FoundText {
  score: number
  /** Whether it meets the nth term; null where it meets all. */
  met: boolean[] | null
  text: string
}

interface Beyond {
  /** The condition of the frames that come before the next best. */
  words: SQL
  /** How many words each of them meets. */
  met: number
}

interface Asked {
  filters: FrameFilters
  question: ExpandedQuestion
  beyond: Beyond
}

/** Frames that meet some words of a question: most first, then those that meet the more telling ones. */
export async function findNextBest(
  { db, kept, commonWords }: ReadModel,
  { limit, text, ...asked }: Asked & { limit: number; text: SQL },
): Promise<FoundText[]> {
  const common = await commonWords()
  const queries = nextBestQueries(asked, common)
  if (limit <= 0 || queries.length === 0) return []
  const on = hasFrequent(asked.question.terms, common) ? db : kept
  return rowsOf<FoundText>(
    on,
    sql`
    select found.score, found.met, held.text from (${inSteps(queries, limit)}) found
     cross join lateral (
       select ${text} as text from ${DOCUMENTS} d where d.kind = 'frames' and d.id = found.id offset 0) held
     order by found.score desc, found.strength desc, found.id`,
  )
}

/** Runs queries one after the other until `limit` rows are found, in one statement. */
export function inSteps(queries: readonly ((limit: SQL) => SQL)[], limit: number): SQL {
  const name = (n: number) => sql.raw(`step${n}`)
  const steps = queries.map((query, n) => {
    const before = queries.slice(0, n).map((_, earlier) => sql` - (select count(*) from ${name(earlier)})`)
    return sql`${name(n)} as materialized (${query(sql`(${limit}::bigint${sql.join(before)})`)})`
  })
  const all = queries.map((_, n) => sql`select 'frames' as kind, id, strength, score, met from ${name(n)}`)
  return sql`with ${sql.join(steps, sql`, `)} ${sql.join(all, sql` union all `)}`
}

/** Words that choices are made among, at most. */
const MAX_CHOSEN = 6

/** Queries of `id`, `strength`, `score` and `met` for a limit, those with the better frames first. */
export function nextBestQueries(asked: Asked, common: Common): ((limit: SQL) => SQL)[] {
  const { question, beyond } = asked
  const { terms } = question
  if (terms.length < 2) return []
  // Few frames lack just one more word: the index finds them without reading all that have some word.
  const least = beyond.met - 1 - terms.filter((term) => term.quoted).length
  const isChosen = least > 1 && terms.length <= MAX_CHOSEN
  const most = isChosen
    ? [someQuery(asked, sql`words @@ ${someOf(question, least)}`, areManyOf(terms, least, common))]
    : []
  const rest = isChosen ? { ...asked, beyond: { words: someOf(question, least), met: beyond.met - 1 } } : asked
  return [...most, ...someWordQueries(rest, common)]
}

function someWordQueries(asked: Asked, common: Common): ((limit: SQL) => SQL)[] {
  const { terms } = asked.question
  // Frames that have only a very frequent word of the question come last.
  const rare = terms.filter((term) => !isFrequent([term], common))
  if (rare.length === terms.length || rare.length === 0)
    return [someQuery(asked, sql`words @@ ${anyOf(terms)}`, areMany(terms, common))]
  return [
    someQuery(asked, sql`words @@ ${anyOf(rare)}`, areMany(rare, common)),
    // Below the lowest score of those before.
    someQuery(asked, sql`words @@ ${anyOf(terms)} and not words @@ ${anyOf(rare)}`, true, 0.1 / terms.length),
  ]
}

/** `isMany`: only the strongest are ranked. `share`: of the score. */
const someQuery =
  ({ filters, question, beyond }: Asked, some: SQL, isMany: boolean, share = 1) =>
  (limit: SQL): SQL => {
    const { terms } = question
    const isNext = sql`${some} and not words @@ ${beyond.words} and ${limit} > 0`
    const where = sql`${whereOf(filters, fixedOf(question))} and ${isNext}`
    const join = (parts: readonly SQL[], by: SQL) => sql.join([...parts], by)
    const names = terms.map((_, n) => sql.raw(`m${n}`))
    const flags = terms.map((term, n) => sql`(words @@ ${oneOf(term)})::int as ${names[n]!}`)
    // The fewer of these frames have a word, the higher its weight.
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
