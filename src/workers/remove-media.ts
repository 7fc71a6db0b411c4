import type { Db } from '../db/client.ts'
import { findVideo } from '../library/videos.ts'
import type { Handlers } from '../queue/work.ts'
import type { FrameStore } from '../video/frame-store.ts'

/** Removes a deleted video's images and upload, unless the same source has been added again meanwhile. */
export function removeMedia({ db, store }: { db: Db; store: FrameStore }): Handlers['remove-media'] {
  return async ({ videoId, uploadKey }) => {
    if (await findVideo(db, videoId)) return
    await store.deletePrefix(`frames/${videoId}/`)
    if (uploadKey) await store.delete(uploadKey)
  }
}
