import type { Db } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import type { FrameRow } from '../db/schema/frames.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { clearAnnotatorProblem, recordAnnotatorProblem } from '../library/annotator/annotator-status.ts'
import { costsOf, expectedCostOf, recordVisionCall } from '../library/annotator/vision-spending.ts'
import { loadAwaiting, recordAnnotations } from '../library/frames/record-annotations.ts'
import { loadVocabulary, toTerm } from '../library/techniques/vocabulary.ts'
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
} from '../vision/annotator.ts'
import type { Tone } from '../vocabulary.ts'
import type { FaultPoint } from './fault-point.ts'

export interface AnnotateDeps {
  db: Db
  store: MediaStore
  annotator: Annotator
  /** Describes frames without a paid call, for videos that have spent their budget. */
  measuringAnnotator?: Annotator | undefined
  logger: Logger
  faultPoint: FaultPoint
  /**
   * US dollars. A video that has spent its own budget gets no further descriptions. `admit` throws once the day's
   * budget is spent, and then everything waits. Calls in flight count at their expected cost.
   */
  budget?: { perVideo: number | undefined; admit: Admit | undefined } | undefined
}

/** @throws AnnotatorUnavailable when one more call must not be paid for. */
export type Admit = (concurrentBefore: number) => Promise<void>

/** How often a job checks whether its video was cancelled or deleted: no further call begins after about this time. */
const CANCEL_CHECK_MS = 1_000

/** Describes a few frames of one video. Every paid answer is stored at once; frames already described are skipped. */
export function annotateFrames(deps: AnnotateDeps): Handlers['annotate-frames'] {
  const { db, annotator, logger, faultPoint } = deps
  /** This process's jobs that may be paying for a video, by its id. */
  const paying = new Map<string, number>()

  return async (data, context) => {
    const { videoId, revision, frameIds, annotator: wanted } = data
    if (wanted !== annotator.version) {
      // For another worker's annotator, or from before a change of settings: the reconciler creates a new job.
      logger.info({ videoId, wanted, active: annotator.version }, 'job targets another annotator version')
      return
    }
    const video = await findVideo(db, videoId)
    if (!video || video.revision !== revision || !takesAnswers(video, wanted)) return
    const rows = await loadAwaiting(db, video, wanted, frameIds)
    if (rows.length === 0) return
    faultPoint('annotate-begun')
    const concurrentBefore = paying.get(videoId) ?? 0
    paying.set(videoId, concurrentBefore + 1)
    const watch = watchRevision(db, videoId, revision)
    try {
      await describe(deps, { video, rows, watch, concurrentBefore, stop: context.signal })
    } catch (error) {
      if (watch.superseded.aborted) {
        logger.info({ videoId, revision }, 'annotation superseded')
        return
      }
      await handleFailure(deps, { video, data, context }, error)
    } finally {
      watch.end()
      const left = paying.get(videoId)! - 1
      if (left > 0) paying.set(videoId, left)
      else paying.delete(videoId)
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
    concurrentBefore: number
    stop: AbortSignal
  },
): Promise<void> {
  const { db, annotator, budget, faultPoint } = deps
  const { video, watch, stop } = given
  const record = (list: FrameAnnotation[]) => recordAnswers(deps, video, list)
  const signal = AbortSignal.any([stop, watch.superseded])
  const began = new Date()
  const techniques = (await loadVocabulary(db)).active.map(toTerm)
  const { frames, lost } = await loadImages(deps.store, given.rows)
  const context = { id: video.id, title: video.title, author: video.author, durationSec: video.durationSec ?? 0 }
  if (await hasSpentItsBudget(deps, video.id, given.concurrentBefore)) {
    const measured = await deps.measuringAnnotator?.annotate(context, frames, { signal, techniques })
    await record([...frames.map((frame) => unpaid(frame, measured?.annotations)), ...lost])
    return
  }
  await budget?.admit?.(0)
  const stored = new Set<string>()
  const { annotations } = await annotator.annotate(context, frames, {
    signal,
    // A call in flight is paid for even when its video is gone, so only a stopping worker aborts it.
    abortCalls: stop,
    techniques,
    async onAnnotated(annotation) {
      if (!(await record([annotation]))) watch.stopNow()
      stored.add(annotation.frameId)
    },
    onCall: (call) => recordVisionCall(db, video.id, call),
  })
  faultPoint('annotate-answered')
  await record([...annotations.filter((annotation) => !stored.has(annotation.frameId)), ...lost])
  faultPoint('annotate-recorded')
  await clearAnnotatorProblem(db, began)
}

function recordAnswers({ db, annotator }: AnnotateDeps, { id, revision }: VideoRow, list: FrameAnnotation[]) {
  const { version, model } = annotator
  return recordAnnotations(db, { videoId: id, revision, annotator: version, model, list })
}

async function hasSpentItsBudget(
  { db, annotator, budget }: AnnotateDeps,
  videoId: string,
  concurrentBefore: number,
): Promise<boolean> {
  if (budget?.perVideo === undefined) return false
  const { cost_usd } = await costsOf(db, videoId)
  return cost_usd + (await expectedCostOf(db, annotator.model, concurrentBefore)) >= budget.perVideo
}

/** Throws what the queue must do next: wait, or retry. */
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

async function loadImages(store: MediaStore, rows: readonly FrameRow[]) {
  const frames: FrameToAnnotate[] = []
  const lost: FrameAnnotation[] = []
  for (const row of rows) {
    const image = await store.get(row.imageKey)
    if (image) frames.push(toFrame(row, image))
    else lost.push(failed(row.id, 'image_missing'))
  }
  return { frames, lost }
}

export function toFrame(row: FrameRow, image: Buffer): FrameToAnnotate {
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
    phash: row.phash,
    reason: row.reason,
  }
}

function failed(frameId: string, reason: string): FrameAnnotation {
  return { frameId, status: 'failed', reason, values: {}, issues: [] }
}

/** The measured values of a frame whose video has spent its budget. */
function unpaid(frame: FrameToAnnotate, measured: readonly FrameAnnotation[] | undefined): FrameAnnotation {
  const known = measured?.find((annotation) => annotation.frameId === frame.id)
  return { ...failed(frame.id, 'video_budget_spent'), ...(known ? { values: known.values, issues: known.issues } : {}) }
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
