import type { Db } from '../db/client.ts'
import { costsOf, loadUnannotated, recordAnnotations, recordVisionCall } from '../library/annotations.ts'
import { loadVocabulary, toTerm } from '../library/techniques.ts'
import { findVideo } from '../library/videos.ts'
import type { Logger } from '../logger.ts'
import { type Handlers, Later } from '../queue/work.ts'
import type { FrameStore } from '../video/frame-store.ts'
import { type Annotator, AnnotatorUnavailable, type FrameAnnotation, type FrameToAnnotate } from '../vision/annotator.ts'
import type { Tone } from '../vocabulary.ts'
import type { Reached } from './faults.ts'

export interface AnnotateDeps {
  db: Db
  store: FrameStore
  annotator: Annotator
  logger: Logger
  reached: Reached
  /** Notes that nothing can be asked (a wrong key, a spent budget), for people to see; null when it works again. */
  reportStatus: (status: { code: string; message: string } | null) => Promise<void>
  /** US dollars that may be spent; a video over its own ends without the rest of its descriptions, over the day's everything waits. */
  budget?: { perVideo: number | undefined; perDay: number | undefined } | undefined
}

/** How soon a spent daily budget is looked at again: the last 24 hours move on. */
const BUDGET_WAIT_MS = 10 * 60_000

/** Describes a few frames of one video. What is paid for is stored at once; frames already done are passed over. */
export function annotateFrames({ db, store, annotator, logger, reached, reportStatus, budget }: AnnotateDeps): Handlers['annotate-frames'] {
  return async ({ videoId, frameIds, annotator: wanted }, { signal, lastAttempt }) => {
    if (wanted !== annotator.version) {
      // Another worker's annotator, or one of yesterday's settings: the reconciler asks again under the present name.
      logger.info({ videoId, wanted, present: annotator.version }, 'annotation wants another annotator')
      return
    }
    const video = await findVideo(db, videoId)
    if (!video || video.annotator !== wanted || (video.status !== 'annotating' && video.status !== 'ready')) return
    const rows = await loadUnannotated(db, videoId, wanted, frameIds)
    if (rows.length === 0) return
    reached('annotate-begun')
    const techniques = (await loadVocabulary(db)).active.map(toTerm)
    const record = (list: FrameAnnotation[]) => recordAnnotations(db, { videoId, annotator: wanted, model: annotator.model, list })
    const stored = new Set<string>()
    try {
      if (budget?.perDay !== undefined && (await costsOf(db)).cost_usd >= budget.perDay) {
        throw new AnnotatorUnavailable('budget_spent', `The budget of $${budget.perDay} for 24 hours is spent.`, BUDGET_WAIT_MS)
      }
      if (budget?.perVideo !== undefined && (await costsOf(db, videoId)).cost_usd >= budget.perVideo) {
        await record(rows.map((row) => ({ frameId: row.id, status: 'failed', reason: 'video_budget_spent', values: {}, issues: [] })))
        return
      }
      const frames: FrameToAnnotate[] = []
      const lost: FrameAnnotation[] = []
      for (const row of rows) {
        const image = await store.get(row.imageKey)
        if (!image) lost.push({ frameId: row.id, status: 'failed', reason: 'image_missing', values: {}, issues: [] })
        else
          frames.push({
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
          })
      }
      const { annotations } = await annotator.annotate(
        { id: videoId, title: video.title, author: video.author, durationSec: video.durationSec ?? 0 },
        frames,
        {
          signal,
          techniques,
          async onAnnotated(annotation) {
            await record([annotation])
            stored.add(annotation.frameId)
          },
          onCall: (call) => recordVisionCall(db, videoId, call),
        },
      )
      reached('annotate-answered')
      await record([...annotations.filter((annotation) => !stored.has(annotation.frameId)), ...lost])
      reached('annotate-recorded')
      await reportStatus(null)
    } catch (error) {
      if (error instanceof AnnotatorUnavailable) {
        await reportStatus({ code: error.code, message: error.message })
        throw new Later(error.code, error.retryAfterMs)
      }
      if (signal.aborted) throw new Later('the worker stops', 100)
      if (lastAttempt) {
        // The count must close: these frames end with their reason, and a re-annotation may ask again.
        logger.error({ err: error, videoId }, 'annotation failed')
        const missing = await loadUnannotated(db, videoId, wanted, frameIds)
        await record(missing.map((row) => ({ frameId: row.id, status: 'failed', reason: 'annotator_failed', values: {}, issues: [] })))
      }
      throw error
    }
  }
}
