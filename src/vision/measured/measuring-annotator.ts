import { Worker } from 'node:worker_threads'
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
import { describeFrame } from './describe-frame.ts'
import { ENGLISH, measuredAs, type ReadingLanguages } from './identity.ts'
import type { Measurement, MeasureReply } from './measure-worker.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { openTextReader, type Word } from './read-text.ts'

/** Longest measuring of one picture, faces included. */
const MEASURE_TIMEOUT_MS = 120_000

export interface MeasuringAnnotatorOptions {
  /** Longest reading of one picture (default 60 s; it usually takes one). After it the frame's text stays unknown. */
  readTimeoutMs?: number
  /** Default: English. */
  languages?: ReadingLanguages
  /** For benchmarks. */
  onTimed?: (timing: FrameTiming) => void
}

export interface FrameTiming {
  frameId: string
  totalMs: number
  /** The face detector's pass over the whole picture. */
  facePassMs: number
  /** Preparing and reading; 0 when the frame holds no text and was not read. */
  readMs: number
  read: boolean
}

/**
 * The annotator that needs neither a vision model nor a key. It fills what can be measured, read or concluded by a sure
 * rule, and leaves the rest null with the reason. One worker thread measures faces and pixels, another reads text. Both
 * load once, on the first frame, while the calling thread waits. They take about 500 MB, 400 with `CHILD_ENV`.
 */
export async function openMeasuringAnnotator(options: MeasuringAnnotatorOptions = {}): Promise<Annotator> {
  const meter = openMeter(MEASURE_TIMEOUT_MS)
  const languages = options.languages ?? ENGLISH
  const reader = openTextReader({ timeoutMs: options.readTimeoutMs ?? 60_000, languages })

  async function annotateFrame(
    frame: FrameToAnnotate,
    { signal, techniques }: AnnotateOptions,
  ): Promise<FrameAnnotation> {
    const start = performance.now()
    const measured = await meter.measure(frame.image, signal)
    let words: Word[] | null = []
    let readMs = 0
    if (measured.reading) {
      const readStart = performance.now()
      words = await reader.read(measured.reading, signal)
      readMs = measured.reading.preparedMs + performance.now() - readStart
    }
    options.onTimed?.({
      frameId: frame.id,
      totalMs: performance.now() - start,
      facePassMs: measured.faces.passMs,
      readMs,
      read: measured.reading !== null,
    })
    return describeFrame(frame, measured, { words, languages: languages.codes }, techniques)
  }

  return {
    ...measuredAs(languages.codes),
    async annotate(
      _video: VideoContext,
      frames: readonly FrameToAnnotate[],
      annotateOptions: AnnotateOptions,
    ): Promise<AnnotationRun> {
      const annotations: FrameAnnotation[] = []
      for (const frame of frames) {
        annotateOptions.signal.throwIfAborted()
        const annotation = await annotateFrame(frame, annotateOptions).catch((error: unknown) => {
          annotateOptions.signal.throwIfAborted()
          if (error instanceof AnnotatorUnavailable) throw error
          return toFailure(frame, error)
        })
        await annotateOptions.onAnnotated?.(annotation)
        annotations.push(annotation)
      }
      return { annotations, calls: [] }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([meter[Symbol.asyncDispose](), reader[Symbol.asyncDispose]()])
    },
  }
}

/** The delay before a measuring thread that could not start is started again. */
const START_RETRY_MS = 60_000

function toFailure(frame: FrameToAnnotate, error: unknown): FrameAnnotation {
  const reason = error instanceof Error ? error.message : String(error)
  return {
    frameId: frame.id,
    status: 'failed',
    reason: plainText(`could not be measured: ${reason}`, 300),
    values: {},
    issues: [],
  }
}

function cannotStart(cause: Error): AnnotatorUnavailable {
  const message = `The measuring annotator cannot start: ${cause.message}`
  return new AnnotatorUnavailable('cannot_start', message, START_RETRY_MS)
}

/**
 * The worker thread that decodes and finds faces. It starts with the first picture, and again after it died or hung.
 */
function openMeter(timeoutMs: number) {
  const waiting = new Map<number, Pick<PromiseWithResolvers<Measurement>, 'resolve' | 'reject'>>()
  let worker: Worker | undefined
  let nextId = 1
  const run = oneAtATime()

  function start(): Worker {
    const started = new Worker(new URL('./measure-worker.ts', import.meta.url))
    let ready = false
    started.unref()
    started.on('message', (reply: MeasureReply) => {
      if (reply === 'ready') {
        ready = true
        return
      }
      const asked = waiting.get(reply.id)
      waiting.delete(reply.id)
      if ('error' in reply) asked?.reject(new Error(reply.error))
      else asked?.resolve(reply.measurement)
    })
    started.on('error', (error: unknown) => {
      const cause = error instanceof Error ? error : new Error(String(error))
      // A thread that never started is the installation's fault, not the picture's: the frames wait.
      lose(started, ready ? cause : cannotStart(cause))
    })
    started.on('exit', () => lose(started, new Error('the measuring thread ended')))
    return started
  }

  function lose(lost: Worker, error: Error) {
    if (worker !== lost) return
    worker = undefined
    void lost.terminate()
    for (const asked of waiting.values()) asked.reject(error)
    waiting.clear()
  }

  async function ask(image: Uint8Array, signal: AbortSignal): Promise<Measurement> {
    signal.throwIfAborted()
    worker ??= start()
    const asked = worker
    asked.ref()
    const id = nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Measurement>()
    waiting.set(id, { resolve, reject })
    const timer = setTimeout(() => lose(asked, new Error(`measuring took longer than ${timeoutMs} ms`)), timeoutMs)
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
    try {
      asked.postMessage({ id, image })
      return await promise
    } finally {
      waiting.delete(id)
      asked.unref()
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  return {
    measure: (image: Uint8Array, signal: AbortSignal) => run(() => ask(image, signal)),
    async [Symbol.asyncDispose]() {
      const stopping = worker
      if (stopping) lose(stopping, new Error('closed'))
      await stopping?.terminate()
    },
  }
}
