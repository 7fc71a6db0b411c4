import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { appendEvent } from '../../events/append.ts'
import { advanceStage, finishStages, toStageTimes } from './stages.ts'
import { aboutVideo, lockVideo, setVideo } from './videos.ts'

/**
 * Counts the frames without an answer of the video's annotator; with none left the video becomes ready. The video's row
 * is locked before counting, so that of two concurrent last batches the second sees both.
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
