import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Db, isConnectionLoss } from '../db/client.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { MediaError } from '../errors.ts'
import { MAX_ATTEMPTS, recordFailure, recordProgress, refundAttempt } from '../library/videos/lifecycle.ts'
import type { Logger } from '../logger.ts'
import { isDiskFull, requireRoom, StorageFull } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type JobContext, RetryAfter } from '../queue/work.ts'
import type { Extraction, ExtractOptions } from '../video/extract/extract.ts'
import { findSource, needsYtDlp } from '../video/source/source.ts'
import type { Platform } from '../vocabulary.ts'
import type { FaultPoint } from './fault-point.ts'

/* An attempt at a video: fetch it, decode it, and say what went wrong. */

/** A video's bytes in the scratch folder, and the title and author that its source gives. */
interface FetchedSource {
  file: string
  title: string | null
  author: string | null
}

export interface AttemptDeps {
  db: Db
  store: MediaStore
  extract: (options: ExtractOptions) => Promise<Extraction>
  /** Fetches an upload or a URL into `scratchDir`. @throws MediaError with a stable code. */
  fetchSource: (
    video: Pick<VideoRow, 'uploadKey' | 'sourceUrl' | 'platform'>,
    options: { scratchDir: string; signal: AbortSignal; onProgress: (done: number, total: number | null) => void },
  ) => Promise<FetchedSource>
  maxDurationSec: number
  scratchRoot: string
  logger: Logger
  faultPoint: FaultPoint
}

interface Progress {
  stage: 'fetching' | 'extracting'
  done: number
  total: number | null
}

export interface AttemptWork {
  scratchDir: string
  progress: ProgressWriter
  signal: AbortSignal
}

/** Runs one attempt. What cannot succeed fails for good; what may is thrown, for the queue to retry. */
export async function runAttempt(
  deps: AttemptDeps,
  video: VideoRow,
  { signal: stop, lastAttempt }: JobContext,
  work: (given: AttemptWork) => Promise<void>,
): Promise<void> {
  const { db } = deps
  const { id, revision } = video
  if (video.attempts > MAX_ATTEMPTS)
    return recordFailure(db, {
      id,
      revision,
      code: 'gave_up',
      message: `Processing was interrupted ${MAX_ATTEMPTS} times. The file probably crashes the worker.`,
    })
  deps.faultPoint('ingest-begun')
  const scratchDir = await makeScratch(deps.scratchRoot, id)
  const superseded = new AbortController()
  const progress = progressWriter(db, video, () => superseded.abort(new Error('superseded')))
  try {
    await work({ scratchDir, progress, signal: AbortSignal.any([stop, superseded.signal]) })
  } catch (error) {
    if (superseded.signal.aborted) {
      deps.logger.info({ videoId: id, revision }, 'ingest superseded')
      return
    }
    if (stop.aborted) {
      // A stopping worker hands the job back: that is not the video's failure.
      await refundAttempt(db, id, revision).catch(() => undefined)
      throw error
    }
    await handleFailure(deps, video, { lastAttempt, scratchDir }, error)
  } finally {
    await progress.stop()
    await rm(scratchDir, { recursive: true, force: true })
  }
}

/** Fetches a video and extracts its frames into the scratch folder. */
export async function fetchAndExtract(
  deps: AttemptDeps,
  video: VideoRow,
  { scratchDir, progress, signal }: AttemptWork,
): Promise<{ source: FetchedSource; extraction: Extraction }> {
  const { extract, fetchSource, faultPoint } = deps
  progress.stage('fetching', 0, null)
  const source = await fetchSource(video, {
    scratchDir,
    signal,
    onProgress: (done, total) => progress.stage('fetching', done, total),
  })
  faultPoint('ingest-fetched')
  progress.stage('extracting', 0, null)
  let length: number | null = null
  const outDir = join(scratchDir, 'frames')
  await mkdir(outDir)
  const extraction = await extract({
    file: source.file,
    scratchDir: outDir,
    signal,
    limits: { maxDurationSec: deps.maxDurationSec },
    loops: true,
    // Only this stage has a known total. The probe before it and the images count other units.
    onProgress: ({ stage, done, total }) => {
      if (stage !== 'shots') return
      length = total
      progress.stage('extracting', done, total)
    },
  })
  // The length was an estimate, and the last step is not told: all of it is read.
  if (length !== null) progress.stage('extracting', length, length)
  await progress.flush()
  faultPoint('ingest-extracted')
  return { source, extraction }
}

/** How soon a full disk or bucket is checked again. A bucket shows it only at the next upload, after all the work. */
const FULL_DELAY_MS = { disk: 10_000, bucket: 60_000 }

/** A full disk is a delay: no attempt counts and nothing is fetched. @throws RetryAfter */
export async function untilRoom({ scratchRoot, store }: Pick<AttemptDeps, 'scratchRoot' | 'store'>): Promise<void> {
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
async function waitWhileFull(deps: AttemptDeps, scratchDir: string, refund: () => Promise<unknown>, error: unknown) {
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

/** Fails the video when no attempt may follow. Otherwise throws again what the queue must retry. */
async function handleFailure(
  deps: AttemptDeps,
  { id, revision }: VideoRow,
  { lastAttempt, scratchDir }: { lastAttempt: boolean; scratchDir: string },
  error: unknown,
): Promise<void> {
  const { db, logger } = deps
  const about = { videoId: id, revision }
  const fail = (code: string, message: string) => recordFailure(db, { id, revision, code, message })
  // The database itself may be unavailable.
  const refund = () => refundAttempt(db, id, revision).catch(() => undefined)
  if (!(error instanceof MediaError) && isConnectionLoss(error)) {
    await refund()
    throw error
  }
  if (error instanceof MediaError && (!error.retryable || lastAttempt)) {
    logger.info({ ...about, code: error.code }, 'video refused')
    return fail(error.code, error.message)
  }
  if (error instanceof StorageFull || isDiskFull(error)) {
    await waitWhileFull(deps, scratchDir, refund, error)
    logger.error(about, 'disk full')
    if (lastAttempt)
      await fail('disk_full', 'The disk has too little room for this video. Free some space, then retry it.')
  } else if (lastAttempt) {
    logger.error({ err: error, ...about }, 'ingest failed')
    await fail(
      'internal_error',
      'Processing failed several times, not because of the file. See the worker log, then retry this video.',
    )
  }
  throw error
}

type ProgressWriter = ReturnType<typeof progressWriter>

/** How often progress is written and the revision checked: a cancelled video stops within about this time. */
const PROGRESS_MS = 1_000

/** Writes progress in order, at most once a second, and reports when the work is no longer wanted. */
function progressWriter(db: Db, { id, revision }: VideoRow, onSuperseded: () => void) {
  let latest: Progress | undefined
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
    stage(stage: Progress['stage'], done: number, total: number | null) {
      const changed = latest?.stage !== stage
      // How the stage before ended, too.
      if (changed) void write()
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
      if (!body && video.sourceUrl === null)
        throw new MediaError('upload_missing', 'The uploaded file is lost. Upload it again, then retry this video.')
      if (body) {
        await pipeline(body, createWriteStream(file), { signal })
        onProgress(1, 1)
        return { file, title: null, author: null }
      }
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

/** Longer than any job may take. */
const ABANDONED_MS = 24 * 60 * 60_000

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, '') || 'host'

/** Creates a folder for one job, named after the process that will remove it. */
export async function makeScratch(root: string, label: string): Promise<string> {
  await mkdir(root, { recursive: true })
  return mkdtemp(join(root, `${HOST}.${process.pid}.${label}-`))
}

/** Removes the folders of killed processes of this machine, and every folder older than a day. Returns their number. */
export async function sweepScratch(root: string): Promise<number> {
  const now = Date.now()
  const names = await readdir(root).catch(() => [])
  const startedAt = now - process.uptime() * 1_000
  let removed = 0
  for (const name of names) {
    const path = join(root, name)
    const made = await stat(path).then(
      (found) => found.birthtimeMs || found.ctimeMs,
      () => now,
    )
    const [host, pid] = name.split('.')
    // Process ids are reused: a folder older than this process belonged to another one.
    const orphaned = host === HOST && (Number(pid) === process.pid ? made < startedAt - 1_000 : !isAlive(Number(pid)))
    if (!orphaned && now - made < ABANDONED_MS) continue
    await rm(path, { recursive: true, force: true })
    removed++
  }
  return removed
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
