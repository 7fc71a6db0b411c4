import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { videos } from '../db/schema/videos.ts'
import { retarget } from '../library/frames/reannotation.ts'
import { adoptProposals } from '../library/frames/technique-suggestions.ts'
import type { Logger } from '../logger.ts'
import type { Queues } from '../queue/queues.ts'
import { type AnnotatorTarget, jobsOf } from './dispatch.ts'

export interface ReconcileDeps {
  db: Db
  queues: Queues
  logger: Logger
  /** The annotator to use. Work that waits for another one, from before a change of settings, is assigned to it. */
  activeAnnotator: () => Promise<AnnotatorTarget>
}

/** Back-fill jobs in Redis at most. The rest waits in Postgres and follows as they finish. */
const BACKFILL_DEPTH = 5_000
const VIDEOS_AT_ONCE = 200

/** Enqueues from Postgres the jobs that Redis lost. Safe at any time, in any process. Returns their number. */
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
