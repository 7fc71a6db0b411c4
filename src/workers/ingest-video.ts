import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { VideoRow } from '../db/schema/videos.ts'
import { frameIdOf } from '../library/ids.ts'
import { recordExtraction } from '../library/videos/extraction.ts'
import { beginVideo } from '../library/videos/lifecycle.ts'
import { imageKeysOf, loopKeyOf } from '../media/image-name.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Handlers } from '../queue/work.ts'
import type { Extraction } from '../video/extract/extract.ts'
import { type AttemptDeps, type AttemptWork, fetchAndExtract, runAttempt, untilRoom } from './attempt.ts'

export interface IngestDeps extends AttemptDeps {
  /** The annotator whose answers complete the video. */
  annotatorVersion: () => Promise<string>
  /** Whether the file of a fetched source is kept. Uploads are, always. */
  keepVideos: boolean
}

/** Turns a queued video into frames: fetch, extract in a child process, store the images, record all in one step. */
export function ingestVideo(deps: IngestDeps): Handlers['ingest-video'] {
  return async ({ videoId, revision }, context) => {
    await untilRoom(deps)
    const video = await beginVideo(deps.db, videoId, revision)
    if (!video) return
    await runAttempt(deps, video, context, (work) => ingest(deps, video, work))
  }
}

async function ingest(deps: IngestDeps, video: VideoRow, work: AttemptWork): Promise<void> {
  const { db, faultPoint } = deps
  const { source, extraction } = await fetchAndExtract(deps, video, work)
  await storeImages(deps.store, video.id, extraction, work.signal)
  const keptKey = await keepFile(deps, video, source.file, work.signal)
  faultPoint('ingest-images-stored')
  await recordExtraction(db, {
    id: video.id,
    revision: video.revision,
    extraction,
    annotator: await deps.annotatorVersion(),
    // What a source said of its title stays when its kept file is read again.
    title: source.title ?? (video.uploadKey && video.sourceUrl ? null : extraction.probe.title),
    author: source.author,
    keptKey,
  })
  faultPoint('ingest-recorded')
}

/** As an upload is: the row names it, backups hold it, and it goes with the video. */
async function keepFile(
  { store, keepVideos }: IngestDeps,
  { uploadKey }: VideoRow,
  file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!keepVideos || (uploadKey !== null && (await store.stat(uploadKey)))) return undefined
  const key = `uploads/${randomBytes(16).toString('hex')}`
  await store.put(key, createReadStream(file, { signal }), 'application/octet-stream')
  return key
}

async function storeImages(
  store: MediaStore,
  videoId: string,
  { frames }: Extraction,
  signal: AbortSignal,
): Promise<void> {
  for (const frame of frames) {
    signal.throwIfAborted()
    const id = frameIdOf(videoId, frame.tMs)
    const keys = imageKeysOf(id, frame.imageSha256)
    await store.put(keys.image, await readFile(frame.imagePath), 'image/webp')
    await store.put(keys.thumb, await readFile(frame.thumbPath), 'image/webp')
    const { loop } = frame
    if (loop) await store.put(loopKeyOf(id, loop.sha256), await readFile(loop.path), 'image/webp')
  }
}
