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
  faultPoint('ingest-images-stored')
  await recordExtraction(db, {
    id: video.id,
    revision: video.revision,
    extraction,
    annotator: await deps.annotatorVersion(),
    title: source.title ?? extraction.probe.title,
    author: source.author,
  })
  faultPoint('ingest-recorded')
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
