import { type Child, ChildLost, startChild } from '../../processes/child.ts'
import { oneAtATime } from '../../turns.ts'
import {
  type AnnotateOptions,
  type AnnotationRun,
  type Annotator,
  AnnotatorUnavailable,
  type FrameAnnotation,
  type FrameToAnnotate,
  type VideoContext,
} from '../annotator.ts'
import { plainText } from '../plain-text.ts'
import { measuredAs } from './identity.ts'
import type { FrameTiming, Measured, MeasureRequest, MeterOptions } from './measure-frame.ts'

export interface MeasuringAnnotatorOptions {
  /** How long the process stays after its last frame (default a minute). */
  idleMs?: number
  /** The environment of the process, beside what every child has. */
  env?: Readonly<Record<string, string>>
  /** Models that read beside the package's own, as files whose letters stand beside them. */
  models?: readonly string[]
  /** Longest reading of one picture (default 60 s; it usually takes one). After it the frame's text stays unknown. */
  readTimeoutMs?: number
  /** For benchmarks. */
  onTimed?: (timing: FrameTiming) => void
}

type Film = Pick<VideoContext, 'durationSec'>

const ENTRY = new URL('./measuring-process.ts', import.meta.url)
const IDLE_MS = 60_000
/** Longest measuring of one picture beside reading. The first one loads the models. */
const MEASURE_TIMEOUT_MS = 120_000
/** The delay before a process that could not start is started again. */
const START_RETRY_MS = 60_000

/**
 * The annotator that needs neither a vision model nor a key. It fills what can be measured, read or concluded by a sure
 * rule, and leaves the rest null with the reason. It works in a process of its own, whose models take some 700 MB. They
 * load with the first frame. The process ends after a minute without one, so that the memory returns to the machine.
 */
export function openMeasuringAnnotator(options: MeasuringAnnotatorOptions = {}): Annotator {
  const { idleMs = IDLE_MS, env, models = [], readTimeoutMs = 60_000, onTimed } = options
  const timeoutMs = MEASURE_TIMEOUT_MS + readTimeoutMs
  let measurer: Child<MeasureRequest, Measured, never> | undefined
  let runs = 0
  let idle: NodeJS.Timeout | undefined
  const run = oneAtATime()

  async function measure(frame: FrameToAnnotate, given: AnnotateOptions & Film): Promise<FrameAnnotation> {
    const { signal, techniques, durationSec } = given
    signal.throwIfAborted()
    if (!measurer || measurer.isLost)
      measurer = startChild(ENTRY, { args: [JSON.stringify({ models, readTimeoutMs } satisfies MeterOptions)], env })
    const request = { frame: { ...frame, image: frame.image.toString('base64') }, techniques, durationSec }
    try {
      const { annotation, timing } = await measurer.call(request, { signal, timeoutMs })
      onTimed?.(timing)
      return annotation
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ChildLost)) return toFailure(frame, error as Error)
      if (!error.wasReady) throw cannotStart(error.cause as Error)
      if (error.timedOut) return toFailure(frame, new Error(`measuring took longer than ${timeoutMs} ms`))
      throw new Error('the measuring process ended', { cause: error.cause })
    }
  }

  async function measureAll(
    frames: readonly FrameToAnnotate[],
    given: AnnotateOptions & Film,
  ): Promise<FrameAnnotation[]> {
    const annotations: FrameAnnotation[] = []
    for (const frame of frames) {
      const annotation = await run(() => measure(frame, given))
      await given.onAnnotated?.(annotation)
      annotations.push(annotation)
    }
    return annotations
  }

  const end = () => measurer?.kill()

  return {
    ...measuredAs(models),
    async annotate({ durationSec }: VideoContext, frames, given): Promise<AnnotationRun> {
      given.signal.throwIfAborted()
      clearTimeout(idle)
      runs++
      try {
        return { annotations: await measureAll(frames, { ...given, durationSec }), calls: [] }
      } finally {
        if (--runs === 0) idle = setTimeout(end, idleMs).unref()
      }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle)
      end()
    },
  }
}

function toFailure({ id }: FrameToAnnotate, { message }: Error): FrameAnnotation {
  const reason = plainText(`could not be measured: ${message}`, 300)
  return { frameId: id, status: 'failed', reason, values: {}, issues: [] }
}

function cannotStart(cause: Error): AnnotatorUnavailable {
  const message = `The measuring annotator cannot start: ${cause.message}`
  return new AnnotatorUnavailable('cannot_start', message, START_RETRY_MS)
}
