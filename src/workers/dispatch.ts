import { eq, inArray } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { videos } from '../db/schema.ts'
import type { StoredEvent } from '../events/catalogue.ts'
import type { Consumer } from '../events/consume.ts'
import { loadUnannotated } from '../library/annotations.ts'
import { settleIfComplete, type VideoRow } from '../library/videos.ts'
import type { Queues } from '../queue/queues.ts'
import type { Reached } from './faults.ts'

export interface DispatchDeps {
  db: Db
  queues: Queues
  /** Frames per annotation job. */
  batchSize: number
  reached: Reached
}

/** Turns events into jobs. An event is a signal only: what is enqueued is what Postgres says is to be done now. */
export function dispatchConsumer(deps: DispatchDeps): Consumer {
  return {
    name: 'dispatch',
    types: ['video.submitted', 'frames.extracted', 'video.deleted'],
    batchSize: 100,
    async handle(events: StoredEvent[]) {
      const ids = [...new Set(events.map((event) => event.subject))]
      const rows = new Map((await deps.db.select().from(videos).where(inArray(videos.id, ids))).map((row) => [row.id, row]))
      for (const event of events) {
        const video = rows.get(event.subject)
        if (event.type === 'video.deleted') {
          const uploadKey = (event.data.upload_key as string | null | undefined) ?? null
          if (!video) await deps.queues.add('remove-media', { videoId: event.subject, uploadKey })
        } else if (video) await enqueueWork(deps, video)
      }
      deps.reached('dispatch-added')
      return undefined
    },
    // Everything it does is on Redis: nothing here is an event's fault.
    isOutage: () => true,
  }
}

/** Enqueues what a video still needs; nothing when the job is there already. Number of jobs added. */
export async function enqueueWork({ db, queues, batchSize }: Omit<DispatchDeps, 'reached'>, video: VideoRow): Promise<number> {
  const options = { backfill: video.backfill, priority: video.priority }
  if (video.status === 'queued' || video.status === 'fetching' || video.status === 'extracting') {
    return (await queues.add('ingest-video', { videoId: video.id, revision: video.revision }, options)) ? 1 : 0
  }
  if ((video.status !== 'annotating' && video.status !== 'ready') || video.annotator === null) return 0
  const missing = await loadUnannotated(db, video.id, video.annotator)
  // Nothing missing and yet not ready: the wanted annotator changed under it.
  if (missing.length === 0 && video.status === 'annotating') await db.transaction((tx) => settleIfComplete(tx, video.id))
  // A video that is public already waits for a better description behind those that wait for their first.
  const backfill = video.backfill || video.status === 'ready'
  let added = 0
  for (let from = 0; from < missing.length; from += batchSize) {
    const frameIds = missing.slice(from, from + batchSize).map((row) => row.id)
    const data = { videoId: video.id, revision: video.revision, annotator: video.annotator, frameIds }
    if (await queues.add('annotate-frames', data, { ...options, backfill })) added++
  }
  return added
}

export async function enqueueVideo(deps: Omit<DispatchDeps, 'reached'>, videoId: string): Promise<number> {
  const [video] = await deps.db.select().from(videos).where(eq(videos.id, videoId))
  return video ? enqueueWork(deps, video) : 0
}
