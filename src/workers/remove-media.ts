import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { findVideo, lockMedia, mayRemoveMedia } from '../library/videos/videos.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type Handlers, RetryAfter } from '../queue/work.ts'

const BACKUP_PAUSE_MS = 30_000

/** Removes a deleted video's images and upload, unless the same source was added again and owns them now. */
export function removeMedia({ db, store }: { db: Db; store: MediaStore }): Handlers['remove-media'] {
  return async ({ videoId, uploadKey }) => {
    await db.transaction(async (tx) => {
      // No limit, however long the media store takes: this transaction writes nothing, so it delays no event reader.
      await tx.execute(sql`set local idle_in_transaction_session_timeout = 0`)
      if (!(await mayRemoveMedia(tx))) throw new RetryAfter('A backup is being made.', BACKUP_PAUSE_MS)
      await lockMedia(tx, videoId)
      const current = await findVideo(tx, videoId)
      if (!current) await store.deletePrefix(`frames/${videoId}/`)
      if (uploadKey && current?.uploadKey !== uploadKey) await store.delete(uploadKey)
    })
  }
}
