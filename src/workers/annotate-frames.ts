import { type Db, isConnectionLoss } from '../db/client.ts'
import type { FrameRow } from '../db/schema/frames.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { clearAnnotatorProblem, recordAnnotatorProblem } from '../library/annotator/active-annotator.ts'
import { openLedger, type SpendingRules } from '../library/annotator/vision-spending.ts'
import { loadAwaiting, recordAnnotations } from '../library/frames/record-annotations.ts'
import { loadVocabulary } from '../library/techniques/vocabulary.ts'
import { findVideo } from '../library/videos/videos.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { JobData } from '../queue/jobs.ts'
import { type Handlers, type JobContext, RetryAfter } from '../queue/work.ts'
import {
  type Annotator,
  AnnotatorUnavailable,
  type FrameAnnotation,
  type FrameToAnnotate,
  type VideoContext,
} from '../vision/annotator.ts'
import type { Tone } from '../vocabulary.ts'
import type { FaultPoint } from './fault-point.ts'

export interface AnnotateDeps {
  db: Db
  store: MediaStore
  annotator: Annotator
  logger: Logger
  faultPoint: FaultPoint
  /**
   * The budgets. The frames of a video that has used up its own keep what is measured. Once the day's budget is used
   * up, everything waits.
   */
  spending: SpendingRules | undefined
}

/** A call that was sent is charged, so it is not aborted: it ends by itself, or when the stop closes the annotator. */
const NEVER = new AbortController().signal

/** How often a job checks whether its video was cancelled or deleted: no further call begins after about this time. */
const CANCEL_CHECK_MS = 1_000

/** Describes a few frames of one video. Every paid answer is stored at once; frames already described are skipped. */
export function annotateFrames(deps: AnnotateDeps): Handlers['annotate-frames'] {
  const { db, annotator, logger, faultPoint } = deps

  return async (data, context) => {
    const { videoId, revision, frameIds, annotator: wanted } = data
    if (wanted !== annotator.version) {
      // The job is for another worker's annotator, or from before a change of settings. The reconciler creates a new
      // one.
      logger.info({ videoId, wanted, active: annotator.version }, 'job targets another annotator version')
      return
    }
    const video = await findVideo(db, videoId)
    if (!video || video.revision !== revision || !takesAnswers(video, wanted)) return
    const rows = await loadAwaiting(db, video, wanted, frameIds)
    if (rows.length === 0) return
    faultPoint('annotate-begun')
    const watch = watchRevision(db, videoId, revision)
    try {
      await describe(deps, { video, rows, watch, stop: context.signal })
    } catch (error) {
      if (watch.superseded.aborted) {
        logger.info({ videoId, revision }, 'annotation superseded')
        return
      }
      await handleFailure(deps, { video, data, context }, error)
    } finally {
      watch.end()
    }
  }
}

function takesAnswers(video: VideoRow, wanted: string): boolean {
  return video.status === 'ready' || (video.status === 'annotating' && video.annotator === wanted)
}

async function describe(
  deps: AnnotateDeps,
  given: {
    video: VideoRow
    rows: readonly FrameRow[]
    watch: RevisionWatch
    stop: AbortSignal
  },
): Promise<void> {
  const { db, annotator, spending, faultPoint } = deps
  const { video, watch, stop } = given
  const record = (list: FrameAnnotation[]) => recordAnswers(deps, video, list)
  const signal = AbortSignal.any([stop, watch.superseded])
  const began = new Date()
  const techniques = (await loadVocabulary(db)).active
  const { frames, lost } = await loadImages(deps.store, given.rows)
  const stored = new Set<string>()
  const { annotations } = await annotator.annotate(toContext(video), frames, {
    signal,
    abortCalls: NEVER,
    techniques,
    async onAnnotated(annotation) {
      if (!(await record([annotation]))) watch.stopNow()
      stored.add(annotation.frameId)
    },
    ledger: spending && openLedger(db, spending, video.id),
  })
  faultPoint('annotate-answered')
  await record([...annotations.filter((annotation) => !stored.has(annotation.frameId)), ...lost.map(imageMissing)])
  faultPoint('annotate-recorded')
  await clearAnnotatorProblem(db, began)
}

function recordAnswers({ db, annotator }: AnnotateDeps, { id, revision }: VideoRow, list: FrameAnnotation[]) {
  const { version, model } = annotator
  return recordAnnotations(db, { videoId: id, revision, annotator: version, model, list })
}

/** Throws RetryAfter to wait, or the error itself to retry. */
async function handleFailure(
  deps: AnnotateDeps,
  { video, data, context }: { video: VideoRow; data: JobData<'annotate-frames'>; context: JobContext },
  error: unknown,
): Promise<never> {
  const { db, logger } = deps
  if (error instanceof AnnotatorUnavailable) {
    await recordAnnotatorProblem(db, { code: error.code, message: error.message })
    throw new RetryAfter(error.code, error.retryAfterMs)
  }
  if (context.lastAttempt && !context.signal.aborted && !isConnectionLoss(error)) {
    // Every frame needs an answer before the video is ready. A re-annotation may ask about these again.
    logger.error({ err: error, videoId: video.id }, 'annotation failed')
    const missing = await loadAwaiting(db, video, data.annotator, data.frameIds)
    const answers = missing.map((row) => failed(row.id, 'annotator_failed'))
    await recordAnswers(deps, video, answers)
  }
  throw error
}

const imageMissing = (frameId: string) => failed(frameId, 'image_missing')

export function toContext({ id, title, author, durationSec }: VideoRow): VideoContext {
  return { id, title, author, durationSec: durationSec ?? 0 }
}

/** Frames with their pictures. `lost`: ids of those whose image is missing. */
export async function loadImages(store: MediaStore, rows: readonly FrameRow[]) {
  const frames: FrameToAnnotate[] = []
  const lost: string[] = []
  for (const row of rows) {
    const frame = await loadFrame(store, row)
    if (frame) frames.push(frame)
    else lost.push(row.id)
  }
  return { frames, lost }
}

async function loadFrame(store: MediaStore, row: FrameRow): Promise<FrameToAnnotate | undefined> {
  const image = await store.get(row.imageKey)
  if (!image) return undefined
  return {
    id: row.id,
    tSec: row.tMs / 1000,
    kind: row.kind,
    image,
    imageSha256: row.imageSha256,
    width: row.width,
    height: row.height,
    luma: row.luma,
    tone: row.tone as Tone,
    motion: row.motion,
    reason: row.reason,
    rest: row.rest,
  }
}

function failed(frameId: string, reason: string): FrameAnnotation {
  return { frameId, status: 'failed', reason, values: {}, issues: [] }
}

type RevisionWatch = ReturnType<typeof watchRevision>

/** Aborts when the video is cancelled, retried or deleted while its frames are described. */
function watchRevision(db: Db, videoId: string, revision: number) {
  const controller = new AbortController()
  const stopNow = () => controller.abort(new Error('superseded'))
  const timer = setInterval(async () => {
    // An unavailable database says nothing about the video.
    const video = await findVideo(db, videoId).catch(() => null)
    if (video !== null && video?.revision !== revision) stopNow()
  }, CANCEL_CHECK_MS)
  return { superseded: controller.signal, stopNow, end: () => clearInterval(timer) }
}
