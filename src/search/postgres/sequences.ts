import { type SQL, sql } from 'drizzle-orm'
import { CHOSEN } from '../../vocabulary.ts'
import type { FoundSequence, SequencePage, SequenceQuery, SequenceStep } from '../library-search.ts'
import type { NamedWords } from '../text/named-words.ts'
import { readQuestion } from '../text/question.ts'
import { readCursor, toCursor } from './documents.ts'
import { askedOf, isAsked, type ReadModel } from './frames.ts'
import { wholeSet } from './rank.ts'
import { ENTRIES, FRAMES, inSnapshot, rowsOf, type Snapshot } from './tables.ts'
import { storable, whereOf } from './where.ts'
import { readSenses } from './words.ts'

/** Films looked at together, and in one call: where few have the steps near each other, the rest needs a next call. */
const FILMS_AT_ONCE = 40
const MOST_FILMS = 600
const MOST_UNKNOWN = 1000

/** The films that have every step in its order, newest first. */
export async function findSequences(
  readModel: ReadModel,
  query: SequenceQuery,
  techniques: NamedWords,
): Promise<SequencePage> {
  const common = await readModel.common()
  return inSnapshot(readModel.pool, async (reads) => {
    const wheres: SQL[] = []
    for (const { filters, q } of query.steps) {
      if (q === '') wheres.push(whereOf(filters))
      else {
        const question = readQuestion(q, techniques)
        const senses = (await readSenses(reads, question.wanted, ['frames']))('frames')
        const asked = askedOf(filters, question, senses, common)
        // Every word counts: a step with a word that the library does not have is nowhere.
        wheres.push(isAsked(asked) && asked.found.length === senses.length ? wholeSet(asked).where : sql`false`)
      }
    }
    return collect(reads, query, wheres)
  })
}

/** When the last film that was looked at was added, and its id. */
type Place = [string | number, string]

async function collect(reads: Snapshot, query: SequenceQuery, wheres: readonly SQL[]): Promise<SequencePage> {
  const sequences: FoundSequence[] = []
  let [place, films, unknown] = [query.after === undefined ? undefined : readCursor(query.after, 'integer'), 0, 0]
  for (;;) {
    const candidates = await findCandidates(reads, query, wheres, place)
    const moments = await loadMoments(reads, query, wheres, candidates)
    for (const { id, added } of candidates) {
      films++
      place = [Number(added), id]
      const { frames, notKnown } = moments.get(id)!
      unknown += notKnown
      for (const match of matchesIn(frames, query)) {
        const steps = match.map(({ first, from, to }, n) => ({
          ...{ frameId: frames[first]!.id, from, to },
          gap: n === 0 ? null : Math.round((from - match[n - 1]!.to) * 1000) / 1000,
        }))
        sequences.push({ videoId: id, steps })
      }
      if (sequences.length >= query.limit) return { sequences, films, unknown, next: toCursor(place) }
    }
    if (candidates.length < FILMS_AT_ONCE) {
      const isNone = films === 0 && query.after === undefined
      return { sequences, films, unknown: isNone ? await countUnknown(reads, query) : unknown, next: null }
    }
    if (films >= MOST_FILMS) return { sequences, films, unknown, next: toCursor(place!) }
  }
}

interface Candidate {
  id: string
  added: string
}

/** The newest films that have every step somewhere. */
function findCandidates(
  reads: Snapshot,
  query: SequenceQuery,
  wheres: readonly SQL[],
  place: Place | undefined,
): Promise<Candidate[]> {
  const conditions = [
    sql`e.kind = 'videos'`,
    ...ofFilms(query),
    ...(place ? [sql`(e.added_ms < ${place[0]} or (e.added_ms = ${place[0]} and e.id > ${place[1]}))`] : []),
    ...wheres.map((where) => sql`exists (select from ${FRAMES} where video_id = e.id and (${where}))`),
  ]
  return rowsOf<Candidate>(
    reads,
    sql`select e.id, e.added_ms as added from ${ENTRIES} e where ${sql.join(conditions, sql` and `)}
         order by e.added_ms desc, e.id limit ${FILMS_AT_ONCE}`,
  )
}

function ofFilms({ author, platform }: SequenceQuery): SQL[] {
  return [
    ...(author === undefined ? [] : [sql`author = ${storable([author])[0] ?? ''}`]),
    ...(platform === undefined ? [] : [sql`platform = ${platform}`]),
  ]
}

interface MomentRow {
  id: string
  video_id: string
  t_ms: number
  shot_ms: [number, number] | null
  meets: boolean[]
  unknown: boolean
}

/** Their frames in order of time, each with the time it stands for. */
async function loadMoments(
  reads: Snapshot,
  { steps }: SequenceQuery,
  wheres: readonly SQL[],
  candidates: readonly Candidate[],
): Promise<Map<string, { frames: Moment[]; notKnown: number }>> {
  const ids = candidates.map(({ id }) => id)
  const meets = wheres.map((where) => sql`((${where}) is true)`)
  const rows = await rowsOf<MomentRow>(
    reads,
    sql`select id, video_id, t_ms, shot_ms, array[${sql.join(meets, sql`, `)}] as meets, ${unknownOf(steps)} as unknown
          from ${FRAMES} where video_id = any(${sql.param(ids)}::text[]) order by video_id, t_ms`,
  )
  const byFilm = Map.groupBy(rows, ({ video_id }) => video_id)
  return new Map(
    ids.map((id) => {
      const all = byFilm.get(id) ?? []
      return [id, { frames: all.map((_, n) => toMoment(all, n)), notKnown: all.filter((row) => row.unknown).length }]
    }),
  )
}

/** Whether a frame has no value of an attribute that a step asks for. */
function unknownOf(steps: SequenceQuery['steps']): SQL {
  const asked = CHOSEN.filter((column) => steps.some(({ filters }) => (filters[column]?.length ?? 0) > 0))
  return asked.length === 0 ? sql`false` : sql.raw(`(${asked.map((column) => `${column} is null`).join(' or ')})`)
}

/** Where no film has every step: all frames without a value that is asked for, up to a number. */
async function countUnknown(reads: Snapshot, query: SequenceQuery): Promise<number> {
  const where = sql.join([unknownOf(query.steps), ...ofFilms(query)], sql` and `)
  const some = sql`select from ${FRAMES} where ${where} limit ${MOST_UNKNOWN}`
  const [row] = await rowsOf<{ count: number }>(reads, sql`select count(*)::int as count from (${some}) found`)
  return row!.count
}

/** The first frame of a shot stands from the shot's beginning; each until the next, or until its shot ends. */
function toMoment(rows: readonly MomentRow[], n: number): Moment {
  const { id, shot_ms: shot, meets } = rows[n]!
  const next = rows[n + 1]
  const from = beginningOf(rows, n)
  const isLastOfShot = !next || next.shot_ms?.[0] !== shot?.[0]
  const end = next ? beginningOf(rows, n + 1) : Number.POSITIVE_INFINITY
  const to = isLastOfShot && shot ? Math.min(shot[1] / 1000, end) : end
  return { id, from, to: Number.isFinite(to) ? Math.max(from, to) : from, meets }
}

function beginningOf(rows: readonly MomentRow[], n: number): number {
  const { t_ms, shot_ms: shot } = rows[n]!
  const isFirst = n === 0 || rows[n - 1]!.shot_ms?.[0] !== shot?.[0]
  return isFirst && shot ? Math.min(shot[0], t_ms) / 1000 : t_ms / 1000
}

/** A frame with the time it stands for, and which steps it meets. */
export interface Moment {
  id: string
  from: number
  to: number
  meets: readonly boolean[]
}

/** A run of neighbouring frames that meet a step. */
interface Stretch {
  /** Its first frame, by place. */
  first: number
  last: number
  from: number
  to: number
}

/** Neighbouring shots may overlap by rounding. */
const OVERLAP_SEC = 0.1

/** The matches of one film, tightest first. From each beginning the nearest; none that contains another. */
export function matchesIn(
  moments: readonly Moment[],
  { steps, span, perFilm }: Pick<SequenceQuery, 'steps' | 'span' | 'perFilm'>,
): Stretch[][] {
  const stretches = steps.map((_, n) => stretchesOf(moments, n))
  const deadEnds = new Set<Stretch>()
  const found = stretches[0]!.flatMap((start) => {
    const match = continued([start], { stretches, steps, deadEnds })
    return match && lengthOf(match) <= span ? [match] : []
  })
  const contains = (one: Stretch[], other: Stretch[]) =>
    one !== other && one[0]!.from <= other[0]!.from && one.at(-1)!.to >= other.at(-1)!.to
  return found
    .filter((match) => !found.some((other) => contains(match, other)))
    .sort((one, other) => gapsOf(one) - gapsOf(other) || one[0]!.from - other[0]!.from)
    .slice(0, perFilm)
}

function stretchesOf(moments: readonly Moment[], step: number): Stretch[] {
  const stretches: Stretch[] = []
  moments.forEach(({ from, to, meets }, n) => {
    if (!meets[step]) return
    const last = stretches.at(-1)
    if (last?.last === n - 1) Object.assign(last, { last: n, to })
    else stretches.push({ first: n, last: n, from, to })
  })
  return stretches
}

interface Choices {
  stretches: readonly Stretch[][]
  steps: readonly SequenceStep[]
  /** Stretches that no match goes on from, whatever is before them: each is tried once. */
  deadEnds: Set<Stretch>
}

/** The match that begins so and goes on with the nearest stretch of each step; undefined without one. */
function continued(match: Stretch[], choices: Choices): Stretch[] | undefined {
  const { stretches, steps, deadEnds } = choices
  const n = match.length
  if (n === steps.length) return match
  const before = match.at(-1)!
  const { from, to, next } = steps[n]!.gap
  for (const stretch of stretches[n]!) {
    const gap = stretch.from - before.to
    const isBehind = stretch.first > before.last && gap >= (from > 0 ? from : -OVERLAP_SEC)
    if (!isBehind || gap > to || (next && stretch.first !== before.last + 1)) continue
    if (deadEnds.has(stretch)) continue
    const whole = continued([...match, stretch], choices)
    if (whole) return whole
  }
  deadEnds.add(before)
  return undefined
}

const lengthOf = (match: readonly Stretch[]): number => match.at(-1)!.to - match[0]!.from
const gapsOf = (match: readonly Stretch[]): number =>
  match.slice(1).reduce((sum, { from }, n) => sum + Math.max(0, from - match[n]!.to), 0)
