import { type SQL, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { expandTerms, isPartSearchable, type TypoCandidate } from '../text/expand.ts'
import { JOINED_FROM, type ReadTerm } from '../text/query.ts'
import type { Question } from '../text/question.ts'
import { typosAllowed } from '../text/typos.ts'
import { type Executor, rowsOf, WORDS } from './tables.ts'
import type { ExpandedQuestion } from './tsquery.ts'

/** What words of a query may stand for: words of the library that are written nearly like them. */

type Scope = 'frames' | 'videos' | 'brands' | 'techniques'

/** A word of the library, and the word of a query that it was looked up for. */
interface Found {
  wanted: string
  scope: string
  word: string
}

/** Words of the library that are kept for words of queries: about 5 MB. */
const MAX_KEPT = 50_000

/** A question with the words of the library that its terms may stand for, by scope. Only frames have attributes. */
export type Expand = (question: Question) => Promise<(scope: Scope) => ExpandedQuestion>

/** Looking words up costs more than the search itself, so what was found is kept until the read model changes. */
export function openExpand(db: Executor): Expand {
  const kept = new LRUCache<string, Found[]>({ maxSize: MAX_KEPT, sizeCalculation: (found) => found.length + 1 })
  let keptFor: string | undefined

  async function nearWords(words: readonly string[], version: string): Promise<Found[]> {
    if (keptFor !== version) {
      kept.clear()
      keptFor = version
    }
    const found = new Map(words.map((word) => [word, kept.get(word)]))
    const unknown = words.filter((word) => found.get(word) === undefined)
    if (unknown.length > 0) {
      for (const word of unknown) found.set(word, [])
      for (const row of await rowsOf<Found>(db, nearWordsQuery(unknown))) found.get(row.wanted)!.push(row)
      if (keptFor === version) for (const word of unknown) kept.set(word, found.get(word)!)
    }
    return [...found.values()].flatMap((some) => some!)
  }

  return async ({ wanted, excluded }) => {
    const candidates = await candidatesFor(wanted)
    return (scope) => {
      const strip = (terms: readonly ReadTerm[]) =>
        scope === 'frames' ? terms : terms.map((term) => ({ ...term, named: [], called: [] }))
      return { terms: expandTerms(strip(wanted), candidates.get(scope) ?? new Map()), excluded: strip(excluded) }
    }
  }

  async function candidatesFor(terms: readonly ReadTerm[]): Promise<Map<string, Map<string, TypoCandidate[]>>> {
    const words = [...new Set(terms.filter((term) => !term.exact).map((term) => term.words[0]!))].filter(isLookedUp)
    // Typed apart, written together: signup for sign up. Only words that exist, because ranking by prefixes is slow.
    const together = [...new Set(terms.flatMap(({ joins }) => joins.map(({ word }) => word)))]
    if (words.length === 0 && together.length === 0) return new Map()
    const [row] = await rowsOf<{ version: string; found: Found[] }>(db, togetherQuery(together))
    return groupByScope([...row!.found, ...(await nearWords(words, row!.version))])
  }
}

const isLookedUp = (word: string): boolean => isPartSearchable(word) || word.length >= JOINED_FROM

/** Candidates by the word of the query, in each scope. */
function groupByScope(found: readonly Found[]): Map<string, Map<string, TypoCandidate[]>> {
  const byScope = new Map<string, Map<string, TypoCandidate[]>>()
  for (const { wanted, scope, word } of found) {
    const screen = scope === 'screen'
    const readBy = screen ? 'frames' : scope
    const held = byScope.get(readBy) ?? new Map<string, TypoCandidate[]>()
    byScope.set(readBy, held)
    const candidates = held.get(wanted)
    if (candidates) candidates.push({ word, screen })
    else held.set(wanted, [{ word, screen }])
  }
  return byScope
}

/** Words that begin with two words of the query in a row, and the version of the read model. */
const togetherQuery = (together: readonly string[]): SQL => sql`
  select generation || ' ' || version as version, coalesce((
    select json_agg(json_build_object('wanted', q.word, 'scope', s.scope, 'word', w.word))
      from unnest((select ${sql.param(together)}::text[])) as q(word)
      cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
        select word from ${WORDS}
         where scope = s.scope and word >= q.word and word < q.word || chr(1114111) order by word limit 12) w
    ), '[]') as found
    from read_models where engine = 'postgres'`

/** Words that differ by typos, on-screen words that contain a word, and pairs of words that were typed as one. */
function nearWordsQuery(words: readonly string[]): SQL {
  const typed = words.filter((word) => typosAllowed(word) > 0)
  const parts = words.filter(isPartSearchable)
  // Typed together, written apart: wifi for wi-fi, dont for don't.
  const joined = words.filter((word) => word.length >= JOINED_FROM)
  return sql`
  select q.word as wanted, w.scope, w.word
    from unnest((select ${sql.param(typed)}::text[])) as q(word) cross join lateral (
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
    from unnest((select ${sql.param(parts)}::text[])) as q(word) cross join lateral (
      select scope, word from ${WORDS}
       where scope = 'screen' and word like '%' || q.word || '%' order by length(word), word limit 60
    ) w
  union
  select q.word, one.scope, one.word || ' ' || other.word
    from unnest((select ${sql.param(joined)}::text[])) as q(word)
    cross join generate_series(1, length(q.word) - 1) as cut
    join ${WORDS} one on one.word = left(q.word, cut)
    join ${WORDS} other on other.scope = one.scope and other.word = substr(q.word, cut + 1)
   where one.scope = any('{frames,videos,brands,techniques}')`
}
