import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/client.ts'
import type { FrameRow } from '../db/schema/frames.ts'
import { openBooks, type SpendingRules, settleCall } from '../library/annotator/vision-spending.ts'
import { loadVocabulary, toTerm } from '../library/techniques/vocabulary.ts'
import { requireVideo } from '../library/videos/videos.ts'
import type { MediaStore } from '../media/media-store.ts'
import {
  type Annotator,
  type AnnotatorCall,
  AnnotatorUnavailable,
  type FrameAnnotation,
  type FrameToAnnotate,
  type TechniqueTerm,
  type VideoContext,
} from '../vision/annotator.ts'
import { loadImages, toContext } from './annotate-frames.ts'

/** The longest that an evaluation waits, summed over all pauses that the endpoint asks for. */
const MAX_WAIT_MS = 5 * 60_000
/** Problems that a pause can end. A wrong key and a spent budget are not among them. */
const PASSING = new Set(['rate_limited', 'breaker_open', 'unreachable'])

/** One model's answers about the sample. Nothing in the library changes; the calls are booked. */
export interface ModelRun {
  model: string
  answers: Map<string, FrameAnnotation>
  calls: AnnotatorCall[]
  /** Why some frames have no answer; null when all have one. */
  stopped: { code: string; message: string } | null
}

interface VideoSample {
  context: VideoContext
  frames: FrameToAnnotate[]
}

export interface EvaluationSample {
  videos: VideoSample[]
  techniques: TechniqueTerm[]
}

/** The pictures of the frames, by video. Frames without a picture are left out. */
export async function loadSample(db: Db, store: MediaStore, rows: readonly FrameRow[]): Promise<EvaluationSample> {
  const videos: VideoSample[] = []
  for (const [videoId, list] of Map.groupBy(rows, (row) => row.videoId)) {
    const context = toContext(await requireVideo(db, videoId))
    const { frames } = await loadImages(store, list)
    videos.push({ context, frames })
  }
  return { videos, techniques: (await loadVocabulary(db)).active.map(toTerm) }
}

/**
 * Asks a model about the sample. Every call is in the books, and the budget of the day holds: once it is spent the run
 * ends with what it has. Pauses that the endpoint asks for are waited for, five minutes in all.
 */
export async function askModel(
  db: Db,
  { annotator, sample, rules }: { annotator: Annotator; sample: EvaluationSample; rules: SpendingRules },
): Promise<ModelRun> {
  const run: ModelRun = { model: annotator.model, answers: new Map(), calls: [], stopped: null }
  const deadline = Date.now() + MAX_WAIT_MS
  const booksOf = (videoId: string) =>
    openBooks(db, {
      rules,
      videoId,
      apart: true,
      async settle(id, call) {
        run.calls.push(call)
        await settleCall(db, id, videoId, call)
      },
    })

  async function askAbout({ context, frames }: VideoSample): Promise<void> {
    for (;;) {
      const open = frames.filter(({ id }) => !run.answers.has(id))
      if (open.length === 0 || run.stopped) return
      try {
        await annotator.annotate(context, open, {
          signal: new AbortController().signal,
          techniques: sample.techniques,
          onAnnotated: async (annotation) => void run.answers.set(annotation.frameId, annotation),
          books: booksOf(context.id),
        })
      } catch (error) {
        if (!(error instanceof AnnotatorUnavailable)) throw error
        const { code, message, retryAfterMs } = error
        if (!PASSING.has(code) || Date.now() + retryAfterMs > deadline) run.stopped = { code, message }
        else await sleep(retryAfterMs)
      }
    }
  }

  const results = await Promise.allSettled(sample.videos.map(askAbout))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return run
}
