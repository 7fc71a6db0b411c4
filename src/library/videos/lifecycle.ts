import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type StageProgress, type VideoRow, videos } from '../../db/schema/videos.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, eq, inArray, sql } from '../../sql/orm.ts'
import { PRESENT } from '../collections/board-settings.ts'
import { undoFrameReferences } from '../collections/frame-references.ts'
import { idArray } from '../ids.ts'
import { aboutVideo, INGEST_STATUSES, lockVideo, OVER, requireVideo, setVideo, takesIngest } from './videos.ts'

/* Every change of a video's status but one: `recordExtraction` begins `annotating`. */

/** More attempts than this mean that something in the file crashes the worker. */
export const MAX_ATTEMPTS = 30

/** Begins an attempt. Undefined when this revision has no work left. */
export async function beginVideo(db: Db, id: string, revision: number): Promise<VideoRow | undefined> {
  const [video] = await db
    .update(videos)
    .set({ attempts: sql`${videos.attempts} + 1`, updatedAt: new Date() })
    .where(and(eq(videos.id, id), eq(videos.revision, revision), inArray(videos.status, INGEST_STATUSES)))
    .returning()
  return video
}

/** Refunds the attempt after an outage. A one-minute outage could otherwise use up all 30. */
export async function refundAttempt(db: Db, id: string, revision: number): Promise<void> {
  await db
    .update(videos)
    .set({ attempts: sql`greatest(${videos.attempts} - 1, 0)`, updatedAt: new Date() })
    .where(and(eq(videos.id, id), eq(videos.revision, revision)))
}

/** Records the progress of a stage. Returns false, and writes nothing, when the video has moved on. */
export async function recordProgress(
  db: Db,
  given: { id: string; revision: number; stage: StageProgress['stage']; done: number; total: number | null },
): Promise<boolean> {
  const { id, revision, stage, done, total } = given
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!takesIngest(video, revision)) return false
    await setVideo(tx, id, { status: stage, stages: advanceStage(video.stages, stage, done, total) })
    return true
  })
}

/** Fails a video with a stable code and a sentence for the operator. No-op when the video has moved on. */
export async function recordFailure(
  db: Db,
  { id, revision, code, message }: { id: string; revision: number; code: string; message: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!takesIngest(video, revision)) return
    const stages = finishStages(video.stages)
    await setVideo(tx, id, { status: 'failed', failureCode: code, failureMessage: message, stages })
    await appendEvent(tx, { type: 'video.failed', ...aboutVideo(video, { code, stages: toStageTimes(stages) }) })
  })
}

/**
 * Counts the frames without an answer of the video's annotator; with none left the video becomes ready. The video's row
 * is locked before counting, so that of two concurrent last batches the second sees both.
 */
export async function settleIfComplete(tx: Tx, videoId: string): Promise<void> {
  const video = await lockVideo(tx, videoId)
  if (video?.status !== 'annotating' || video.annotator === null) return
  const { rows } = await tx.execute<{ total: number; missing: number }>(sql`
    select count(*)::int as total, (count(*) filter (where a.frame_id is null))::int as missing
      from frames f left join annotations a on a.frame_id = f.id and a.annotator = ${video.annotator}
     where f.video_id = ${videoId}`)
  const { total, missing } = rows[0]!
  const now = new Date()
  const stages = advanceStage(video.stages, 'annotating', total - missing, total)
  if (missing > 0) {
    await setVideo(tx, videoId, { stages })
    return
  }
  const finished = finishStages(stages, now.toISOString())
  const firstReadyAt = video.firstReadyAt ?? now
  await setVideo(tx, videoId, { status: 'ready', stages: finished, firstReadyAt, readyAt: now, updatedAt: now })
  const facts = { frame_count: total, stages: toStageTimes(finished) }
  await appendEvent(tx, { type: 'video.ready', ...aboutVideo(video, facts) })
}

/**
 * Queues a failed or cancelled video again. With `again` a ready video too, for a newer detector. Its frames stay
 * public, and frames that a person saved, pinned or corrected are never removed.
 * @throws AppError not_found, or conflict for another status.
 */
export async function retryVideo(db: Db, id: string, { again = false }: { again?: boolean } = {}): Promise<VideoRow> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    if (video.status !== 'failed' && video.status !== 'cancelled' && !(again && video.status === 'ready'))
      throw new AppError('conflict', `Only a failed or cancelled video can be retried; this one is ${video.status}.`)
    const queued = await setVideo(tx, id, {
      status: 'queued',
      failureCode: null,
      failureMessage: null,
      stages: [],
      attempts: 0,
      revision: video.revision + 1,
      ...(video.status === 'ready' ? { backfill: true } : {}),
    })
    const facts = { revision: queued.revision, reason: 'retried' as const }
    await appendEvent(tx, { type: 'video.submitted', ...aboutVideo(queued, facts) })
    return queued
  })
}

/**
 * Stops work on an unfinished video. From then on every write of a worker's old job is rejected.
 * @throws AppError not_found, or conflict for a finished video.
 */
export async function cancelVideo(db: Db, id: string): Promise<VideoRow> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    if (OVER.includes(video.status))
      throw new AppError('conflict', `Only a video in progress can be cancelled; this one is ${video.status}.`)
    const stages = finishStages(video.stages)
    await appendEvent(tx, { type: 'video.cancelled', ...aboutVideo(video, {}) })
    return setVideo(tx, id, { status: 'cancelled', stages, revision: video.revision + 1 })
  })
}

export interface Loss {
  videos: number
  /** Of up to ten of them. */
  titles: string[]
  frames: number
  saves: number
  pins: number
  /** Accounts that lose a save or a pin. */
  accounts: number
}

/** What `deleteVideo` would delete: frames, and people's saves and pins. */
export async function whatGoesWith(db: Db, ids: readonly string[]): Promise<Loss> {
  const { rows } = await db.execute<Omit<Loss, 'titles'>>(sql`
    with gone as (select id from frames where video_id = any(${idArray(ids)})),
      lost_saves as (select account_id from saves where frame_id in (select id from gone)),
      lost_pins as (
        select b.account_id from board_items i join boards b on b.id = i.board_id
         where i.frame_id in (select id from gone) and ${PRESENT})
    select (select count(*)::int from videos where id = any(${idArray(ids)})) as videos,
           (select count(*)::int from gone) as frames,
           (select count(*)::int from lost_saves) as saves,
           (select count(*)::int from lost_pins) as pins,
           (select count(*)::int from (select * from lost_saves union select * from lost_pins) a) as accounts`)
  const named = await db.select({ title: videos.title }).from(videos).where(inArray(videos.id, ids)).limit(10)
  return { ...rows[0]!, titles: named.map(({ title }) => title) }
}

/** Readers of the event log wait for each transaction, so one removes about as many saves and pins at most. */
const REFERENCES_AT_ONCE = 2_000

/**
 * Deletes a video, its frames, and all saves and pins of them, with an event each. The saves and pins go first, in
 * short transactions: where it ends in between, the video is still there and can be deleted again. A job removes its
 * images afterwards. @throws AppError not_found.
 */
export async function deleteVideo(db: Db, id: string): Promise<void> {
  await requireVideo(db, id)
  const framesOf = async (tx: DbOrTx) => {
    const rows = await tx.select({ id: frames.id }).from(frames).where(eq(frames.videoId, id))
    return rows.map((row) => row.id)
  }
  const undoSome = () =>
    db.transaction(async (tx) => undoFrameReferences(tx, await framesOf(tx), 'video_deleted', REFERENCES_AT_ONCE))
  while (await undoSome());
  await db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    const frameIds = await framesOf(tx)
    // What was saved and pinned meanwhile.
    await undoFrameReferences(tx, frameIds, 'video_deleted')
    await tx.delete(videos).where(eq(videos.id, id))
    const facts = { frame_count: frameIds.length, upload_key: video.uploadKey }
    await appendEvent(tx, { type: 'video.deleted', ...aboutVideo(video, facts) })
  })
}

/** The stages with this one running at `done` of `total`. Earlier stages are finished, later ones dropped. */
export function advanceStage(
  stages: readonly StageProgress[],
  stage: StageProgress['stage'],
  done: number,
  total: number | null,
): StageProgress[] {
  const now = new Date().toISOString()
  const at = stages.findIndex((entry) => entry.stage === stage)
  const before = stages[at]
  const startedAt = before?.startedAt ?? now
  const movedAt = before?.done === done ? before.movedAt : now
  const earlier = at < 0 ? stages : stages.slice(0, at)
  return [...finishStages(earlier, now), { stage, startedAt, finishedAt: null, movedAt, done, total }]
}

function finishStages(stages: readonly StageProgress[], now = new Date().toISOString()): StageProgress[] {
  return stages.map((entry) => ({ ...entry, finishedAt: entry.finishedAt ?? now }))
}

/** How long each finished stage took, for events. */
function toStageTimes(stages: readonly StageProgress[]) {
  return stages.flatMap(({ stage, startedAt, finishedAt }) => {
    const seconds = finishedAt === null ? Number.NaN : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000
    return seconds >= 0 ? [{ stage, seconds }] : []
  })
}
