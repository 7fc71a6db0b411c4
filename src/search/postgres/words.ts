import { sql } from '../../sql/orm.ts'
import { ttlCached } from '../../turns.ts'
import { isListed } from '../text/named-words.ts'
import { isFunctionWord, type Question } from '../text/question.ts'
import {
  type Candidate,
  type Concept,
  type Guesses,
  guessesOf,
  isMet,
  isPartSearchable,
  type Sense,
  sensesOf,
} from '../text/senses.ts'
import { beginningOf, stemOf } from '../text/tokens.ts'
import { typosAllowed } from '../text/typos.ts'
import { anyOf, type Executor, rowsOf, type Snapshot, versionOf } from './tables.ts'

/** The first step of a question: which of its words the library has, and what the others may stand for. */

/** Where words stand. On-screen text is a part of `frames`; `names` are the words of titles and brands. */
export const SCOPES = ['frames', 'videos', 'brands', 'techniques'] as const
export type Scope = (typeof SCOPES)[number]

/** Of each scope: what the concepts of a question mean there. Only frames have attributes. */
export type SensesByScope = (scope: Scope) => readonly Sense[]

/** What the words of a question mean in the library of one version. */
export interface KnownSenses {
  version: string
  in: SensesByScope
}

/** What the words of a question mean in the snapshot. `known`: from a snapshot that may be of the same version. */
export async function sensesIn(
  reads: Snapshot,
  { wanted }: Pick<Question, 'wanted'>,
  scopes: readonly Scope[],
  known: KnownSenses | undefined,
): Promise<SensesByScope> {
  if (known && known.version === (await versionOf(reads))) return known.in
  return readSenses(reads, wanted, scopes)
}

export async function readSenses(
  reads: Snapshot,
  concepts: readonly Concept[],
  scopes: readonly Scope[],
): Promise<SensesByScope> {
  const asked = concepts.flatMap((concept) => [concept, ...(concept.each ?? [])])
  const words = unique(asked.filter(({ exact }) => !exact).flatMap((concept) => concept.words))
  const also = asked.flatMap(({ joins, named, called, corrected }) =>
    [joins, named, corrected?.named ?? [], called.flat(), corrected?.called.flat() ?? []].flat(),
  )
  const held = new Map<string, Set<string>>()
  if (words.length + also.length > 0) {
    const beginnings = unique(words.map((word) => beginningOf(stemOf(word))))
    const values = [unique([...words, ...also]), beginnings, [...scopes, 'names', 'named']]
    for (const { scope, word } of await reads.prepared<{ scope: string; word: string }>(
      'question_words',
      WORDS,
      values,
    ))
      held.set(scope, (held.get(scope) ?? new Set()).add(word))
  }
  const found = new Map(scopes.map((scope) => [scope, sensesOf(inScope(concepts, scope), knownIn(scope, held))]))
  await addGuesses(reads, found)
  return (scope) => found.get(scope)!
}

const inScope = (concepts: readonly Concept[], scope: Scope): readonly Concept[] =>
  scope === 'frames'
    ? concepts
    : concepts.flatMap((one) => one.each ?? one).map(({ corrected, ...one }) => ({ ...one, named: [], called: [] }))

function knownIn(scope: Scope, held: ReadonlyMap<string, ReadonlySet<string>>) {
  const here = held.get(scope) ?? new Set()
  const all = [...here]
  const isIn = (name: string) => (word: string) => scope === 'frames' && held.get(name)?.has(word) === true
  const isNamed = isIn('named')
  return {
    has: (word: string) => here.has(word) || isNamed(word),
    like: (word: string) => {
      const beginning = beginningOf(stemOf(word))
      return all.filter((one) => one.startsWith(beginning))
    },
    isName: isIn('names'),
  }
}

/** Looks for what words mean that the library has in no form. The last word of a name may be a beginning anyway. */
async function addGuesses(reads: Snapshot, found: ReadonlyMap<Scope, Sense[]>): Promise<void> {
  const held = new Set([...found.values()].flatMap((senses) => senses.filter(hasWord).map(({ text }) => text)))
  const open = [...found].flatMap(([scope, senses]) =>
    senses.flatMap((sense) => {
      if (scope !== 'frames' && sense.unfinished) sense.guesses = ANY_LONGER
      const isKnown = scope === 'frames' ? isMet(sense) : held.has(sense.text)
      return isKnown ? [] : [{ scope, sense, word: sense.words[0]! }]
    }),
  )
  if (open.length === 0) return
  const rows = await reads.prepared<Candidate & { n: number }>('question_guesses', GUESSES, [
    open.map(({ scope }) => scope),
    open.map(({ word }) => word),
    open.map(({ sense }) => sense.unfinished),
    open.map(({ scope, word }) => scope === 'frames' && isPartSearchable(word)),
    open.map(({ word }) => typosAllowed(word) > 0 && !isListed(word)),
  ])
  // Nobody who mistypes means a word that weighs nothing: beach is no each.
  const byWord = Map.groupBy(
    rows.filter(({ word: guess }) => !isFunctionWord(guess)),
    ({ n }) => n,
  )
  open.forEach(({ sense, word }, n) => {
    const guesses = guessesOf(word, byWord.get(n + 1) ?? [])
    sense.guesses = { ...guesses, begins: guesses.begins || sense.guesses?.begins === true }
  })
}

const hasWord = ({ exact, forms, joins }: Sense): boolean =>
  exact || joins.length > 0 || forms.every((list) => list.length > 0)

const ANY_LONGER: Guesses = { longer: [], begins: true, parts: [], close: [], pairs: [] }

const unique = (words: readonly string[]): string[] => [...new Set(words)]

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
export function framesWith(sense: Sense, { counts, frames }: TermStats): number {
  if (counts.size === 0) return 0
  const lexemes = (anyOf(sense) ?? '').match(/(?<=')[^']+(?=')/g) ?? []
  return Math.min(
    frames,
    [...new Set(lexemes)].reduce((sum, lexeme) => sum + (counts.get(lexeme) ?? 0), 0),
  )
}

/**
 * $1: words as they are; $2: beginnings of their forms; $3: scopes. A subselect hides a value from the planner, which
 * keeps a plan only if the values do not matter to it.
 */
const WORDS = `
select scope, word from library_search.words
 where word = any((select $1::text[])::text[]) and scope = any((select $3::text[])::text[])
union
select s.scope, w.word from unnest((select $2::text[])) as b(beginning)
 cross join unnest((select $3::text[])) as s(scope)
 cross join lateral (
   select word from library_search.words
    where scope = s.scope and word >= b.beginning and word < b.beginning || chr(1114111)
      and length(word) <= length(b.beginning) + 6
    order by word limit 60) w`

/**
 * $1: scopes; $2: a word of each; then whether longer words, words with this part, and typos are looked for. With a
 * limit each word is looked up in the index. A join would read all words.
 */
const GUESSES = `
select q.n::int, w.word, w.how
  from unnest((select $1::text[]), (select $2::text[]), (select $3::bool[]), (select $4::bool[]),
              (select $5::bool[])) with ordinality as q(scope, word, longer, part, typo, n)
 cross join lateral (
  (select word, 'longer' as how from library_search.words w
    where q.longer and w.scope = q.scope and w.word > q.word and w.word < q.word || chr(1114111)
    order by length(word), word limit 25)
  union all
  (select word, 'part' from library_search.words w
    where q.part and w.scope = 'screen' and w.word like '%' || q.word || '%'
    order by length(word), word limit 40)
  union all
  (select word, 'close' from library_search.words w
    where q.typo and w.scope = q.scope and w.word % q.word and abs(length(w.word) - length(q.word)) <= 2
    order by similarity(w.word, q.word) desc, word limit 40)
  union all
  -- A swap of the first two letters, or another letter soon after the first, leaves few trigrams alike.
  (select near.word, 'close' from unnest(array[left(q.word, 1), substr(q.word, 2, 1) || left(q.word, 1)]) as begins
    cross join lateral (
      select word from library_search.words w
       where q.typo and w.scope = q.scope and w.word >= begins and w.word < begins || chr(1114111)
         and abs(length(w.word) - length(q.word)) <= 1 and similarity(w.word, q.word) > 0.12
       order by similarity(w.word, q.word) desc, w.word limit 20) near)
  union all
  (select one.word || ' ' || other.word, 'pair' from generate_series(1, length(q.word) - 1) as cut
    cross join lateral (
      select word from library_search.words
       where length(q.word) > 2 and scope = q.scope and word = left(q.word, cut) limit 1) one
    cross join lateral (
      select word from library_search.words where scope = q.scope and word = substr(q.word, cut + 1) limit 1) other)
 ) w`
