import { type SQL, sql } from '../../sql/orm.ts'
import type { FoundSequence, SequencePage, SequenceQuery, SequenceStep } from '../library-search.ts'
import type { Read } from '../query.ts'
import { readCursor, toCursor } from './documents.ts'
import { askedOf, isAsked, type ReadModel } from './frames.ts'
import { wholeSet } from './rank.ts'
import { ENTRIES, FRAMES, inSnapshot, rowsOf, type Snapshot, storable, whereOf } from './tables.ts'
import { readSenses } from './words.ts'

/** Films looked at together, and in one call: where few have the steps near each other, the rest needs a next call. */
const FILMS_AT_ONCE = 40
const MOST_FILMS = 600

export interface ReadSequences extends Omit<SequenceQuery, 'steps'> {
  steps: readonly Read<SequenceStep>[]
}

/** The films that have every step in its order, newest first. */
export async function findSequences(readModel: ReadModel, query: ReadSequences): Promise<SequencePage> {
  const common = await readModel.common()
  return inSnapshot(readModel.pool, async (reads) => {
    const wheres: SQL[] = []
    for (const { filters, question } of query.steps) {
      if (!question) wheres.push(whereOf(filters))
      else {
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

async function collect(reads: Snapshot, query: ReadSequences, wheres: readonly SQL[]): Promise<SequencePage> {
  const sequences: FoundSequence[] = []
  /** Of the last one that the page has room for. */
  let end: Place | undefined
  let [place, films] = [query.after === undefined ? undefined : (readCursor(query.after, 'integer') as Place), 0]
  for (;;) {
    const candidates = await findCandidates(reads, query, wheres, place)
    const moments = await loadMoments(reads, wheres, candidates)
    for (const { id, added } of candidates) {
      films++
      place = [Number(added), id]
      const frames = moments.get(id)!
      const steps = matchIn(frames, query.steps)
      if (!steps) continue
      if (end) return { sequences, films, next: toCursor(end) }
      sequences.push({
        videoId: id,
        steps: steps.map(({ first, from, to }) => ({ frameId: frames[first]!.id, from, to })),
      })
      if (sequences.length === query.limit) end = place
    }
    if (candidates.length < FILMS_AT_ONCE) return { sequences, films, next: null }
    if (films >= MOST_FILMS) return { sequences, films, next: toCursor(end ?? place!) }
  }
}

interface Candidate {
  id: string
  added: string
}

/** The newest films that have every step somewhere. */
function findCandidates(
  reads: Snapshot,
  query: Pick<SequenceQuery, 'author' | 'platform'>,
  wheres: readonly SQL[],
  place: Place | undefined,
): Promise<Candidate[]> {
  const { author, platform } = query
  const conditions = [
    sql`e.kind = 'videos'`,
    ...(author === undefined ? [] : [sql`author = ${storable([author])[0] ?? ''}`]),
    ...(platform === undefined ? [] : [sql`platform = ${platform}`]),
    ...(place ? [sql`(e.added_ms < ${place[0]} or (e.added_ms = ${place[0]} and e.id > ${place[1]}))`] : []),
    ...wheres.map((where) => sql`exists (select from ${FRAMES} where video_id = e.id and (${where}))`),
  ]
  return rowsOf<Candidate>(
    reads,
    sql`select e.id, e.added_ms as added from ${ENTRIES} e where ${sql.join(conditions, sql` and `)}
         order by e.added_ms desc, e.id limit ${FILMS_AT_ONCE}`,
  )
}

interface MomentRow {
  id: string
  video_id: string
  t_ms: number
  shot_ms: [number, number] | null
  meets: boolean[]
}

/** Their frames in order of time, each with the time it stands for. */
async function loadMoments(
  reads: Snapshot,
  wheres: readonly SQL[],
  candidates: readonly Candidate[],
): Promise<Map<string, Moment[]>> {
  const ids = candidates.map(({ id }) => id)
  const meets = wheres.map((where) => sql`((${where}) is true)`)
  const rows = await rowsOf<MomentRow>(
    reads,
    sql`select id, video_id, t_ms, shot_ms, array[${sql.join(meets, sql`, `)}] as meets
          from ${FRAMES} where video_id = any(${sql.param(ids)}::text[]) order by video_id, t_ms`,
  )
  const byFilm = Map.groupBy(rows, ({ video_id }) => video_id)
  return new Map(
    ids.map((id) => {
      const all = byFilm.get(id) ?? []
      return [id, all.map((_, n) => toMoment(all, n))]
    }),
  )
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

/** The tightest match of a film: from each beginning, the nearest stretch of each step that a match goes on from. */
export function matchIn(
  moments: readonly Moment[],
  steps: readonly Pick<SequenceStep, 'withinSec'>[],
): Stretch[] | undefined {
  let matches = stretchesOf(moments, steps.length - 1).map((stretch) => [stretch])
  for (let n = steps.length - 2; n >= 0; n--) {
    const rests = matches
    matches = stretchesOf(moments, n).flatMap((stretch) => {
      const rest = rests.find(([next]) => follows(stretch, next!, steps[n + 1]!.withinSec))
      return rest ? [[stretch, ...rest]] : []
    })
  }
  return matches.sort((one, other) => gapsOf(one) - gapsOf(other))[0]
}

function follows(before: Stretch, next: Stretch, withinSec: number): boolean {
  const gap = next.from - before.to
  return next.first > before.last && gap >= -OVERLAP_SEC && gap <= withinSec
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

const gapsOf = (match: readonly Stretch[]): number =>
  match.slice(1).reduce((sum, { from }, n) => sum + Math.max(0, from - match[n]!.to), 0)
