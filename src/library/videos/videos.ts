import { randomInt } from 'node:crypto'
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type StageProgress, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent, appendEvents } from '../../events/append.ts'
import { imageKeysOf } from '../../media/image-name.ts'
import type { Extraction } from '../../video/extract/extract.ts'
import { type Kind, MAX_TEXT, type Platform } from '../../vocabulary.ts'
import { lockFrames } from '../frames/frame-facts.ts'
import { undoFrameReferences } from '../frames/references.ts'
import { frameIdOf, videoIdOf } from './identity.ts'

export type VideoRow = typeof videos.$inferSelect

/** A video is begun at most this often: beyond it something in the file kills workers. */
export const MAX_ATTEMPTS = 30

export const ACTIVE_STATUSES = ['queued', 'fetching', 'extracting', 'annotating'] as const satisfies VideoStatus[]

/** Of one job, delivered twice, both runs work on until one has recorded its frames: from then on the other must not touch the video. */
const INGEST_STATUSES = ['queued', 'fetching', 'extracting'] as const satisfies VideoStatus[]

export interface VideoSubmission {
  /** `youtube:<id>`, `url:<canonical>`, `sha256:<hex>`: what makes two submissions the same video. */
  sourceKey: string
  sourceUrl: string | null
  uploadKey: string | null
  platform: Platform
  /** Given by a person; otherwise what the source or file name says. */
  title?: string | undefined
  author?: string | undefined
  fallbackTitle: string
  backfill?: boolean
  priority?: number
}

/** Queues a video. The same source again gives the same video, unchanged, and no event. */
export async function submitVideo(db: Db, submission: VideoSubmission): Promise<{ video: VideoRow; created: boolean }> {
  const id = videoIdOf(submission.sourceKey)
  return db.transaction(async (tx) => {
    await lockMedia(tx, id)
    const [created] = await tx
      .insert(videos)
      .values({
        id,
        sourceKey: submission.sourceKey,
        sourceUrl: submission.sourceUrl,
        uploadKey: submission.uploadKey,
        platform: submission.platform,
        title: (submission.title ?? submission.fallbackTitle).slice(0, MAX_TEXT),
        author: submission.author?.slice(0, 300) ?? null,
        titleGiven: submission.title !== undefined,
        authorGiven: submission.author !== undefined,
        backfill: submission.backfill ?? false,
        priority: submission.priority ?? 0,
        // A source that was deleted and is added again has the same id: what is still at work for the former video must not pass for this one's.
        revision: randomInt(1, 2 ** 30),
      })
      .onConflictDoNothing()
      .returning()
    if (created) {
      await appendEvent(tx, {
        type: 'video.submitted',
        subject: created.id,
        accountId: null,
        data: { ...factsOf(created), revision: created.revision, reason: 'added' },
      })
      return { video: created, created: true }
    }
    const [existing] = await tx.select().from(videos).where(eq(videos.sourceKey, submission.sourceKey))
    if (!existing) throw new Error('video vanished while it was submitted')
    return { video: existing, created: false }
  })
}

/** Held while a video's files are removed and while a row that will own them is made: files of a source that is added again are never taken away under it. */
export async function lockMedia(tx: Tx, videoId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`media ${videoId}`}, 0))`)
}

/** Names another stored copy of a video's bytes, when the first has been lost. False when its copy changed meanwhile. */
export async function replaceUpload(db: Db, id: string, { from, to }: { from: string; to: string }): Promise<boolean> {
  const { rowCount } = await db
    .update(videos)
    .set({ uploadKey: to, updatedAt: new Date() })
    .where(and(eq(videos.id, id), eq(videos.uploadKey, from)))
  return rowCount === 1
}

export async function findVideo(db: DbOrTx, id: string): Promise<VideoRow | undefined> {
  const [video] = await db.select().from(videos).where(eq(videos.id, id))
  return video
}

export async function requireVideo(db: DbOrTx, id: string): Promise<VideoRow> {
  const video = await findVideo(db, id)
  if (!video) throw notFound('video')
  return video
}

/**
 * Puts a failed or cancelled video back into the queue. With `again` also a ready one, for a newer detector: its frames stay public, and those that somebody saved,
 * pinned or corrected stay for good.
 */
export async function retryVideo(db: Db, id: string, { again = false }: { again?: boolean } = {}): Promise<VideoRow> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    if (video.status !== 'failed' && video.status !== 'cancelled' && !(again && video.status === 'ready'))
      throw new AppError('conflict', `Only a failed or cancelled video can be retried; this one is ${video.status}.`)
    const [queued] = await tx
      .update(videos)
      .set({
        status: 'queued',
        failureCode: null,
        failureMessage: null,
        stages: [],
        attempts: 0,
        revision: video.revision + 1,
        ...(video.status === 'ready' ? { backfill: true } : {}),
        updatedAt: new Date(),
      })
      .where(eq(videos.id, id))
      .returning()
    await appendEvent(tx, {
      type: 'video.submitted',
      subject: id,
      accountId: null,
      data: { ...factsOf(queued!), revision: queued!.revision, reason: 'retried' },
    })
    return queued!
  })
}

/** Stops work on a video that is not finished. What a worker still does for it is thrown away by the raised revision. */
export async function cancelVideo(db: Db, id: string): Promise<VideoRow> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    if (!isActive(video.status))
      throw new AppError('conflict', `Only a video in work can be cancelled; this one is ${video.status}.`)
    const [cancelled] = await tx
      .update(videos)
      .set({ status: 'cancelled', revision: video.revision + 1, updatedAt: new Date() })
      .where(eq(videos.id, id))
      .returning()
    await appendEvent(tx, { type: 'video.cancelled', subject: id, accountId: null, data: factsOf(video) })
    return cancelled!
  })
}

/** Takes a video with its frames out of the library, and every save and pin of them with an event each. Its images go by job afterwards. */
export async function deleteVideo(db: Db, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    const rows = await tx.select({ id: frames.id }).from(frames).where(eq(frames.videoId, id))
    await undoFrameReferences(
      tx,
      rows.map((row) => row.id),
      'video_deleted',
    )
    await tx.delete(videos).where(eq(videos.id, id))
    await appendEvent(tx, {
      type: 'video.deleted',
      subject: id,
      accountId: null,
      data: { ...factsOf(video), frame_count: rows.length, upload_key: video.uploadKey },
    })
  })
}

/** A worker takes up a video. Undefined when there is nothing (left) to do for this revision. */
export async function beginVideo(db: Db, id: string, revision: number): Promise<VideoRow | undefined> {
  const [video] = await db
    .update(videos)
    .set({ attempts: sql`${videos.attempts} + 1`, updatedAt: new Date() })
    .where(and(eq(videos.id, id), eq(videos.revision, revision), inArray(videos.status, [...INGEST_STATUSES])))
    .returning()
  return video
}

/** A beginning that came to nothing because a store was away is not counted: an outage of a minute has as many of them as a video may have. */
export async function refundAttempt(db: Db, id: string, revision: number): Promise<void> {
  await db
    .update(videos)
    .set({ attempts: sql`greatest(${videos.attempts} - 1, 0)`, updatedAt: new Date() })
    .where(and(eq(videos.id, id), eq(videos.revision, revision)))
}

/** Notes where the work stands. No-op, and false, when a newer revision (cancelled, retried) or another run of the same job was there first. */
export async function recordProgress(
  db: Db,
  {
    id,
    revision,
    stage,
    done,
    total,
  }: { id: string; revision: number; stage: StageProgress['stage']; done: number; total: number | null },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video || video.revision !== revision || !isIngesting(video.status)) return false
    await tx
      .update(videos)
      .set({ status: stage, stages: advance(video.stages, stage, done, total), updatedAt: new Date() })
      .where(eq(videos.id, id))
    return true
  })
}

function advance(
  stages: readonly StageProgress[],
  stage: StageProgress['stage'],
  done: number,
  total: number | null,
): StageProgress[] {
  const now = new Date().toISOString()
  const at = stages.findIndex((entry) => entry.stage === stage)
  const earlier = (at < 0 ? stages : stages.slice(0, at)).map((entry) => ({
    ...entry,
    finishedAt: entry.finishedAt ?? now,
  }))
  const begun = at < 0 ? now : stages[at]!.startedAt
  return [...earlier, { stage, startedAt: begun, finishedAt: null, done, total }]
}

/** Ends a video with a stable code and a sentence. No-op when a newer revision or another run of the same job was there first. */
export async function recordFailure(
  db: Db,
  { id, revision, code, message }: { id: string; revision: number; code: string; message: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video || video.revision !== revision || !isIngesting(video.status)) return
    await tx
      .update(videos)
      .set({ status: 'failed', failureCode: code, failureMessage: message, updatedAt: new Date() })
      .where(eq(videos.id, id))
    await appendEvent(tx, { type: 'video.failed', subject: id, accountId: null, data: { ...factsOf(video), code } })
  })
}

const KIND_RANK: Record<Kind, number> = { intro: 2, cut: 1, beat: 0 }

/**
 * All of an extraction in one transaction: the video's facts, its frames, `annotating` and the event. Frame ids are derived, so doing it twice changes nothing.
 * A frame that is no longer picked goes, unless somebody saved, pinned or corrected it.
 */
export async function recordExtraction(
  db: Db,
  {
    id,
    revision,
    extraction,
    annotator,
    title,
    author,
  }: {
    id: string
    revision: number
    extraction: Extraction
    annotator: string
    title?: string | null
    author?: string | null
  },
): Promise<boolean> {
  const picked = new Map<number, Extraction['frames'][number]>()
  for (const frame of extraction.frames) {
    const rival = picked.get(frame.tMs)
    if (!rival || KIND_RANK[frame.kind] > KIND_RANK[rival.kind]) picked.set(frame.tMs, frame)
  }
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video || video.revision !== revision || !isIngesting(video.status)) return false
    const { probe, detector } = extraction
    const at = new Date()
    const rows = [...picked.values()].map((frame) => {
      const frameId = frameIdOf(id, frame.tMs)
      const keys = imageKeysOf(frameId, frame.imageSha256)
      const measured = { source: 'measured' as const, confidence: 1, by: detector.version, at: at.toISOString() }
      return {
        id: frameId,
        videoId: id,
        tMs: frame.tMs,
        sampleMs: frame.sampleMs,
        kind: frame.kind,
        reason: frame.reason,
        width: frame.width,
        height: frame.height,
        imageKey: keys.image,
        thumbKey: keys.thumb,
        imageBytes: frame.imageBytes,
        imageSha256: frame.imageSha256,
        placeholder: frame.placeholder,
        luma: frame.luma,
        darkShare: frame.darkShare,
        palette: frame.palette,
        paletteShares: frame.paletteShares,
        sharpness: frame.sharpness,
        motion: frame.motion,
        phash: frame.phash,
        tone: frame.tone,
        toneProvenance: measured,
        kindProvenance: { ...measured, source: 'rule' as const },
      }
    })
    // All rows, in the order everybody takes them: a save or pin under way is seen by the delete below, and two writers cannot wait for each other.
    await lockFrames(tx, sql`f.video_id = ${id}`, 'update')
    // What was said of another picture is asked again; the values stay until then.
    await tx.execute(sql`
      delete from annotations a using frames f, unnest(${sql.param(rows.map((row) => row.id))}::text[], ${sql.param(rows.map((row) => row.imageSha256))}::text[]) as n(id, sha)
       where f.id = n.id and a.frame_id = f.id and f.image_sha256 <> n.sha`)
    for (let from = 0; from < rows.length; from += 500) {
      await tx
        .insert(frames)
        .values(rows.slice(from, from + 500))
        .onConflictDoUpdate({
          target: frames.id,
          set: Object.fromEntries(
            [
              'kind',
              'reason',
              'sample_ms',
              'width',
              'height',
              'image_key',
              'thumb_key',
              'image_bytes',
              'image_sha256',
              'placeholder',
              'luma',
              'dark_share',
              'palette',
              'palette_shares',
              'sharpness',
              'motion',
              'phash',
              'tone',
              'tone_provenance',
              'kind_provenance',
            ].map((column) => [camel(column), sql.raw(`excluded.${column}`)]),
          ),
          setWhere: sql`frames.image_sha256 <> excluded.image_sha256 or frames.kind <> excluded.kind or frames.reason <> excluded.reason`,
        })
    }
    const keep = rows.map((row) => row.id)
    const removed = await tx.execute<{ id: string }>(sql`
      delete from frames f where f.video_id = ${id} and not (f.id = any(${sql.param(keep)}::text[]))
         and not exists (select 1 from saves where frame_id = f.id)
         and not exists (select 1 from board_items where frame_id = f.id)
         and not (${anyAttributeBy('person')})
      returning f.id`)
    const [updated] = await tx
      .update(videos)
      .set({
        status: 'annotating',
        durationSec: probe.durationSec,
        width: probe.width,
        height: probe.height,
        fps: probe.fps,
        rotation: probe.rotation,
        codec: probe.codec,
        ...(video.titleGiven || !title ? {} : { title: title.slice(0, MAX_TEXT) }),
        ...(video.authorGiven || !author ? {} : { author: author.slice(0, 300) }),
        detector,
        shots: extraction.shots,
        annotator,
        stages: advance(video.stages, 'annotating', 0, rows.length),
        updatedAt: at,
      })
      .where(eq(videos.id, id))
      .returning()
    await appendEvent(tx, {
      type: 'frames.extracted',
      subject: id,
      accountId: null,
      data: {
        ...factsOf(updated!),
        revision,
        frame_count: rows.length,
        removed_frame_ids: removed.rows.map((row) => row.id),
      },
    })
    await settleIfComplete(tx, id)
    return true
  })
}

/** SQL: some attribute of the frame `f` carries this source. */
export function anyAttributeBy(source: string) {
  const columns = [
    'subject',
    'surface',
    'shot',
    'technique',
    'zone',
    'caption',
    'composition',
    'steal',
    'on_screen_text',
    'tone',
  ]
  return sql.raw(
    columns.map((column) => `coalesce(f.${column}_provenance->>'source' = '${source}', false)`).join(' or '),
  )
}

/**
 * With the video's row locked: counts the frames still without an answer of the wanted annotator; none left makes the video ready. The lock comes first, so
 * that of two last batches at once the second sees both.
 */
export async function settleIfComplete(tx: Tx, videoId: string): Promise<void> {
  const video = await lockVideo(tx, videoId)
  if (video?.status !== 'annotating' || video.annotator === null) return
  const { rows } = await tx.execute<{ total: string; missing: string }>(sql`
    select count(*) as total, count(*) filter (where a.frame_id is null) as missing
      from frames f left join annotations a on a.frame_id = f.id and a.annotator = ${video.annotator}
     where f.video_id = ${videoId}`)
  const total = Number(rows[0]!.total)
  const missing = Number(rows[0]!.missing)
  const now = new Date()
  const stages = advance(video.stages, 'annotating', total - missing, total)
  if (missing > 0) {
    await tx.update(videos).set({ stages, updatedAt: now }).where(eq(videos.id, videoId))
    return
  }
  await tx
    .update(videos)
    .set({
      status: 'ready',
      stages: stages.map((entry) => ({ ...entry, finishedAt: entry.finishedAt ?? now.toISOString() })),
      firstReadyAt: video.firstReadyAt ?? now,
      readyAt: now,
      updatedAt: now,
    })
    .where(eq(videos.id, videoId))
  await appendEvents(tx, [
    { type: 'video.ready', subject: videoId, accountId: null, data: { ...factsOf(video), frame_count: total } },
  ])
}

export async function lockVideo(tx: Tx, id: string): Promise<VideoRow | undefined> {
  const [video] = await tx.select().from(videos).where(eq(videos.id, id)).for('update')
  return video
}

export function factsOf(video: Pick<VideoRow, 'id' | 'title' | 'author' | 'platform'>) {
  return { video_id: video.id, title: video.title, author: video.author, platform: video.platform }
}

function isIngesting(status: VideoStatus): boolean {
  return (INGEST_STATUSES as readonly VideoStatus[]).includes(status)
}

function isActive(status: VideoStatus): boolean {
  return (ACTIVE_STATUSES as readonly VideoStatus[]).includes(status)
}

function camel(column: string): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
