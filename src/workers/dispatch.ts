import { ZodError } from 'zod'
import type { Db } from '../db/client.ts'
import { frames } from '../db/schema/frames.ts'
import { type VideoRow, videos } from '../db/schema/videos.ts'
import type { StoredEvent } from '../events/catalogue.ts'
import type { Consumer } from '../events/consume.ts'
import type { ActiveAnnotator } from '../library/annotator/active-annotator.ts'
import { retarget } from '../library/frames/reannotation.ts'
import { loadAwaiting } from '../library/frames/record-annotations.ts'
import { adoptProposals } from '../library/frames/technique-suggestions.ts'
import { settleIfComplete } from '../library/videos/lifecycle.ts'
import type { Logger } from '../logger.ts'
import type { NewJob, Queues } from '../queue/queues.ts'
import { eq, inArray, sql } from '../sql/orm.ts'
import type { FaultPoint } from './fault-point.ts'

interface DispatchDeps {
  db: Db
  queues: Queues
  /** The annotator whose answers complete a video. It is the same in all processes, whatever their own settings. */
  activeAnnotator: () => Promise<AnnotatorTarget>
}

export type AnnotatorTarget = Pick<ActiveAnnotator, 'version' | 'model' | 'batchSize'>

/** Turns events into jobs. An event is only a signal: Postgres says which jobs are needed now. */
export function dispatchConsumer(deps: DispatchDeps & { faultPoint: FaultPoint }): Consumer {
  return {
    name: 'dispatch',
    types: ['video.submitted', 'frames.extracted', 'frames.reannotation_requested', 'video.deleted'],
    batchSize: 100,
    async handle(events: StoredEvent[]) {
      const ids = [...new Set(events.map((event) => event.subject))]
      const rows = new Map(
        (await deps.db.select().from(videos).where(inArray(videos.id, ids))).map((row) => [row.id, row]),
      )
      const jobs: NewJob[] = []
      for (const event of events) {
        if (event.type !== 'video.deleted') continue
        const uploadKey = (event.data.upload_key as string | null | undefined) ?? null
        jobs.push({ name: 'remove-media', data: { videoId: event.subject, uploadKey } })
      }
      const annotator = await deps.activeAnnotator()
      for (const video of rows.values()) jobs.push(...(await jobsOf(deps.db, annotator, video)))
      if (jobs.length > 0)
        await deps.queues.addAll(jobs).catch((cause: unknown) => {
          throw cause instanceof ZodError ? cause : new JobsNotAdded('jobs not added', { cause })
        })
      deps.faultPoint('dispatch-added')
      return undefined
    },
    outageOf: (error) => (error instanceof JobsNotAdded ? 'Redis' : undefined),
  }
}

/** No event is to blame for that. */
class JobsNotAdded extends Error {}

/** The jobs a video still needs. The same state gives the same jobs, so adding them again is a no-op. */
async function jobsOf(db: Db, annotator: AnnotatorTarget, video: VideoRow): Promise<NewJob[]> {
  const { id: videoId, revision, backfill, priority } = video
  if (video.status === 'queued' || video.status === 'fetching' || video.status === 'extracting')
    return [{ name: 'ingest-video', data: { videoId, revision }, backfill, priority }]
  if (video.status !== 'annotating' && video.status !== 'ready') return []
  const awaiting = new Set((await loadAwaiting(db, video, annotator.version)).map((row) => row.id))
  // No answer is missing, yet the video is not ready: the active annotator has changed.
  if (awaiting.size === 0) {
    if (video.status === 'annotating') await db.transaction((tx) => settleIfComplete(tx, videoId))
    return []
  }
  const all = await db.select({ id: frames.id }).from(frames).where(eq(frames.videoId, videoId)).orderBy(frames.tMs)
  const jobs: NewJob[] = []
  // Batches are cut from all frames of the video, so their boundaries do not depend on what is already done. A frame
  // that is being described is never put into a second job.
  for (let from = 0; from < all.length; from += annotator.batchSize) {
    const frameIds = all.slice(from, from + annotator.batchSize).map((frame) => frame.id)
    if (!frameIds.some((id) => awaiting.has(id))) continue
    jobs.push({
      name: 'annotate-frames',
      data: { videoId, revision, annotator: annotator.version, frameIds },
      // A public video's better description waits behind the first descriptions of others.
      backfill: backfill || video.status === 'ready',
      priority,
    })
  }
  return jobs
}

export interface ReconcileDeps extends DispatchDeps {
  logger: Logger
}

/** Back-fill jobs in Redis at most. The rest waits in Postgres and follows as they finish. */
const BACKFILL_DEPTH = 5_000
const VIDEOS_AT_ONCE = 200

/**
 * Enqueues from Postgres the jobs that Redis lost. Work that waits for an earlier annotator goes to the active one.
 * Safe at any time, in any process. Returns the number of jobs.
 */
export async function reconcileJobs(deps: ReconcileDeps, signal?: AbortSignal): Promise<number> {
  const { db, queues, logger } = deps
  await queues.ready()
  const annotator = await deps.activeAnnotator()
  await retarget(db, annotator.version)
  let added = 0
  for (const backfill of [false, true]) added += await reconcileLane(deps, annotator, backfill, signal)
  await adoptProposals(db)
  if (added > 0) logger.info({ added }, 'missing jobs enqueued')
  return added
}

async function reconcileLane(
  { db, queues }: ReconcileDeps,
  annotator: AnnotatorTarget,
  backfill: boolean,
  signal?: AbortSignal,
): Promise<number> {
  const isFull = async () =>
    backfill && (await queues.depth('ingest-backfill')) + (await queues.depth('annotate-backfill')) >= BACKFILL_DEPTH
  const inWork = sql`${videos.status} in ('queued', 'fetching', 'extracting', 'annotating')`
  const lane = backfill
    ? sql`(${videos.backfill} and ${inWork})
          or (${videos.status} = 'ready' and exists (select 1 from reannotations r where r.video_id = ${videos.id}))`
    : sql`not ${videos.backfill} and ${inWork}`
  let added = 0
  let after = { at: new Date(0), id: '' }
  while (!signal?.aborted && !(await isFull())) {
    const page = await db
      .select()
      .from(videos)
      .where(
        sql`(${lane}) and (${videos.addedAt}, ${videos.id}) > (${after.at.toISOString()}::timestamptz, ${after.id})`,
      )
      .orderBy(videos.addedAt, videos.id)
      .limit(VIDEOS_AT_ONCE)
    for (const video of page) added += await queues.addAll(await jobsOf(db, annotator, video))
    if (page.length < VIDEOS_AT_ONCE) break
    const last = page.at(-1)!
    after = { at: last.addedAt, id: last.id }
  }
  return added
}
