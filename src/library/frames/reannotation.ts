import type { Db } from '../../db/client.ts'
import type { FrameRow } from '../../db/schema/frames.ts'
import { videos } from '../../db/schema/videos.ts'
import { invalid } from '../../errors.ts'
import { appendEvents } from '../../events/append.ts'
import { inArray, type SQL, sql } from '../../sql/orm.ts'
import { ANNOTATED, type Annotated, SOURCES } from '../../vocabulary.ts'
import { idArray } from '../ids.ts'
import { aboutVideo } from '../videos/videos.ts'
import { anyAttributeBy, loadFrames, storedValue } from './frames.ts'
import { resolveValues, type ValueCandidate } from './provenance.ts'

export interface ReannotationFilter {
  videoId?: string | undefined
  videoIds?: readonly string[]
  /** Includes frames that the annotator has already described. */
  again?: boolean
  conditions?: readonly Condition[]
}

export type Condition =
  | { kind: 'missing'; attribute: Annotated }
  | { kind: 'source'; attribute: Annotated | 'any'; source: (typeof SOURCES)[number] }
  | { kind: 'status'; status: 'refused' | 'failed' }
  | { kind: 'annotator'; annotator: string }

const CONDITIONS =
  '<attribute>=missing, <attribute>=<source>, source=<source>, status=refused|failed or annotator=<version>. ' +
  `Attributes: ${ANNOTATED.join(', ')}. ` +
  `Sources: ${SOURCES.filter((source) => source !== 'person').join(', ')}.`

/** @throws AppError invalid_request that lists the allowed conditions. */
export function parseCondition(text: string): Condition {
  const at = text.indexOf('=')
  const name = text.slice(0, at).trim()
  const value = text.slice(at + 1).trim()
  const attribute = ANNOTATED.find((known) => known === name)
  const source = SOURCES.find((known) => known === value && known !== 'person')
  if (at > 0 && value !== '') {
    if (attribute && value === 'missing') return { kind: 'missing', attribute }
    if (attribute && source) return { kind: 'source', attribute, source }
    if (name === 'source' && source) return { kind: 'source', attribute: 'any', source }
    if (name === 'status' && (value === 'refused' || value === 'failed')) return { kind: 'status', status: value }
    if (name === 'annotator') return { kind: 'annotator', annotator: value }
  }
  throw invalid('where', `"${text.slice(0, 80)}" is not a condition. Use ${CONDITIONS}`)
}

/**
 * SQL: frames of ready videos that match the filter and that `annotator` has not described. One matching condition is
 * enough. A refusal counts as a description unless the filter asks for refused frames.
 */
function matching(annotator: string, filter: ReannotationFilter): SQL {
  const { videoId, videoIds, again = false, conditions = [] } = filter
  const asksRefused = conditions.some((condition) => condition.kind === 'status' && condition.status === 'refused')
  const answered = sql.raw(asksRefused ? `'annotated'` : `'annotated', 'refused'`)
  const matches = conditions.map(toSql)
  return sql`v.status = 'ready' ${videoId === undefined ? sql`` : sql`and v.id = ${videoId}`}
    ${videoIds === undefined ? sql`` : sql`and v.id = any(${idArray(videoIds)})`}
    ${matches.length === 0 ? sql`` : sql`and (${sql.join(matches, sql` or `)})`}
    ${
      again
        ? sql``
        : sql`and not exists (select 1 from annotations a
                     where a.frame_id = f.id and a.annotator = ${annotator} and a.status in (${answered}))`
    }`
}

function toSql(condition: Condition): SQL {
  if (condition.kind === 'missing') return sql`f.${sql.identifier(condition.attribute)} is null`
  if (condition.kind === 'status')
    return sql`exists (select 1 from annotations s where s.frame_id = f.id and s.status = ${condition.status}
      and s.created_at = (select max(created_at) from annotations l where l.frame_id = f.id))`
  if (condition.kind === 'annotator')
    return sql`exists (select 1 from annotations s where s.frame_id = f.id and s.annotator = ${condition.annotator})`
  if (condition.attribute === 'any') return sql`(${anyAttributeBy(condition.source)})`
  const provenance = sql.identifier(`${condition.attribute}_provenance`)
  return sql`(f.${sql.identifier(condition.attribute)} is not null
    and f.${provenance}->>'source' = ${condition.source})`
}

export interface ReannotationSize {
  frames: number
  videos: number
  /** Matching frames with at least one value that a person locked. These values stay. */
  locked_frames: number
}

export async function sizeOfReannotation(
  db: Db,
  annotator: string,
  filter: ReannotationFilter,
): Promise<ReannotationSize> {
  const { rows } = await db.execute<ReannotationSize & Record<string, unknown>>(sql`
    select count(*)::int as frames, count(distinct f.video_id)::int as videos,
           (count(*) filter (where ${anyAttributeBy('person')}))::int as locked_frames
      from frames f join videos v on v.id = f.video_id where ${matching(annotator, filter)}`)
  return rows[0]!
}

/** Some of the matching frames, spread over their videos. The choice is the same every time. */
export async function sampleForReannotation(
  db: Db,
  annotator: string,
  filter: ReannotationFilter,
  limit: number,
): Promise<FrameRow[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select f.id from frames f join videos v on v.id = f.video_id
     where ${matching(annotator, filter)} order by md5(f.id) limit ${limit}`)
  return loadFrames(
    db,
    rows.map(({ id }) => id),
  )
}

const VIDEOS_AT_ONCE = 200

/**
 * Requests new descriptions: the matching frames wait for the workers, as a back-fill. Public values change only when
 * an answer arrives. Idempotent. Returns the number of frames that were not waiting yet.
 */
export async function requestReannotation(db: Db, annotator: string, filter: ReannotationFilter): Promise<number> {
  let added = 0
  let after = ''
  for (;;) {
    const { rows: page } = await db.execute<{ video_id: string }>(sql`
      select distinct f.video_id from frames f join videos v on v.id = f.video_id
       where f.video_id > ${after} and ${matching(annotator, filter)} order by f.video_id limit ${VIDEOS_AT_ONCE}`)
    if (page.length === 0) return added
    const ids = page.map((row) => row.video_id)
    await db.transaction(async (tx) => {
      // Without its answers the annotator is asked again. The public values stay until then.
      if (filter.again)
        await tx.execute(sql`
          delete from annotations a using frames f join videos v on v.id = f.video_id
           where a.frame_id = f.id and a.annotator = ${annotator}
             and f.video_id = any(${sql.param(ids)}::text[]) and ${matching(annotator, filter)}`)
      const { rows } = await tx.execute<{ video_id: string; frame_id: string }>(sql`
        insert into reannotations (frame_id, video_id, annotator)
        select f.id, f.video_id, ${annotator} from frames f join videos v on v.id = f.video_id
         where f.video_id = any(${sql.param(ids)}::text[]) and ${matching(annotator, filter)}
        on conflict (frame_id) do update set annotator = excluded.annotator
          where reannotations.annotator <> excluded.annotator
        returning video_id, frame_id`)
      added += rows.length
      const counts = new Map<string, number>()
      for (const row of rows) counts.set(row.video_id, (counts.get(row.video_id) ?? 0) + 1)
      const named = await tx
        .select()
        .from(videos)
        .where(inArray(videos.id, [...counts.keys()]))
      await appendEvents(
        tx,
        named.map((video) => ({
          type: 'frames.reannotation_requested' as const,
          ...aboutVideo(video, { frame_count: counts.get(video.id)! }),
        })),
      )
    })
    after = ids.at(-1)!
  }
}

/** Assigns all waiting requests to the active annotator, after a change of settings. */
export async function retarget(db: Db, annotator: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(
      sql`update videos set annotator = ${annotator} where status = 'annotating' and annotator <> ${annotator}`,
    )
    await tx.execute(sql`update reannotations set annotator = ${annotator} where annotator <> ${annotator}`)
  })
}

/** Cancels requests that still wait. Returns the number of frames. */
export async function cancelReannotation(db: Db, { videoId }: { videoId?: string | undefined }): Promise<number> {
  const { rowCount } = await db.execute(
    sql`delete from reannotations ${videoId === undefined ? sql`` : sql`where video_id = ${videoId}`}`,
  )
  return rowCount ?? 0
}

export interface ValueChange {
  frame_id: string
  attribute: Annotated
  before: string | null
  after: string | null
  /** A person locked the value, so it would stay. */
  locked: boolean
}

/** The changes to a frame's public values if this answer were stored. Pure. */
export function diffAnswer(row: FrameRow, answers: readonly ValueCandidate[], answer: ValueCandidate): ValueChange[] {
  const changes: ValueChange[] = []
  const after = resolveValues([...answers.filter(({ annotator }) => annotator !== answer.annotator), answer], {})
  for (const attribute of ANNOTATED) {
    const { value: before, provenance } = storedValue(row, attribute)
    const { value } = after[attribute]
    if (value !== before)
      changes.push({ frame_id: row.id, attribute, before, after: value, locked: provenance?.source === 'person' })
  }
  return changes
}
