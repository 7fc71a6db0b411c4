import type { Db } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import type { FrameRow } from '../db/schema/frames.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { clearAnnotatorProblem, recordAnnotatorProblem } from '../library/annotator/annotator-status.ts'
import { averageCallOf, costsOf, recordVisionCall } from '../library/annotator/vision-spending.ts'
import { loadAwaiting, recordAnnotations } from '../library/frames/record-annotations.ts'
import { loadVocabulary, toTerm } from '../library/techniques/vocabulary.ts'
import { findVideo } from '../library/videos/videos.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { type Handlers, RetryAfter } from '../queue/work.ts'
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
  /** Describes what needs no call; for videos whose budget is spent. */
  measuringAnnotator?: Annotator | undefined
  logger: Logger
  faultPoint: FaultPoint
  /**
   * A video over its own US dollars ends without the rest of its descriptions; over the day's everything waits: `within` throws then. Calls under way count as
   * what calls usually cost.
   */
  budget?:
    | { perVideo: number | undefined; within: ((concurrentBefore: number) => Promise<void>) | undefined }
    | undefined
}

/** How often it is looked whether the video was cancelled or deleted meanwhile: no further call begins after about this long. */
const CANCEL_CHECK_MS = 1_000

/** Describes a few frames of one video. What is paid for is stored at once; frames already done are passed over. */
export function annotateFrames(deps: AnnotateDeps): Handlers['annotate-frames'] {
  const { db, store, annotator, logger, faultPoint, budget } = deps
  /** Jobs of this process that may be paying for a video at present, by its id. */
  const paying = new Map<string, number>()

  async function hasSpent(videoId: string, perVideo: number, concurrentBefore: number): Promise<boolean> {
    const { cost_usd } = await costsOf(db, videoId)
    return (
      cost_usd +
        (concurrentBefore > 0 ? concurrentBefore * ((await averageCallOf(db, annotator.model)).costUsd ?? 0) : 0) >=
      perVideo
    )
  }

  return async ({ videoId, revision, frameIds, annotator: wanted }, { signal: stop, lastAttempt }) => {
    if (wanted !== annotator.version) {
      // Another worker's annotator, or one of yesterday's settings: the reconciler asks again under the present name.
      logger.info({ videoId, wanted, present: annotator.version }, 'annotation wants another annotator')
      return
    }
    const video = await findVideo(db, videoId)
    if (!video || video.revision !== revision || !takesAnswers(video, wanted)) return
    const rows = await loadAwaiting(db, video, wanted, frameIds)
    if (rows.length === 0) return
    faultPoint('annotate-begun')
    const began = new Date()
    const record = (list: FrameAnnotation[]) =>
      recordAnnotations(db, { videoId, revision, annotator: wanted, model: annotator.model, list })
    const watch = watchRevision(db, videoId, revision)
    const signal = AbortSignal.any([stop, watch.superseded])
    const stored = new Set<string>()
    const concurrentBefore = paying.get(videoId) ?? 0
    paying.set(videoId, concurrentBefore + 1)
    try {
      const techniques = (await loadVocabulary(db)).active.map(toTerm)
      const { frames, lost } = await loadImages(store, rows)
      const context = { id: videoId, title: video.title, author: video.author, durationSec: video.durationSec ?? 0 }
      if (budget?.perVideo !== undefined && (await hasSpent(videoId, budget.perVideo, concurrentBefore))) {
        const measured = await deps.measuringAnnotator?.annotate(context, frames, { signal, techniques })
        await record([...frames.map((frame) => unpaid(frame, measured?.annotations)), ...lost])
        return
      }
      await budget?.within?.(0)
      const { annotations } = await annotator.annotate(context, frames, {
        signal,
        // A call for a video that is gone is answered and paid for all the same: it ends, and goes into the books.
        breakOff: stop,
        techniques,
        async onAnnotated(annotation) {
          if (!(await record([annotation]))) watch.stopNow()
          stored.add(annotation.frameId)
        },
        onCall: (call) => recordVisionCall(db, videoId, call),
      })
      faultPoint('annotate-answered')
      await record([...annotations.filter((annotation) => !stored.has(annotation.frameId)), ...lost])
      faultPoint('annotate-recorded')
      await clearAnnotatorProblem(db, began)
    } catch (error) {
      if (watch.superseded.aborted) {
        logger.info({ videoId, revision }, 'annotation superseded')
        return
      }
      if (error instanceof AnnotatorUnavailable) {
        await recordAnnotatorProblem(db, { code: error.code, message: error.message })
        throw new RetryAfter(error.code, error.retryAfterMs)
      }
      if (lastAttempt && !stop.aborted && !isConnectionLoss(error)) {
        // The count must close: these frames end with their reason, and a re-annotation may ask again.
        logger.error({ err: error, videoId }, 'annotation failed')
        const missing = await loadAwaiting(db, video, wanted, frameIds)
        await record(missing.map((row) => failed(row.id, 'annotator_failed')))
      }
      throw error
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

async function loadImages(store: MediaStore, rows: Awaited<ReturnType<typeof loadAwaiting>>) {
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

/** What can be known of a frame whose description would cost more than its video may. */
function unpaid(frame: FrameToAnnotate, measured: readonly FrameAnnotation[] | undefined): FrameAnnotation {
  const known = measured?.find((annotation) => annotation.frameId === frame.id)
  return { ...failed(frame.id, 'video_budget_spent'), ...(known ? { values: known.values, issues: known.issues } : {}) }
}

/** Aborts when the video is cancelled, retried or deleted while its frames are described. */
function watchRevision(db: Db, videoId: string, revision: number) {
  const controller = new AbortController()
  const stopNow = () => controller.abort(new Error('superseded'))
  const timer = setInterval(async () => {
    // A database that is away says nothing about the video.
    const video = await findVideo(db, videoId).catch(() => null)
    if (video !== null && video?.revision !== revision) stopNow()
  }, CANCEL_CHECK_MS)
  return { superseded: controller.signal, stopNow, end: () => clearInterval(timer) }
}
