import { cleanText } from '../../clean-text.ts'
import type { Db, Tx } from '../../db/client.ts'
import { type FrameRow, frames } from '../../db/schema/frames.ts'
import { type VideoRow, videos } from '../../db/schema/videos.ts'
import { appendEvent } from '../../events/append.ts'
import { imageKeysOf, loopKeyOf } from '../../media/image-name.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { and, eq, getTableColumns, inArray, ne, type SQL, sql } from '../../sql/orm.ts'
import type { Extraction } from '../../video/extract/extract.ts'
import { findSource } from '../../video/source/source.ts'
import { type Kind, MAX_TEXT, type Platform } from '../../vocabulary.ts'
import { recordFilm } from '../films/films.ts'
import { type AttributeColumn, anyAttributeBy, isAttributeColumn, lockFrames } from '../frames/frames.ts'
import { frameIdOf, idArray } from '../ids.ts'
import { advanceStage, settleIfComplete } from './lifecycle.ts'
import { whyUnfetchable } from './submit.ts'
import { aboutVideo, lockVideo, setVideo, takesIngest } from './videos.ts'

export interface ExtractionToRecord {
  id: string
  revision: number
  extraction: Extraction
  annotator: string
  title?: string | null
  author?: string | null
  /** Where the source's file is kept from now on. */
  keptKey?: string | undefined
}

/**
 * Records an extraction in one transaction: the video's facts, its frames, the status `annotating` and the event.
 * Idempotent, because frame ids are derived. A frame that is no longer picked is removed, unless a person saved,
 * pinned or corrected it. Returns false, and writes nothing, when the video has moved on.
 */
export async function recordExtraction(db: Db, given: ExtractionToRecord): Promise<boolean> {
  const { id, revision, extraction } = given
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!takesIngest(video, revision)) return false
    const at = new Date()
    const rows = pickOnePerInstant(extraction.frames).map((frame) =>
      toFrameRow(id, frame, { by: extraction.detector.version, at: at.toISOString() }),
    )
    // All rows, in the lock order of frames/frames.ts: the removal below then sees every save or pin in progress.
    await lockFrames(tx, sql`f.video_id = ${id}`, 'update')
    await upsertFrames(tx, rows)
    const removed = await removeUnpicked(tx, id, rows)
    await recordFilm(tx, id, extraction)
    const updated = await updateVideo(tx, video, given, { at, frameCount: rows.length })
    const facts = { revision, frame_count: rows.length, removed_frame_ids: removed }
    await appendEvent(tx, { type: 'frames.extracted', ...aboutVideo(updated, facts) })
    await settleIfComplete(tx, id)
    return true
  })
}

const KIND_RANK: Record<Kind, number> = { intro: 2, cut: 1, beat: 0 }

function pickOnePerInstant(list: Extraction['frames']): Extraction['frames'] {
  const picked = new Map<number, Extraction['frames'][number]>()
  for (const frame of list) {
    const rival = picked.get(frame.tMs)
    if (!rival || KIND_RANK[frame.kind] > KIND_RANK[rival.kind]) picked.set(frame.tMs, frame)
  }
  return [...picked.values()]
}

const MEASURES = ['faces', 'emptyShare', 'ink', 'ground'] as const
const NOT_EXTRACTED = [...MEASURES, 'annotationModel', 'saveCount', 'saveStrength', 'createdAt', 'updatedAt'] as const
type NotExtracted = (typeof NOT_EXTRACTED)[number]
/** Every column of `frames` that an extraction writes: a new column must be listed above or be set in toFrameRow. */
type ExtractedFrame = Omit<FrameRow, AttributeColumn | NotExtracted>

function toFrameRow(
  videoId: string,
  frame: Extraction['frames'][number],
  { by, at }: { by: string; at: string },
): ExtractedFrame {
  const { imagePath: _, thumbPath: __, loop, ...told } = frame
  const id = frameIdOf(videoId, told.tMs)
  const keys = imageKeysOf(id, told.imageSha256)
  const measured = { source: 'measured' as const, confidence: 1, by, at }
  return {
    ...told,
    id,
    videoId,
    imageKey: keys.image,
    thumbKey: keys.thumb,
    loopKey: loop && loopKeyOf(id, loop.sha256),
    toneProvenance: measured,
    kindProvenance: { ...measured, source: 'rule' },
  }
}

/** The columns that a repeated extraction overwrites: all that it writes but the frame's identity. */
function overwritten(): Record<string, SQL> {
  const kept: readonly string[] = ['id', 'videoId', 'tMs', ...NOT_EXTRACTED]
  return Object.fromEntries(
    Object.entries(getTableColumns(frames))
      .filter(([name]) => !kept.includes(name) && !isAttributeColumn(name))
      .map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]),
  )
}

async function upsertFrames(tx: Tx, rows: readonly ExtractedFrame[]): Promise<void> {
  const ids = sql.param(rows.map((row) => row.id))
  const hashes = sql.param(rows.map((row) => row.imageSha256))
  // Answers about a replaced image are deleted, so the annotator is asked again. The public values stay until then.
  await tx.execute(sql`
    delete from annotations where frame_id in (
      select f.id from frames f join unnest(${ids}::text[], ${hashes}::text[]) as n(id, sha)
          on f.id = n.id and f.image_sha256 <> n.sha)`)
  for (let from = 0; from < rows.length; from += 500)
    await tx
      .insert(frames)
      .values(rows.slice(from, from + 500))
      .onConflictDoUpdate({
        target: frames.id,
        set: overwritten(),
      })
}

/** Of frames `f`: a person saved, pinned or corrected it, so it stays for ever. */
const HELD_BY_PEOPLE = sql`(exists (select 1 from saves where frame_id = f.id)
  or exists (select 1 from board_items where frame_id = f.id) or ${anyAttributeBy('person')})`

async function removeUnpicked(tx: Tx, videoId: string, rows: readonly ExtractedFrame[]): Promise<string[]> {
  const picked = sql.param(rows.map((row) => row.id))
  const removed = await tx.execute<{ id: string }>(sql`
    delete from frames f where f.video_id = ${videoId} and not (f.id = any(${picked}::text[]))
       and not ${HELD_BY_PEOPLE}
    returning f.id`)
  return removed.rows.map((row) => row.id)
}

async function updateVideo(
  tx: Tx,
  video: VideoRow,
  { extraction: { probe, detector, passedOver }, annotator, ...source }: ExtractionToRecord,
  { at, frameCount }: { at: Date; frameCount: number },
): Promise<VideoRow> {
  const { container: _, title: __, ...file } = probe
  const title = cleanText(source.title ?? '', MAX_TEXT)
  const author = cleanText(source.author ?? '', 300)
  return setVideo(tx, video.id, {
    status: 'annotating',
    ...file,
    ...(video.titleGiven || !title ? {} : { title }),
    ...(video.authorGiven || !author ? {} : { author }),
    ...(source.keptKey === undefined ? {} : { uploadKey: source.keptKey }),
    detector,
    passedOver,
    annotator,
    stages: advanceStage(video.stages, 'annotating', 0, frameCount),
    updatedAt: at,
  })
}

/** Ready videos whose frames another version of the extraction picked, oldest first. */
export function videosOfOtherVersion(db: Db, version: string, ids?: readonly string[]): Promise<VideoRow[]> {
  return db
    .select()
    .from(videos)
    .where(
      and(
        eq(videos.status, 'ready'),
        ne(sql`coalesce(${videos.detector}->>'version', '')`, version),
        ids && inArray(videos.id, ids),
      ),
    )
    .orderBy(videos.addedAt, videos.id)
}

/** Why a video's source cannot be read again; undefined when it can. */
export async function whyUnreadable(
  { uploadKey, sourceUrl, sourceKey, platform }: VideoRow,
  store: MediaStore,
  ytdlp: boolean,
): Promise<string | undefined> {
  if (uploadKey !== null && (await store.stat(uploadKey))) return undefined
  if (sourceUrl === null) return uploadKey ? 'The uploaded file is lost.' : 'It has neither a file nor a URL.'
  const named = { platform: platform as Platform, canonicalUrl: sourceUrl, key: sourceKey }
  return whyUnfetchable(findSource(sourceUrl) ?? named, ytdlp)
}

/** What a new extraction would do to a video's frames. */
export interface FrameChange {
  now: number
  after: number
  /** The same instant is kept again. */
  same: number
  added: number
  removed: number
  /** Not picked again, but a person saved, pinned or corrected them. */
  held: number
}

export async function compareFrames(db: Db, videoId: string, instantsMs: readonly number[]): Promise<FrameChange> {
  const picked = [...new Set(instantsMs.map((tMs) => frameIdOf(videoId, tMs)))]
  const { rows } = await db.execute<{ now: number; same: number; held: number }>(sql`
    select count(*)::int as now,
           (count(*) filter (where f.id = any(${idArray(picked)})))::int as same,
           (count(*) filter (where not (f.id = any(${idArray(picked)})) and ${HELD_BY_PEOPLE}))::int as held
      from ${frames} f where f.video_id = ${videoId}`)
  const { now, same, held } = rows[0]!
  return { now, after: picked.length + held, same, added: picked.length - same, removed: now - same - held, held }
}

/** Frames of these videos, and how many of them people saved, pinned or corrected. */
export async function countFrames(db: Db, ids: readonly string[]): Promise<{ frames: number; held: number }> {
  const { rows } = await db.execute<{ frames: number; held: number }>(sql`
    select count(*)::int as frames, (count(*) filter (where ${HELD_BY_PEOPLE}))::int as held
      from ${frames} f where f.video_id = any(${idArray(ids)})`)
  return rows[0]!
}
