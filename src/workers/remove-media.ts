import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { findVideo, lockMedia } from '../library/videos/videos.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Handlers } from '../queue/work.ts'

/** Removes a deleted video's images and upload. If the same source has been added again meanwhile, its images are the new video's. */
export function removeMedia({ db, store }: { db: Db; store: MediaStore }): Handlers['remove-media'] {
  return async ({ videoId, uploadKey }) => {
    await db.transaction(async (tx) => {
      // It writes nothing, so it holds no reader of the event log back, however long a bucket takes.
      await tx.execute(sql`set local idle_in_transaction_session_timeout = 0`)
      await lockMedia(tx, videoId)
      const again = await findVideo(tx, videoId)
      if (!again) await store.deletePrefix(`frames/${videoId}/`)
      if (uploadKey && again?.uploadKey !== uploadKey) await store.delete(uploadKey)
    })
  }
}
