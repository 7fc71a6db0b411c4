import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { type StageProgress, type VideoRow, videos } from '../../db/schema/videos.ts'
import { appendEvent } from '../../events/append.ts'
import { advanceStage, finishStages, toStageTimes } from './stages.ts'
import { aboutVideo, INGEST_STATUSES, lockVideo, setVideo, takesIngest } from './videos.ts'

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
    const stages = finishStages(video.stages, new Date().toISOString())
    await setVideo(tx, id, { status: 'failed', failureCode: code, failureMessage: message, stages })
    await appendEvent(tx, { type: 'video.failed', ...aboutVideo(video, { code, stages: toStageTimes(stages) }) })
  })
}
