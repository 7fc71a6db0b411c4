import type { SQL } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { expandTerms, expansionOf, isPartSearchable, MAX_LONGER, type TypoCandidate } from '../text/expand.ts'
import { JOINED_FROM, type ReadTerm } from '../text/query.ts'
import type { Question } from '../text/question.ts'
import { typosAllowed } from '../text/typos.ts'
import { beginningOf, stemOf } from '../text/word-forms.ts'
import { sql } from './sql.ts'
import { type Executor, rowsOf, WORDS } from './tables.ts'
import type { ExpandedQuestion } from './tsquery.ts'

/** Expands the words of a query to similar words of the library. */

const SCOPES = ['frames', 'videos', 'brands', 'techniques'] as const
type Scope = (typeof SCOPES)[number]

/** A word of the library, and the word of a query that it was looked up for. */
interface Found {
  wanted: string
  scope: string
  word: string
  /** It is longer than the word of the query, and begins with it. */
  longer: boolean
}

/** What one word of a query may stand for, by scope. */
interface Near {
  /** How many words of the library were found for it, and one. */
  size: number
  byScope: ReadonlyMap<Scope, ReturnType<typeof expansionOf>>
}

interface NearWords {
  /** Of the read model that the words are of. */
  version: string | undefined
  near: ReadonlyMap<string, Near>
  /** Whether one of the words was looked up just now. */
  isFresh: boolean
}

interface NearRow {
  version: string
  found: Found[]
}

/** Words of the library that are kept for words of queries: about 5 MB. */
const MAX_KEPT = 50_000
/** The read model may change between looking up words and searching. Then both are repeated, at most this often. */
const MAX_TRIES = 3

/** A question expanded with similar words of the library, by scope. Only frames have attributes. */
export type Expanded = (scope: Scope) => ExpandedQuestion

/**
 * Answers a question by its expanded terms. The answer says of which version of the read model it is: where the words
 * are of another, they are looked up again. `unheard` is the answer where no row has any of the words, or a part of
 * one: the look-up shows it, and nothing is asked.
 */
export type Expand = <T>(
  question: Question,
  ask: (expanded: Expanded) => Promise<{ answer: T; version: string | undefined }>,
  unheard?: () => T,
) => Promise<T>

/** Looking words up costs more than the search itself, so what was found is kept until the read model changes. */
export function openExpand(db: Executor): Expand {
  const kept = new LRUCache<string, Near>({ maxSize: MAX_KEPT, sizeCalculation: ({ size }) => size })
  let keptFor: string | undefined

  function forget(version: string | undefined): void {
    kept.clear()
    keptFor = version
  }

  /** The similar words of each word, all from one version of the read model. */
  async function nearWords(words: readonly string[]): Promise<NearWords> {
    const version = keptFor
    const near = new Map<string, Near>()
    for (const word of words) {
      const known = kept.get(word)
      if (known) near.set(word, known)
    }
    const unknown = words.filter((word) => !near.has(word))
    if (unknown.length === 0) return { version, near, isFresh: false }
    const [row] = await rowsOf<NearRow>(db, nearWordsQuery(unknown))
    if (row!.version !== keptFor) forget(row!.version)
    const found = new Map<string, Found[]>(unknown.map((word) => [word, []]))
    for (const one of row!.found) found.get(one.wanted)!.push(one)
    for (const [word, some] of found) {
      const made = nearOf(word, some)
      kept.set(word, made)
      near.set(word, made)
    }
    // Words that were known before are of the version before.
    if (row!.version !== version && unknown.length < words.length) return nearWords(words)
    return { version: row!.version, near, isFresh: true }
  }

  return async (question, ask, unheard) => {
    const words = [...new Set(question.wanted.filter((term) => !term.exact).map((term) => term.words[0]!))]
    const lookedUp = words.filter(isLookedUp)
    const isAllLookedUp = question.wanted.length > 0 && question.wanted.every(isMetByLookedUpWords)
    for (let tries = 1; ; tries++) {
      const { version, near, isFresh } = await nearWords(lookedUp)
      // Two words written together begin with the first of them: where no word begins so, the library lacks both.
      if (unheard && tries < MAX_TRIES && isAllLookedUp && lookedUp.every((word) => near.get(word)!.size === 1)) {
        if (isFresh || (await versionOf(db)) === version) return unheard()
        forget(undefined)
        continue
      }
      const { answer, version: current } = await ask(expandedBy(question, near))
      if (lookedUp.length === 0 || current === undefined || current === version || tries === MAX_TRIES) return answer
      if (keptFor === version) forget(current)
    }
  }
}

/** The same terms each time they are asked for, so that their text is written once. */
function expandedBy({ wanted, excluded }: Question, near: ReadonlyMap<string, Near>): Expanded {
  const made = new Map<Scope, ExpandedQuestion>()
  return (scope) => {
    const known = made.get(scope)
    if (known) return known
    const strip = (terms: readonly ReadTerm[]) =>
      scope === 'frames' ? terms : terms.map((term) => ({ ...term, named: [], called: [] }))
    const terms = expandTerms(strip(wanted), (word) => near.get(word)?.byScope.get(scope))
    const question = { terms, excluded: strip(excluded) }
    made.set(scope, question)
    return question
  }
}

/** Whether no row meets this term but by words of the library that are looked up. */
const isMetByLookedUpWords = ({ words, exact, named, called }: ReadTerm): boolean =>
  !exact && named.length === 0 && called.length === 0 && isLookedUp(words[0]!)

const isLookedUp = (word: string): boolean => isPartSearchable(word) || word.length >= JOINED_FROM

function nearOf(word: string, found: readonly Found[]): Near {
  const candidates = new Map<Scope, TypoCandidate[]>(SCOPES.map((scope) => [scope, []]))
  for (const { scope, word: one, longer } of found) {
    const screen = scope === 'screen'
    candidates.get(screen ? 'frames' : (scope as Scope))!.push({ word: one, screen, longer })
  }
  const byScope = new Map([...candidates].map(([scope, some]) => [scope, expansionOf(word, some)]))
  return { size: found.length + 1, byScope }
}

/** The version of the read model. */
export const VERSION = sql`(select generation || ' ' || version from read_models where engine = 'postgres')`

export async function versionOf(db: Executor): Promise<string | undefined> {
  const [row] = await rowsOf<{ version: string }>(db, sql`select ${VERSION} as version`)
  return row?.version
}

/**
 * Words that differ by typos, that begin like other forms of a word, or that are longer. Also on-screen words that
 * contain a word, and pairs of words that were typed as one. With them comes the version of the read model.
 */
function nearWordsQuery(words: readonly string[]): SQL {
  const typed = words.filter((word) => typosAllowed(word) > 0)
  const parts = words.filter(isPartSearchable)
  // Typed together, written apart: wifi for wi-fi, dont for don't.
  const joined = words.filter((word) => word.length >= JOINED_FROM)
  const beginning = (word: string) => beginningOf(stemOf(word))
  const near = sql`
  select q.word as wanted, w.scope, w.word, false as longer
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
  select q.word, s.scope, w.word, false
    from unnest((select ${sql.param(words)}::text[]), (select ${sql.param(words.map(beginning))}::text[]))
           as q(word, beginning)
    cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
      select word from ${WORDS}
       where scope = s.scope and word >= q.beginning and word < q.beginning || chr(1114111)
         and length(word) <= length(q.word) + 5
       order by word limit 60) w
  union
  -- The word itself too: with none of these rows, no word begins so.
  select q.word, s.scope, w.word, w.word <> q.word
    from unnest((select ${sql.param(words)}::text[])) as q(word)
    cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
      select word from ${WORDS}
       where scope = s.scope and word >= q.word and word < q.word || chr(1114111)
       order by word limit ${MAX_LONGER + 2}) w
  union
  select q.word, w.scope, w.word, false
    from unnest((select ${sql.param(parts)}::text[])) as q(word) cross join lateral (
      select scope, word from ${WORDS}
       where scope = 'screen' and word like '%' || q.word || '%' order by length(word), word limit 60
    ) w
  union
  select q.word, s.scope, one.word || ' ' || other.word, false
    from unnest((select ${sql.param(joined)}::text[])) as q(word)
    cross join generate_series(1, length(q.word) - 1) as cut
    cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope)
    -- With a limit each word is looked up in the index. A join would read all words.
    cross join lateral (select word from ${WORDS} where scope = s.scope and word = left(q.word, cut) limit 1) one
    cross join lateral (
      select word from ${WORDS} where scope = s.scope and word = substr(q.word, cut + 1) limit 1) other`
  return sql`
    select ${VERSION} as version, coalesce((select json_agg(found) from (${near}) found), '[]') as found`
}
