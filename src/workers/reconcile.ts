import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { videos } from '../db/schema.ts'
import type { Logger } from '../logger.ts'
import type { Queues } from '../queue/queues.ts'
import { enqueueWork } from './dispatch.ts'

export interface ReconcileDeps {
  db: Db
  queues: Queues
  batchSize: number
  logger: Logger
  /** The annotator of this installation: videos in work that want another one (settings changed) are told. */
  annotatorVersion: string
}

/** Re-enqueues from Postgres whatever Redis forgot. Safe at any time, from any number of processes. Number of jobs added. */
export async function reconcileJobs({ db, queues, batchSize, logger, annotatorVersion }: ReconcileDeps): Promise<number> {
  await db.execute(sql`update videos set annotator = ${annotatorVersion} where status = 'annotating' and annotator <> ${annotatorVersion}`)
  const waiting = await db
    .select()
    .from(videos)
    .where(
      sql`${videos.status} in ('queued', 'fetching', 'extracting', 'annotating')
       or (${videos.status} = 'ready' and ${videos.annotator} = ${annotatorVersion} and exists (
             select 1 from frames f where f.video_id = ${videos.id}
                and not exists (select 1 from annotations a where a.frame_id = f.id and a.annotator = ${videos.annotator})))`,
    )
    .orderBy(videos.addedAt)
  let added = 0
  for (const video of waiting) added += await enqueueWork({ db, queues, batchSize }, video)
  if (added > 0) logger.info({ added }, 'jobs enqueued again from the record')
  return added
}
