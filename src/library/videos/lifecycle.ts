import { eq, inArray, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type VideoRow, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { undoFrameReferences } from '../collections/removals.ts'
import { idArray } from '../ids.ts'
import { finishStages } from './stages.ts'
import { aboutVideo, lockVideo, requireVideo, setVideo } from './videos.ts'

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

const ACTIVE_STATUSES: readonly VideoStatus[] = ['queued', 'fetching', 'extracting', 'annotating']

/**
 * Stops work on an unfinished video. From then on every write of a worker's old job is rejected.
 * @throws AppError not_found, or conflict for a finished video.
 */
export async function cancelVideo(db: Db, id: string): Promise<VideoRow> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    if (!ACTIVE_STATUSES.includes(video.status))
      throw new AppError('conflict', `Only a video in progress can be cancelled; this one is ${video.status}.`)
    const stages = finishStages(video.stages, new Date().toISOString())
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
  const { rows } = await db.execute<Record<keyof Loss, string>>(sql`
    with gone as (select id from frames where video_id = any(${idArray(ids)})),
      lost_saves as (select account_id from saves where frame_id in (select id from gone)),
      lost_pins as (
        select b.account_id from board_items i join boards b on b.id = i.board_id
         where i.frame_id in (select id from gone))
    select (select count(*) from videos where id = any(${idArray(ids)})) as videos,
           (select count(*) from gone) as frames,
           (select count(*) from lost_saves) as saves,
           (select count(*) from lost_pins) as pins,
           (select count(*) from (select * from lost_saves union select * from lost_pins) a) as accounts`)
  const [row] = rows
  const named = await db.select({ title: videos.title }).from(videos).where(inArray(videos.id, ids)).limit(10)
  const loss = { videos: 0, frames: 0, saves: 0, pins: 0, accounts: 0 }
  for (const name of Object.keys(loss) as (keyof typeof loss)[]) loss[name] = Number(row![name])
  return { ...loss, titles: named.map(({ title }) => title) }
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
