import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { MediaError } from '../errors.ts'
import type { MediaStore } from '../media/media-store.ts'
import { findSource, needsYtDlp } from '../video/source/source.ts'
import type { Platform } from '../vocabulary.ts'
import type { AttemptDeps } from './attempt.ts'

export interface FetchVideoDeps {
  store: MediaStore
  ytdlpPath: string | undefined
  maxBytes: number
  maxDurationSec: number
}

/** Fetches an upload from the media store, a file by guarded download, or a platform's page with yt-dlp. */
export function fetchVideo({ store, ytdlpPath, maxBytes, maxDurationSec }: FetchVideoDeps): AttemptDeps['fetchSource'] {
  return async (video, { scratchDir, signal, onProgress }) => {
    const file = join(scratchDir, 'source')
    if (video.uploadKey) {
      const body = await store.open(video.uploadKey)
      if (!body) throw new MediaError('upload_missing', 'The uploaded file is lost. Upload it again.')
      await pipeline(body, createWriteStream(file), { signal })
      onProgress(1, 1)
      return { file, title: null, author: null }
    }
    if (video.sourceUrl === null)
      throw new MediaError('upload_missing', 'This video has neither a file nor a URL. Upload the file.')
    // Only the URL decides how it is fetched: an operator may have named the platform where the video was published.
    const named = { platform: video.platform as Platform, canonicalUrl: video.sourceUrl }
    if (needsYtDlp(findSource(video.sourceUrl) ?? named)) {
      const { fetchWithYtDlp } = await import('../video/source/yt-dlp.ts')
      return fetchWithYtDlp(video.sourceUrl, { ytdlpPath, scratchDir, signal, maxBytes, maxDurationSec })
    }
    // Not at the top: its HTTP client takes 10 MB, which uploads do not need.
    const { fetchSource } = await import('../video/source/fetch-source.ts')
    const fetched = await fetchSource(video.sourceUrl, { scratchDir, signal, maxBytes, onProgress })
    return { file: fetched.file, title: fetched.title, author: null }
  }
}
