import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Db, isConnectionLoss } from '../db/client.ts'
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
import { isDiskFull, requireRoom, StorageFull } from '../media/disk-store.ts'
import { buildKeyOf, imageKeysOf } from '../media/image-name.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type Handlers, RetryAfter } from '../queue/work.ts'
import type { Extraction, ExtractOptions } from '../video/extract/extract.ts'
import type { FaultPoint } from './fault-point.ts'
import { makeScratch } from './scratch.ts'

/** A video's bytes in the scratch folder, and the title and author that its source gives. */
interface FetchedSource {
  file: string
  title: string | null
  author: string | null
}

export interface IngestDeps {
  db: Db
  store: MediaStore
  extract: (options: ExtractOptions) => Promise<Extraction>
  /** Fetches an upload or a URL into `scratchDir`. @throws MediaError with a stable code. */
  fetchSource: (
    video: VideoRow,
    options: { scratchDir: string; signal: AbortSignal; onProgress: (done: number, total: number | null) => void },
  ) => Promise<FetchedSource>
  /** The annotator whose answers complete the video. */
  annotatorVersion: () => Promise<string>
  maxDurationSec: number
  scratchRoot: string
  logger: Logger
  faultPoint: FaultPoint
}

/** How often progress is written and the revision checked: a cancelled video stops within about this time. */
const PROGRESS_MS = 1_000

/** Turns a queued video into frames: fetch, extract in a child process, store the images, record all in one step. */
export function ingestVideo(deps: IngestDeps): Handlers['ingest-video'] {
  const { db, logger, faultPoint } = deps
  return async ({ videoId, revision }, { signal: stop, lastAttempt }) => {
    await untilRoom(deps)
    const video = await beginVideo(db, videoId, revision)
    if (!video) return
    if (video.attempts > MAX_ATTEMPTS) {
      await recordFailure(db, {
        id: videoId,
        revision,
        code: 'gave_up',
        message: `Processing was interrupted ${MAX_ATTEMPTS} times. The file probably crashes the worker.`,
      })
      return
    }
    faultPoint('ingest-begun')
    const scratchDir = await makeScratch(deps.scratchRoot, videoId)
    const superseded = new AbortController()
    const progress = progressWriter(db, videoId, revision, () => superseded.abort(new Error('superseded')))
    try {
      await ingest(deps, video, { scratchDir, progress, signal: AbortSignal.any([stop, superseded.signal]) })
    } catch (error) {
      if (superseded.signal.aborted) {
        logger.info({ videoId, revision }, 'ingest superseded')
        return
      }
      // A stopping worker hands the job back: that is not the video's failure.
      if (stop.aborted) throw error
      await handleFailure(deps, { videoId, revision, lastAttempt, scratchDir }, error)
    } finally {
      await progress.stop()
      await rm(scratchDir, { recursive: true, force: true })
    }
  }
}

/** How soon a full disk or bucket is checked again. A bucket shows it only at the next upload, after all the work. */
const FULL_DELAY_MS = { disk: 10_000, bucket: 60_000 }

/** A full disk is a delay: no attempt counts and nothing is fetched. @throws RetryAfter */
async function untilRoom({ scratchRoot, store }: Pick<IngestDeps, 'scratchRoot' | 'store'>): Promise<void> {
  try {
    await mkdir(scratchRoot, { recursive: true })
    await requireRoom(scratchRoot)
    await store.requireRoom?.()
  } catch (error) {
    if (!(error instanceof StorageFull) && !isDiskFull(error)) throw error
    throw new RetryAfter('the disk is full', FULL_DELAY_MS.disk)
  }
}

/**
 * For a video that found the disk or bucket full. It waits while there is no room, and no attempt counts. When removing
 * its own files made room, it is too large for this disk: then the attempt counts. @throws RetryAfter
 */
async function waitWhileFull(deps: IngestDeps, scratchDir: string, refund: () => Promise<unknown>, error: unknown) {
  await rm(scratchDir, { recursive: true, force: true })
  try {
    if (error instanceof StorageFull && error.place === 'bucket')
      throw new RetryAfter('the bucket is full', FULL_DELAY_MS.bucket)
    await untilRoom(deps)
  } catch (wait) {
    if (wait instanceof RetryAfter) await refund()
    throw wait
  }
}

async function ingest(
  deps: IngestDeps,
  video: VideoRow,
  { scratchDir, progress, signal }: { scratchDir: string; progress: ProgressWriter; signal: AbortSignal },
): Promise<void> {
  const { db, extract, fetchSource, faultPoint } = deps
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
    // Only this stage has a known total. The probe before it and the images count other units.
    onProgress: ({ stage, done, total }) => {
      if (stage === 'shots') progress.stage('extracting', done, total)
    },
  })
  await progress.flush()
  faultPoint('ingest-extracted')
  await storeImages(deps.store, video.id, extraction, signal)
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
    if (frame.build) await store.put(buildKeyOf(id, frame.build.sha256), await readFile(frame.build.path), 'image/webp')
  }
}

/** Fails the video when no attempt may follow. Otherwise throws again what the queue must retry. */
async function handleFailure(
  deps: IngestDeps,
  {
    videoId,
    revision,
    lastAttempt,
    scratchDir,
  }: { videoId: string; revision: number; lastAttempt: boolean; scratchDir: string },
  error: unknown,
): Promise<void> {
  const { db, logger } = deps
  // The database itself may be unavailable.
  const refund = () => refundAttempt(db, videoId, revision).catch(() => undefined)
  const fail = (code: string, message: string) => recordFailure(db, { id: videoId, revision, code, message })
  if (!(error instanceof MediaError) && isConnectionLoss(error)) {
    await refund()
    throw error
  }
  if (error instanceof MediaError && (!error.retryable || lastAttempt)) {
    logger.info({ videoId, code: error.code }, 'video refused')
    return fail(error.code, error.message)
  }
  if (error instanceof StorageFull || isDiskFull(error)) {
    await waitWhileFull(deps, scratchDir, refund, error)
    logger.error({ videoId }, 'disk full')
    if (lastAttempt)
      await fail('disk_full', 'The disk has too little room for this video. Free some space, then retry it.')
  } else if (lastAttempt) {
    logger.error({ err: error, videoId }, 'ingest failed')
    await fail(
      'internal_error',
      'Processing failed several times, not because of the file. See the worker log, then retry this video.',
    )
  }
  throw error
}

type ProgressWriter = ReturnType<typeof progressWriter>

/** Writes progress in order, at most once a second, and reports when the video has a newer revision. */
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
  const timer = setInterval(write, PROGRESS_MS)
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
