import { and, count, desc, eq, lt, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { settings } from '../../db/schema/settings.ts'
import { type StageProgress, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { type Costs, costsOf } from '../frames/annotations.ts'
import { countReannotations, findAnnotator } from '../frames/reannotation.ts'
import { requireVideo, type VideoRow } from './videos.ts'

/** What an operator sees of one video: stage, n of m, rate, time left, attempts, and what failed and why. */
export interface VideoReport {
  id: string
  title: string
  author: string | null
  platform: string
  source_url: string | null
  status: VideoStatus
  failure: { code: string; message: string } | null
  stages: {
    stage: StageProgress['stage']
    started_at: string
    finished_at: string | null
    done: number
    total: number | null
    /** Units per second since the stage began; null while nothing is done. */
    rate_per_sec: number | null
    /** Seconds left at that rate; null where the total is unknown or the stage is over. */
    left_sec: number | null
  }[]
  attempts: number
  backfill: boolean
  frame_count: number
  /** Frames that wait to be described again, behind live work. */
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
    source_url: video.sourceUrl,
    status: video.status,
    failure: video.failureCode === null ? null : { code: video.failureCode, message: video.failureMessage ?? '' },
    stages: video.stages.map((stage) => {
      const seconds = (new Date(stage.finishedAt ?? now).getTime() - new Date(stage.startedAt).getTime()) / 1000
      const rate = stage.done > 0 && seconds > 0 ? Math.round((stage.done / seconds) * 100) / 100 : null
      return {
        stage: stage.stage,
        started_at: stage.startedAt,
        finished_at: stage.finishedAt,
        done: stage.done,
        total: stage.total,
        rate_per_sec: rate,
        left_sec:
          rate && stage.total !== null && stage.finishedAt === null
            ? Math.max(0, Math.ceil((stage.total - stage.done) / rate))
            : null,
      }
    }),
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

/** Whether frames can be described at present, what waits for it and what it costs. */
export interface AnnotatorStatus {
  present: string | null
  /** Why nothing can be asked; null while all is well. */
  problem: { code: string; message: string; since: string } | null
  /** Frames named by a re-annotation and not answered yet. */
  waiting: number
  last_24_h: Costs
}

const VISION_STATUS = 'vision-status'

interface StoredStatus {
  code: string
  message?: string
  since?: string
}

/** Notes that nothing can be asked (a wrong key, a spent budget), for people to see. Told again it stands since it was told first. */
export async function tellAnnotatorProblem(db: Db, problem: { code: string; message: string }): Promise<void> {
  const now = new Date()
  await db
    .insert(settings)
    .values({
      name: VISION_STATUS,
      value: { ...problem, since: now.toISOString() } satisfies StoredStatus,
      updatedAt: now,
    })
    .onConflictDoUpdate({
      target: settings.name,
      set: {
        value: sql`excluded.value || case when ${settings.value}->>'code' = excluded.value->>'code' then jsonb_build_object('since', ${settings.value}->'since') else '{}' end`,
        updatedAt: now,
      },
    })
}

/** Notes that asking works. What began before the problem was told last says nothing of it: it was let in before. */
export async function endAnnotatorProblem(db: Db, began: Date): Promise<void> {
  await db
    .update(settings)
    .set({ value: { code: 'ok' } satisfies StoredStatus, updatedAt: new Date() })
    .where(
      and(eq(settings.name, VISION_STATUS), sql`${settings.value}->>'code' <> 'ok'`, lt(settings.updatedAt, began)),
    )
}

export async function findAnnotatorStatus(db: Db): Promise<AnnotatorStatus> {
  const [row] = await db.select().from(settings).where(eq(settings.name, VISION_STATUS))
  const value = row?.value as StoredStatus | undefined
  return {
    present: (await findAnnotator(db))?.version ?? null,
    problem:
      row && value?.message !== undefined
        ? { code: value.code, message: value.message, since: value.since ?? row.updatedAt.toISOString() }
        : null,
    waiting: await countReannotations(db),
    last_24_h: await costsOf(db),
  }
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
