import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { MediaError } from '../errors.ts'
import { frameIdOf } from '../library/videos/identity.ts'
import {
  beginVideo,
  MAX_ATTEMPTS,
  recordFailure,
  recordProgress,
  refundAttempt,
} from '../library/videos/ingest-progress.ts'
import { recordExtraction } from '../library/videos/record-extraction.ts'
import type { Logger } from '../logger.ts'
import { imageKeysOf } from '../media/image-name.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Handlers } from '../queue/work.ts'
import type { Extraction, ExtractOptions } from '../video/extract/extract.ts'
import type { FaultPoint } from './fault-point.ts'
import { makeScratch } from './scratch.ts'

/** The bytes of a video in the scratch folder, and what its source says of it. */
export interface FetchedSource {
  file: string
  title: string | null
  author: string | null
}

export interface IngestDeps {
  db: Db
  store: MediaStore
  extract: (options: ExtractOptions) => Promise<Extraction>
  /** Brings an upload or a URL into `scratchDir`. @throws MediaError with a stable code */
  fetchSource: (
    video: VideoRow,
    options: { scratchDir: string; signal: AbortSignal; onProgress: (done: number, total: number | null) => void },
  ) => Promise<FetchedSource>
  /** The annotator whose answers will make the video complete. */
  annotatorVersion: () => Promise<string>
  maxDurationSec: number
  scratchRoot: string
  logger: Logger
  faultPoint: FaultPoint
}

/** How often a running video's revision is looked at, so that a cancelled one stops within about this long. */
const CANCEL_CHECK_MS = 1_000

/** From a queued video to its frames: fetch, probe and extract in a child process, store the images, record everything in one transaction. */
export function ingestVideo(deps: IngestDeps): Handlers['ingest-video'] {
  const { db, store, extract, fetchSource, logger, faultPoint } = deps
  return async ({ videoId, revision }, { signal: stop, lastAttempt }) => {
    const video = await beginVideo(db, videoId, revision)
    if (!video) return
    if (video.attempts > MAX_ATTEMPTS) {
      await recordFailure(db, {
        id: videoId,
        revision,
        code: 'gave_up',
        message: `The work was begun ${MAX_ATTEMPTS} times and never came to an end; something in this file stops the worker.`,
      })
      return
    }
    faultPoint('ingest-begun')
    const scratchDir = await makeScratch(deps.scratchRoot, videoId)
    const superseded = new AbortController()
    const signal = AbortSignal.any([stop, superseded.signal])
    const progress = progressWriter(db, videoId, revision, () => superseded.abort(new Error('cancelled')))
    try {
      progress.stage('fetching', 0, null)
      const source = await fetchSource(video, {
        scratchDir,
        signal,
        onProgress: (done, total) => progress.stage('fetching', done, total),
      })
      faultPoint('ingest-fetched')
      progress.stage('extracting', 0, null)
      const outDir = join(scratchDir, 'frames')
      await mkdir(outDir)
      const extraction = await extract({
        file: source.file,
        scratchDir: outDir,
        signal,
        limits: { maxDurationSec: deps.maxDurationSec },
        // The one stage with a known end; the probe before it and the images beside it count other things.
        onProgress: ({ stage, done, total }) => {
          if (stage === 'shots') progress.stage('extracting', done, total)
        },
      })
      await progress.flush()
      faultPoint('ingest-extracted')
      for (const frame of extraction.frames) {
        signal.throwIfAborted()
        const keys = imageKeysOf(frameIdOf(videoId, frame.tMs), frame.imageSha256)
        await store.put(keys.image, await readFile(frame.imagePath), 'image/webp')
        await store.put(keys.thumb, await readFile(frame.thumbPath), 'image/webp')
      }
      faultPoint('ingest-images-stored')
      await recordExtraction(db, {
        id: videoId,
        revision,
        extraction,
        annotator: await deps.annotatorVersion(),
        title: source.title ?? extraction.probe.title,
        author: source.author,
      })
      faultPoint('ingest-recorded')
    } catch (error) {
      if (superseded.signal.aborted) {
        logger.info({ videoId, revision }, 'ingest superseded')
        return
      }
      // Handed back: a stopping worker and a store that is away are no failure of this video.
      if (stop.aborted) throw error
      if (!(error instanceof MediaError) && isConnectionLoss(error)) {
        // The database may be what is away.
        await refundAttempt(db, videoId, revision).catch(() => undefined)
        throw error
      }
      if (error instanceof MediaError && (!error.retryable || lastAttempt)) {
        logger.info({ videoId, code: error.code }, 'video refused')
        await recordFailure(db, { id: videoId, revision, code: error.code, message: error.message })
        return
      }
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') {
        logger.error({ videoId }, 'disk full')
        if (lastAttempt)
          await recordFailure(db, {
            id: videoId,
            revision,
            code: 'disk_full',
            message: 'The disk is full. Free some space, then retry this video.',
          })
      } else if (lastAttempt) {
        logger.error({ err: error, videoId }, 'ingest failed')
        await recordFailure(db, {
          id: videoId,
          revision,
          code: 'internal_error',
          message:
            'The work failed here several times, not because of the file. Retry it; the log of the worker tells more.',
        })
      }
      throw error
    } finally {
      await progress.stop()
      await rm(scratchDir, { recursive: true, force: true })
    }
  }
}

/** Writes progress at most once a second, in order, and notices when the video has moved on to a newer revision. */
function progressWriter(db: Db, id: string, revision: number, onSuperseded: () => void) {
  let latest: { stage: 'fetching' | 'extracting'; done: number; total: number | null } | undefined
  let writing: Promise<void> = Promise.resolve()
  const write = () => {
    const entry = latest
    writing = writing.then(async () => {
      if (!entry) return
      const current = await recordProgress(db, { id, revision, ...entry }).catch(() => true)
      if (!current) onSuperseded()
    })
    return writing
  }
  const timer = setInterval(write, CANCEL_CHECK_MS)
  return {
    stage(stage: 'fetching' | 'extracting', done: number, total: number | null) {
      const changed = latest?.stage !== stage
      latest = { stage, done, total }
      if (changed) void write()
    },
    flush: write,
    async stop() {
      clearInterval(timer)
      await writing
    },
  }
}
