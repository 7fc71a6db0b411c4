import { sql } from 'drizzle-orm'
import { expandTerms, isPartSearchable, type TypoCandidate } from '../text/expand.ts'
import { JOINED_FROM, type ReadTerm } from '../text/query.ts'
import type { Question } from '../text/question.ts'
import { typosAllowed } from '../text/typos.ts'
import { type Executor, rowsOf, WORDS } from './tables.ts'
import type { ExpandedQuestion } from './tsquery.ts'

export type Scope = 'frames' | 'videos' | 'brands' | 'techniques'

/** A question with the words of the library that its terms may stand for, by scope. Only frames have attributes. */
export async function expandQuestion(
  db: Executor,
  { wanted, excluded }: Question,
): Promise<(scope: Scope) => ExpandedQuestion> {
  const candidates = await candidatesFor(db, wanted)
  return (scope) => {
    const strip = (terms: readonly ReadTerm[]) =>
      scope === 'frames' ? terms : terms.map((term) => ({ ...term, named: [], called: [] }))
    return { terms: expandTerms(strip(wanted), candidates.get(scope) ?? new Map()), excluded: strip(excluded) }
  }
}

/** Candidates by the word of the query, in each scope, with one look-up for all words. */
async function candidatesFor(
  db: Executor,
  terms: readonly ReadTerm[],
): Promise<Map<string, Map<string, TypoCandidate[]>>> {
  const words = [...new Set(terms.filter((term) => !term.exact).map((term) => term.words[0]!))]
  const typed = words.filter((word) => typosAllowed(word) > 0)
  const parts = words.filter(isPartSearchable)
  // Typed together, written apart: wifi for wi-fi, dont for don't.
  const joined = words.filter((word) => word.length >= JOINED_FROM)
  // Typed apart, written together: signup for sign up. Only words that exist, because ranking by prefixes is slow.
  const together = [...new Set(terms.flatMap(({ joins }) => joins.map(({ word }) => word)))]
  const byScope = new Map<string, Map<string, TypoCandidate[]>>()
  if (parts.length === 0 && joined.length === 0 && together.length === 0) return byScope
  const rows = await rowsOf<{ asked: string; scope: string; word: string }>(
    db,
    sql`
    select q.word as asked, w.scope, w.word
      from unnest(${sql.param(typed)}::text[]) as q(word) cross join lateral (
        (select scope, word from ${WORDS}
          where word % q.word and abs(length(word) - length(q.word)) <= 2
          order by similarity(word, q.word) desc, word limit 40)
        union
        (select s.scope, near.word
           from unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
             select word from ${WORDS} w
              where w.scope = s.scope and w.word >= left(q.word, 1) and w.word < left(q.word, 1) || chr(1114111)
                and abs(length(w.word) - length(q.word)) <= 1 and similarity(w.word, q.word) > 0.12
              order by similarity(w.word, q.word) desc, w.word limit 20) near)
        union
        -- The first two letters swapped leave few trigrams alike.
        (select s.scope, near.word
           from unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
             select word from ${WORDS} w, concat(substr(q.word, 2, 1), left(q.word, 1)) as swapped
              where w.scope = s.scope and w.word >= swapped and w.word < swapped || chr(1114111)
                and abs(length(w.word) - length(q.word)) <= 1 and similarity(w.word, q.word) > 0.12
              order by similarity(w.word, q.word) desc, w.word limit 20) near)
      ) w
    union
    select q.word, w.scope, w.word
      from unnest(${sql.param(parts)}::text[]) as q(word) cross join lateral (
        select scope, word from ${WORDS}
         where scope = 'screen' and word like '%' || q.word || '%' order by length(word), word limit 60
      ) w
    union
    select q.word, w.scope, w.word
      from unnest(${sql.param(together)}::text[]) as q(word)
      cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
        select scope, word from ${WORDS}
         where scope = s.scope and word >= q.word and word < q.word || chr(1114111) order by word limit 12) w
    union
    select q.word, one.scope, one.word || ' ' || other.word
      from unnest(${sql.param(joined)}::text[]) as q(word)
      cross join generate_series(1, length(q.word) - 1) as cut
      join ${WORDS} one on one.word = left(q.word, cut)
      join ${WORDS} other on other.scope = one.scope and other.word = substr(q.word, cut + 1)
     where one.scope = any('{frames,videos,brands,techniques}')`,
  )
  for (const { asked, scope, word } of rows) {
    const screen = scope === 'screen'
    const readBy = screen ? 'frames' : scope
    const held = byScope.get(readBy) ?? new Map<string, TypoCandidate[]>()
    byScope.set(readBy, held)
    held.set(asked, [...(held.get(asked) ?? []), { word, screen }])
  }
  return byScope
}
