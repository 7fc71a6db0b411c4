import { type SQL, sql } from '../../sql/orm.ts'
import type { FrameFilters, FrameHit } from '../library-search.ts'
import { Matcher, rounded } from '../text/match.ts'
import { namedValues } from '../text/named-words.ts'
import type { Question } from '../text/question.ts'
import { nearness, toBits, toSigned } from '../vectors.ts'
import { documentsOf } from './documents.ts'
import { FRAMES, fixedOf, LIVE, rowsOf, type Snapshot, tsquery, versionOf, whereOf } from './tables.ts'
import { sensesIn } from './words.ts'

/** Frames by what they mean: bits choose among all that pass the filters, bytes order the best of them. */

const CHOSEN_BY_BITS = 200
/** Frames that stand for the whole library. */
const SAMPLE = 1_000
/** Of fewer none can stand out: the most by which one of n differs from all is √(n−1) deviations. */
const FEWEST = 25
/** Above it each question would read too many bits. */
const MOST_SCANNED = 200_000

export interface Direction {
  space: string
  vector: Float32Array | Int8Array
}

/** The vectors of the library that a question is compared with. */
export interface Background {
  version: string
  space: string | undefined
  sample: readonly { id: string; vector: Int8Array }[]
  /** About how many frames there are. */
  frames: number
}

/** Loads it once for each version of the library. */
export function openBackground(): (reads: Snapshot) => Promise<Background> {
  let known: Background | undefined
  return async (reads) => {
    const version = await versionOf(reads)
    if (known?.version === version) return known
    const [row] = await rowsOf<{ space: string | null; frames: number }>(
      reads,
      sql`select (select name from ${sql.raw(LIVE)}.space) as space,
                 (select reltuples::float8 from pg_class
                   where oid = ${sql.raw(`'${LIVE}.frames'`)}::regclass) as frames`,
    )
    const { space, frames } = row!
    const rows = await rowsOf<{ id: string; q8: Buffer }>(
      reads,
      sql`select frame_id as id, q8 from frame_vectors where space = ${space} and q8 is not null
           order by hashtext(frame_id) limit ${SAMPLE}`,
    )
    const sample = rows.map(({ id, q8 }) => ({ id, vector: toSigned(q8) }))
    known = { version, space: space ?? undefined, sample, frames: Math.max(frames, sample.length) }
    return known
  }
}

/** From this score on a frame stands out. */
export const STANDS_OUT = 0.5

/** How many deviations the farthest of so many frames are out by chance. */
const farthestOf = ({ frames }: Background) => Math.sqrt(2 * Math.log(Math.max(frames, 2)))

/**
 * How far out of a background a nearness is: 0.5 where it is as far out as the farthest of as many frames would be by
 * chance, and more where it stands out. A frame (`own`) is no background of itself.
 */
function scoresAgainst(background: Background, vector: Direction['vector'], own?: string): (near: number) => number {
  const all = background.sample.filter(({ id }) => id !== own).map((one) => nearness(vector, one.vector))
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length
  const deviation = Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length)
  const farthest = farthestOf(background)
  return (near) => {
    const out = Math.max(0, (near - mean) / Math.max(deviation, Number.EPSILON))
    return out / (out + farthest)
  }
}

export interface CloseQuery {
  question: Question
  filters: FrameFilters
  limit: number
}

/** What frames mean beside one. Undefined where that has no vector of this space. */
export async function meaningsBeside(reads: Snapshot, background: Background, space: string, id: string) {
  if (!canCompare(background, space)) return undefined
  const [own] = await vectorsOf(reads, space, [id])
  if (!own) return undefined
  const vector = toSigned(own.q8)
  const scoreOf = scoresAgainst(background, vector, id)
  return {
    nearest: (where: SQL) => nearestByBits(reads, vector, where),
    scoresOf: async (ids: readonly string[]) =>
      new Map((await vectorsOf(reads, space, ids)).map(({ id, q8 }) => [id, scoreOf(nearness(vector, toSigned(q8)))])),
    /** The score of one deviation: most frames are farther. */
    nearer: 1 / (1 + farthestOf(background)),
  }
}

async function nearestByBits(reads: Snapshot, vector: Direction['vector'], where: SQL): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    reads,
    sql`select id from ${FRAMES} where ${where} and bits is not null
         order by bit_count(bits # ('x' || ${toBits(vector)})::varbit), id limit ${CHOSEN_BY_BITS}`,
  )
  return rows.map(({ id }) => id)
}

/** By ids that are known: a join would read all vectors. */
const vectorsOf = (reads: Snapshot, space: string, ids: readonly string[]) =>
  rowsOf<{ id: string; q8: Buffer }>(
    reads,
    sql`select frame_id as id, q8 from frame_vectors
         where space = ${space} and q8 is not null and frame_id = any(${sql.param(ids)})`,
  )

/** Whether frames have vectors of this space, enough to stand out of and few enough to be compared one by one. */
export const canCompare = (background: Background, space: string): boolean =>
  background.space === space && background.frames <= MOST_SCANNED && background.sample.length >= FEWEST

/** The nearest frames, with scores against the background. Undefined: this space is not the one that is searched. */
export async function findClose(
  reads: Snapshot,
  background: Background,
  { space, vector }: Direction,
  { question, filters, limit }: CloseQuery,
): Promise<FrameHit[] | undefined> {
  if (!canCompare(background, space)) return undefined
  const fixed = fixedOf({ senses: [], excluded: question.excluded })
  const where = whereOf(filters, fixed === undefined ? undefined : tsquery(fixed))
  const rows = await vectorsOf(reads, space, await nearestByBits(reads, vector, where))
  const scoreOf = scoresAgainst(background, vector)
  const best = rows
    .map(({ id, q8 }) => ({ id, score: scoreOf(nearness(vector, toSigned(q8))) }))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
  const documents = await documentsOf(
    reads,
    'frames',
    best.map(({ id }) => id),
  )
  const matcher = new Matcher((await sensesIn(reads, question, ['frames'], undefined))('frames'))
  return best.flatMap(({ id, score }) => {
    const document = documents.get(id)
    if (!document) return []
    const { matched, ...words } = matcher.frame(document, namedValues(document, matcher.attributes))
    return [{ document, score: rounded(score), ...words, matched: { ...matched, meaning: score.toFixed(2) } }]
  })
}
