import type { Db, DbOrTx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type StageProgress, type VideoRow, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { toImageName } from '../../media/image-name.ts'
import { count, desc, eq, inArray, sql } from '../../sql/orm.ts'
import { toShownAddress } from '../../video/source/shown-address.ts'
import type { FrameRest, Platform } from '../../vocabulary.ts'
import { COSTS, type Costs } from '../annotator/vision-spending.ts'
import { requireVideo } from './videos.ts'

/** The operator's view of one video: stages with progress, rate and time left, attempts, and the failure. */
export type VideoReport = ReturnType<typeof toReport>

export async function reportVideo(db: Db, id: string, now = new Date()): Promise<VideoReport> {
  const [report] = await toReports(db, [await requireVideo(db, id)], now)
  return report!
}

/** Reports of the videos that exist, in the order of the ids. */
export async function reportVideos(db: Db, ids: readonly string[]): Promise<VideoReport[]> {
  if (ids.length === 0) return []
  const rows = await db.select().from(videos).where(inArray(videos.id, ids))
  rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  return toReports(db, rows, new Date())
}

/** Newest first. `skip`: the number of videos on earlier pages. */
export async function listVideos(
  db: Db,
  { statuses, limit, skip = 0 }: { statuses?: readonly VideoStatus[] | undefined; limit: number; skip?: number },
): Promise<VideoReport[]> {
  const rows = await db
    .select()
    .from(videos)
    .where(statuses ? inArray(videos.status, statuses) : undefined)
    .orderBy(desc(videos.addedAt), videos.id)
    .limit(limit)
    .offset(skip)
  return toReports(db, rows, new Date())
}

export async function countByStatus(db: Db): Promise<Partial<Record<VideoStatus, number>>> {
  const rows = await db.select({ status: videos.status, n: count() }).from(videos).groupBy(videos.status)
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
}

/** Values from other tables, loaded for many videos at once. */
interface Beside extends Costs {
  frames: number
  /** Frames that wait for a re-annotation, behind live work. */
  reannotating: number
}

async function besideOf(db: Db, ids: readonly string[]): Promise<Map<string, Beside>> {
  const { rows } = await db.execute<{ id: string } & Beside & Record<string, unknown>>(sql`
    select v.id, f.n as frames, r.n as reannotating, c.*
      from unnest(${sql.param([...ids])}::text[]) v(id),
           lateral (select count(*)::int as n from frames where video_id = v.id) f,
           lateral (select count(*)::int as n from reannotations where video_id = v.id) r,
           lateral (select ${COSTS} from vision_calls where video_id = v.id) c`)
  return new Map(rows.map(({ id, ...beside }) => [id, beside]))
}

async function toReports(db: Db, rows: readonly VideoRow[], now: Date): Promise<VideoReport[]> {
  if (rows.length === 0) return []
  const beside = await besideOf(
    db,
    rows.map((row) => row.id),
  )
  return rows.map((row) => toReport(row, beside.get(row.id)!, now))
}

/** A video as the one who submitted it sees it. */
export function toSubmitted(video: VideoRow) {
  return {
    id: video.id,
    title: video.title,
    author: video.author,
    platform: video.platform as Platform,
    source_url: video.sourceUrl === null ? null : toShownAddress(video.sourceUrl),
    status: video.status,
    failure: video.failureCode === null ? null : { code: video.failureCode, message: video.failureMessage ?? '' },
    published_at: video.publishedAt?.toISOString() ?? null,
    added_at: video.addedAt.toISOString(),
  }
}

function toReport(video: VideoRow, { frames: n, reannotating, ...costs }: Beside, now: Date) {
  return {
    ...toSubmitted(video),
    stages: video.stages.map((stage) => toStageReport(stage, now)),
    attempts: video.attempts,
    backfill: video.backfill,
    frame_count: n,
    reannotating,
    costs,
    ready_at: video.readyAt?.toISOString() ?? null,
    detector: video.detector,
    annotator: video.annotator,
  }
}

function toStageReport(progress: StageProgress, now: Date) {
  const { stage, startedAt, finishedAt, done, total } = progress
  const seconds = (new Date(finishedAt ?? now).getTime() - new Date(startedAt).getTime()) / 1000
  return {
    stage,
    started_at: startedAt,
    finished_at: finishedAt,
    done,
    total,
    // Units per second since the stage began; null before the first unit.
    rate_per_sec: done > 0 && seconds > 0 ? Math.round((done / seconds) * 100) / 100 : null,
    // Null when it is not known, and when the stage is over.
    left_sec: finishedAt === null ? secondsLeft(progress, now) : null,
  }
}

/**
 * Estimated seconds left, by the rate until the last step, minus the time since then: it counts down during a long
 * step. Null without a step, and when a step takes longer than the whole estimate.
 */
function secondsLeft({ startedAt, movedAt, done, total }: StageProgress, now: Date): number | null {
  if (done === 0 || total === null) return null
  const moved = new Date(movedAt).getTime()
  const perStep = (moved - new Date(startedAt).getTime()) / done
  const left = (perStep * (total - done) - (now.getTime() - moved)) / 1_000
  return left > 0 ? Math.ceil(left) : null
}

/** Why each frame of a video was kept, and what was not, in time order. */
export async function explainFrames(db: Db, videoId: string) {
  const { passedOver } = await requireVideo(db, videoId)
  const kept = await db
    .select({
      id: frames.id,
      t_ms: frames.tMs,
      kind: frames.kind,
      reason: frames.reason,
      rest: frames.rest,
      sharpness: frames.sharpness,
      motion: frames.motion,
    })
    .from(frames)
    .where(eq(frames.videoId, videoId))
    .orderBy(frames.tMs)
  const explained = kept.map(({ rest, ...frame }) => ({ ...frame, rest: rest && toRest(rest) }))
  return { frames: explained, passed_over: (passedOver ?? []).map(({ tMs, why }) => ({ t_ms: tMs, reason: why })) }
}

/** What is stored holds working values of the extraction too. */
function toRest({ fromMs, toMs, builtFromMs, steps, edges, isAtRest }: FrameRest): FrameRest {
  return { fromMs, toMs, builtFromMs, steps, edges, isAtRest }
}

/** The path of a small picture for each video that has frames: its most saved one, else its sharpest. */
export async function findVideoPictures(db: DbOrTx, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.execute<{ video_id: string; thumb_key: string }>(sql`
    select distinct on (video_id) video_id, thumb_key from frames
     where video_id = any(${sql.param([...ids])}::text[])
     order by video_id, save_count desc, sharpness desc nulls last, t_ms`)
  return new Map(rows.map(({ video_id, thumb_key }) => [video_id, `/media/${toImageName(thumb_key)}`]))
}

/** Unfinished videos, and how many of their frames are described. */
export interface UnderWay {
  videos: number
  /** Frames of the videos that are being described. */
  frames: number
  described: number
}

export async function findUnderWay(db: DbOrTx): Promise<UnderWay> {
  const { rows } = await db.execute<UnderWay & Record<string, unknown>>(sql`
    select count(*)::int as videos, coalesce(sum((stage->>'total')::int), 0)::int as frames,
           coalesce(sum((stage->>'done')::int), 0)::int as described
      from videos v left join lateral (
        select stage from jsonb_array_elements(v.stages) stage where stage->>'stage' = 'annotating') s on true
     where status in ('queued', 'fetching', 'extracting', 'annotating')`)
  return rows[0]!
}
