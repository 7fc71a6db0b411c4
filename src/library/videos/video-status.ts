import { count, desc, eq } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type StageProgress, type VideoRow, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { toShownAddress } from '../../shown-address.ts'
import { countReannotations } from '../annotator/annotator-status.ts'
import { type Costs, costsOf } from '../annotator/vision-spending.ts'
import { requireVideo } from './videos.ts'

interface StageReport {
  stage: StageProgress['stage']
  started_at: string
  finished_at: string | null
  done: number
  total: number | null
  /** Units per second since the stage began; null before the first unit. */
  rate_per_sec: number | null
  /** Seconds left by the steps so far; null when that is unknown or the stage is over. */
  left_sec: number | null
}

/** The operator's view of one video: stages with progress, rate and time left, attempts, and the failure. */
export interface VideoReport {
  id: string
  title: string
  author: string | null
  platform: string
  source_url: string | null
  status: VideoStatus
  failure: { code: string; message: string } | null
  stages: StageReport[]
  attempts: number
  backfill: boolean
  frame_count: number
  /** Frames that wait for a re-annotation, behind live work. */
  reannotating: number
  costs: Costs
  added_at: string
  ready_at: string | null
  detector: VideoRow['detector']
  annotator: string | null
}

export async function reportVideo(db: Db, id: string, now = new Date()): Promise<VideoReport> {
  return toReport(db, await requireVideo(db, id), now)
}

/** Newest first. */
export async function listVideos(
  db: Db,
  { status, limit }: { status?: VideoStatus | undefined; limit: number },
): Promise<VideoReport[]> {
  const rows = await db
    .select()
    .from(videos)
    .where(status ? eq(videos.status, status) : undefined)
    .orderBy(desc(videos.addedAt), videos.id)
    .limit(limit)
  return Promise.all(rows.map((row) => toReport(db, row, new Date())))
}

async function toReport(db: Db, video: VideoRow, now: Date): Promise<VideoReport> {
  const [{ n } = { n: 0 }] = await db.select({ n: count() }).from(frames).where(eq(frames.videoId, video.id))
  return {
    id: video.id,
    title: video.title,
    author: video.author,
    platform: video.platform,
    source_url: video.sourceUrl === null ? null : toShownAddress(video.sourceUrl),
    status: video.status,
    failure: video.failureCode === null ? null : { code: video.failureCode, message: video.failureMessage ?? '' },
    stages: video.stages.map((stage) => toStageReport(stage, video, now)),
    attempts: video.attempts,
    backfill: video.backfill,
    frame_count: n,
    reannotating: await countReannotations(db, video.id),
    costs: await costsOf(db, video.id),
    added_at: video.addedAt.toISOString(),
    ready_at: video.readyAt?.toISOString() ?? null,
    detector: video.detector,
    annotator: video.annotator,
  }
}

const IN_WORK: readonly VideoStatus[] = ['fetching', 'extracting', 'annotating']

/** A stage that the video left unfinished, as early versions kept it, ended when the video failed or was cancelled. */
function endOf({ finishedAt }: StageProgress, video: VideoRow): string | null {
  return finishedAt ?? (IN_WORK.includes(video.status) ? null : video.updatedAt.toISOString())
}

function toStageReport(progress: StageProgress, video: VideoRow, now: Date): StageReport {
  const { stage, startedAt, done, total } = progress
  const finishedAt = endOf(progress, video)
  const seconds = (new Date(finishedAt ?? now).getTime() - new Date(startedAt).getTime()) / 1000
  return {
    stage,
    started_at: startedAt,
    finished_at: finishedAt,
    done,
    total,
    rate_per_sec: done > 0 && seconds > 0 ? Math.round((done / seconds) * 100) / 100 : null,
    left_sec: finishedAt === null ? secondsLeft(progress, now) : null,
  }
}

/**
 * What is left at the rate until the last step, less the time since then: it counts down while a step takes its time.
 * Null without a step, and when a step takes longer than all that was left: then nobody knows.
 */
function secondsLeft({ startedAt, movedAt, done, total }: StageProgress, now: Date): number | null {
  if (done === 0 || total === null) return null
  const moved = new Date(movedAt ?? now).getTime()
  const perStep = (moved - new Date(startedAt).getTime()) / done
  const left = (perStep * (total - done) - (now.getTime() - moved)) / 1_000
  return left > 0 ? Math.ceil(left) : null
}

/** Why each frame of a video was kept, in time order. */
export async function explainFrames(db: Db, videoId: string) {
  return db
    .select({
      id: frames.id,
      t_ms: frames.tMs,
      sample_ms: frames.sampleMs,
      kind: frames.kind,
      reason: frames.reason,
      sharpness: frames.sharpness,
      motion: frames.motion,
    })
    .from(frames)
    .where(eq(frames.videoId, videoId))
    .orderBy(frames.tMs)
}
