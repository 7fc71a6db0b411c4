import type { Db } from '../../db/client.ts'
import { type FrameRow, frames, reviewedFrames } from '../../db/schema/frames.ts'
import { notFound } from '../../errors.ts'
import { eq, inArray, sql } from '../../sql/orm.ts'
import { type Annotated, CHOSEN, isListed } from '../../vocabulary.ts'
import { isId } from '../ids.ts'
import { type Correction, correctFrame, toAuthor } from './corrections.ts'
import { storedValue } from './frames.ts'
import { OUT_OF_LIST } from './provenance.ts'

/* The review queue: frames in the order in which a review helps most. */

/** The attributes that a person judges at a glance: the closed lists and the technique. */
const LISTED = CHOSEN.filter(isListed)
export const REVIEWED: readonly Annotated[] = [...LISTED, 'technique']

/** A position in the queue, for the next page. */
export type ReviewPlace = {
  /** 0 for a frame with a value outside the lists or the vocabulary, else 1. */
  rank: number
  /** The lowest certainty of a value that no person set, 0–1. It is what the annotator stated. */
  confidence: number
  id: string
}

export interface ReviewFrame {
  place: ReviewPlace
  /** It is the `n`th of the queue, which holds so many. */
  n: number
  total: number
  row: FrameRow
  /** Techniques outside the vocabulary that annotators proposed for it. */
  proposed: string[]
}

/** Only frames of the newest videos are ranked, so that the queue is quick in any library. */
const VIDEOS_RANKED = 300

/** SQL: how sure the annotator was of a value, 0–1. Null for a value that a person set, 0 without an answer. */
function certainty(attribute: string): string {
  const provenance = `f.${attribute}_provenance`
  return `case when ${provenance}->>'source' = 'person' then null
    when ${provenance}->>'reason' = '${OUT_OF_LIST}' then -1
    else coalesce((${provenance}->>'confidence')::float8, 0) end`
}

// Often no technique is right, so only a value or a proposal is worth a review.
const LEAST_CERTAINTY = sql.raw(`least(${LISTED.map(certainty).join(', ')},
  case when f.technique is null then null else ${certainty('technique')} end)`)

/**
 * The next frames to review after a position: frames with values outside the lists and the vocabulary first, then the
 * least certain. Left out are frames whose values were all set by people, and frames that were accepted and have no
 * newer answer.
 */
export async function nextToReview(
  db: Db,
  { after, limit }: { after?: ReviewPlace | undefined; limit: number },
): Promise<ReviewFrame[]> {
  const behind = after
    ? sql`where (rank, confidence, id) > (${after.rank}::int, ${after.confidence}::float8, ${after.id})`
    : sql``
  const { rows } = await db.execute<ReviewPlace & { n: number; total: number; proposed: string[] | null }>(sql`
    with recent as (select id from videos where first_ready_at is not null order by added_at desc, id
                     limit ${VIDEOS_RANKED}),
      seen as (
        select f.id, ${LEAST_CERTAINTY} as least,
               case when f.technique_provenance->>'source' = 'person' then null else (
                 select array_agg(distinct a.proposed_technique) from annotations a
                  where a.frame_id = f.id and a.proposed_technique is not null
                    and not exists (select 1 from dismissed_suggestions d where d.slug = a.proposed_technique)
               ) end as proposed
          from frames f left join reviewed_frames r on r.frame_id = f.id
         where f.video_id in (select id from recent)
           and (r.at is null or exists (select from annotations a where a.frame_id = f.id and a.created_at > r.at))),
      ranked as (
        select id, case when proposed is not null or least < 0 then 0 else 1 end as rank,
               coalesce(greatest(least, 0), 0) as confidence, proposed
          from seen where least is not null or proposed is not null),
      numbered as (select *, row_number() over (order by rank, confidence, id)::int as n, count(*) over ()::int as total
                     from ranked)
    select * from numbered ${behind} order by n limit ${limit}`)
  const ids = rows.map(({ id }) => id)
  const found = await rowsOf(db, ids)
  return rows.flatMap(({ proposed, n, total, ...place }) => {
    const row = found.get(place.id)
    return row ? [{ place, n, total, row, proposed: proposed ?? [] }] : []
  })
}

/** One frame, whether or not it is in the queue. @throws AppError not_found */
export async function frameToReview(db: Db, id: string): Promise<Pick<ReviewFrame, 'row' | 'proposed'>> {
  const row = isId(id) ? (await rowsOf(db, [id])).get(id) : undefined
  if (!row) throw notFound('frame')
  const { rows } = await db.execute<{ slug: string }>(sql`
    select distinct proposed_technique as slug from annotations
     where frame_id = ${id} and proposed_technique is not null order by 1`)
  return { row, proposed: rows.map(({ slug }) => slug) }
}

async function rowsOf(db: Db, ids: readonly string[]): Promise<Map<string, FrameRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db.select().from(frames).where(inArray(frames.id, ids))
  return new Map(rows.map((row) => [row.id, row]))
}

/** A value that another person had set, and their address; null when their account is gone. */
export interface TakenValue {
  attribute: Annotated
  by: string | null
}

/** `locked`: for `takeBackReview`. `taken`: what others had set before. */
export interface Judgement {
  locked: Annotated[]
  taken: TakenValue[]
}

/**
 * Records a person's judgement: the given values are locked as theirs, even where they equal the model's. Values that a
 * person set before stay. The frame counts as reviewed also without any value. @throws AppError not_found,
 * invalid_request
 */
export async function acceptReview(
  db: Db,
  { frameId, accountId, values }: { frameId: string; accountId: string; values: Correction },
): Promise<Judgement> {
  let judged: { row: FrameRow; locked: Annotated[]; others: Annotated[] } | undefined
  await db.transaction(async (tx) => {
    const correction = (row: FrameRow) => {
      const given = REVIEWED.filter((attribute) => values[attribute])
      const locked = given.filter((attribute) => authorOf(row, attribute) === undefined)
      const others = given.filter((attribute) => ![undefined, toAuthor(accountId)].includes(authorOf(row, attribute)))
      judged = { row, locked, others }
      return Object.fromEntries(locked.map((attribute) => [attribute, values[attribute]!]))
    }
    await correctFrame(tx, { frameId, accountId, correction })
    const at = sql`now()`
    await tx
      .insert(reviewedFrames)
      .values({ frameId, at })
      .onConflictDoUpdate({ target: reviewedFrames.frameId, set: { at } })
  })
  const { row, locked, others } = judged!
  return { locked, taken: await settersOf(db, row, others) }
}

/** The person who set a value, as provenance names them. */
function authorOf(row: FrameRow, attribute: Annotated): string | undefined {
  const { provenance } = storedValue(row, attribute)
  return provenance?.source === 'person' ? provenance.by : undefined
}

/** Who set these values of a frame; those that no person set are left out. */
export async function settersOf(db: Db, row: FrameRow, attributes: readonly string[]): Promise<TakenValue[]> {
  const set = REVIEWED.filter((attribute) => attributes.includes(attribute) && authorOf(row, attribute) !== undefined)
  if (set.length === 0) return []
  const authors = sql.param([...new Set(set.map((attribute) => authorOf(row, attribute)))])
  const { rows } = await db.execute<{ author: string; email: string | null }>(
    sql`select author, email from unnest(${authors}::text[]) author join accounts on author = 'person:' || id`,
  )
  const emails = new Map(rows.map(({ author, email }) => [author, email]))
  return set.map((attribute) => ({ attribute, by: emails.get(authorOf(row, attribute)!) ?? null }))
}

/**
 * Undoes `acceptReview`: unlocks what the account itself set of these attributes, and the frame is in the queue again.
 * Returns what it unlocked. @throws AppError not_found
 */
export async function takeBackReview(
  db: Db,
  { frameId, accountId, attributes }: { frameId: string; accountId: string; attributes: readonly string[] },
): Promise<Annotated[]> {
  let own: Annotated[] = []
  await db.transaction(async (tx) => {
    const correction = (row: FrameRow) => {
      own = REVIEWED.filter((name) => attributes.includes(name) && authorOf(row, name) === toAuthor(accountId))
      return Object.fromEntries(own.map((attribute) => [attribute, null]))
    }
    await correctFrame(tx, { frameId, accountId, correction })
    await tx.delete(reviewedFrames).where(eq(reviewedFrames.frameId, frameId))
  })
  return own
}
