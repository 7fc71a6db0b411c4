import type { VisionServer } from '../../config.ts'
import {
  type AnnotateOptions,
  type AnnotationRun,
  type Annotator,
  type AnnotatorCall,
  AnnotatorUnavailable,
  type Finding,
  type FrameAnnotation,
  type FrameToAnnotate,
  faultOf,
  type TechniqueTerm,
  type VideoContext,
} from '../annotator.ts'
import type { AnswerCache } from './answer.ts'
import { type CallLimiter, createBreaker, openCallGate } from './call-gate.ts'
import { openEndpoint } from './endpoint.ts'
import { misconfigured } from './endpoint-error.ts'
import { annotateBatch, type BatchContext } from './frame-batch.ts'
import type { ServerOptions } from './http.ts'
import { inspectServer, toFindings } from './inspect.ts'
import { profileOf } from './profiles.ts'
import { PROMPT_VERSION, promptVersionOf } from './prompt.ts'
import type { ModelPrice } from './usage.ts'
import { tokensOfInstructions } from './window.ts'

export interface ModelAnnotatorOptions extends Omit<ServerOptions, 'server' | 'maxBytes'> {
  /** What the server is (default: any that speaks the OpenAI protocol). */
  server?: VisionServer
  /** `reasoning_effort` for models that reason. A server that does not accept it is asked without. */
  reasoningEffort?: string | undefined
  /** The most frames of a call, 1–8 (default 8). Fewer go where the window is smaller. */
  batchSize?: number
  /** Tokens of prompt and answer (default: as the server tells). */
  window?: number | undefined
  /** Longest wait for one answer (default: the server's). */
  timeoutMs?: number
  /** Largest answer read (default 2 MB). */
  maxBytes?: number
  /** Attempts for a frame before it fails (default 4). */
  maxAttempts?: number
  /** Wait before the second attempt (default 500 ms). It doubles with every attempt, with jitter. */
  retryDelayMs?: number
  /** Failures in a row that open the breaker (default 8), and for how long it stays open (default 60 s). */
  breakerThreshold?: number
  breakerCoolDownMs?: number
  limiter: CallLimiter
  cache?: AnswerCache | undefined
  price?: ModelPrice | undefined
}

const MOST_FRAMES = 8

/**
 * Describes frames with a vision model behind a server of any form. What has been answered is never asked again.
 * Throws `AnnotatorUnavailable` (`rate_limited`, `breaker_open`, `unreachable`, `misconfigured`, `budget_spent`) after
 * everything already paid for went through `onAnnotated`.
 */
export function openModelAnnotator(options: ModelAnnotatorOptions): Annotator {
  const { server = 'compatible' } = options
  const batchSize = Math.min(MOST_FRAMES, Math.max(1, options.batchSize ?? MOST_FRAMES))
  const closing = new AbortController()
  const room = { usual: 1 }
  const asked: ServerOptions = { ...options, server, maxBytes: options.maxBytes ?? 2 * 1024 * 1024 }
  const gate = openGate(options, asked)
  const { window, inspect, requireFit } = openServer(asked, { batchSize, set: options.window })

  async function annotate(
    video: VideoContext,
    frames: readonly FrameToAnnotate[],
    runOptions: AnnotateOptions,
  ): Promise<AnnotationRun> {
    const signal = AbortSignal.any([runOptions.signal, closing.signal])
    const abortCalls = AbortSignal.any([runOptions.abortCalls ?? runOptions.signal, closing.signal])
    signal.throwIfAborted()
    const { techniques, ledger } = runOptions
    const calls: AnnotatorCall[] = []
    const cache = openRunCache(options, techniques)
    const delivered = new Map<string, FrameAnnotation>()
    const deliver = async (annotation: FrameAnnotation) => {
      if (delivered.has(annotation.frameId)) return
      delivered.set(annotation.frameId, annotation)
      await runOptions.onAnnotated?.(annotation)
    }
    const context: BatchContext = {
      video,
      techniques,
      room,
      window,
      instructions: tokensOfInstructions(techniques),
      asked,
      maxAttempts: options.maxAttempts ?? 4,
      retryDelayMs: options.retryDelayMs ?? 500,
      signal,
      keep: cache.set,
      deliver,
      ask: (request, frames, success) =>
        gate.ask({
          request,
          frameCount: frames.length,
          window: window.given,
          signal,
          abortCalls,
          reserve: async () => ledger?.reserve(frames.length),
          async record(reserved, reply, { frames: found }, durationMs) {
            const failure = reply.kind === 'refused' ? 'refused' : 'failed'
            const outcome = found.length > 0 ? success : failure
            const frameIds = frames.map(({ frame }) => frame.id)
            const thought = reply.kind === 'text' && reply.thought
            const call = { model: options.model, frameIds, ...reply.usage, durationMs, outcome, thought }
            calls.push(call)
            await reserved?.settle(call)
          },
        }),
    }

    const open: FrameToAnnotate[] = []
    for (const frame of frames) {
      const cached = await cache.get(frame)
      if (cached) await deliver(cached)
      else open.push(frame)
    }
    if (open.length > 0) {
      gate.checkAvailable()
      await requireFit(techniques, signal)
    }
    // Batches run in parallel as far as the limiter allows. All are awaited, so that a failure of one loses nothing
    // that was paid for.
    const batches = chunk(open, batchSize).map((batch) => annotateBatch(context, batch))
    const failure = (await Promise.allSettled(batches)).find((result) => result.status === 'rejected')
    if (failure) throw failure.reason
    return { annotations: frames.map((frame) => delivered.get(frame.id)!), calls }
  }

  return {
    version: `${options.model} ${PROMPT_VERSION}`,
    model: options.model,
    batchSize,
    annotate,
    inspect: (techniques) => inspect(techniques, closing.signal),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the annotator was closed'))
    },
  }
}

/** What a server tells of its model, and the window that follows from it. */
function openServer(asked: ServerOptions, { batchSize, set }: { batchSize: number; set: number | undefined }) {
  let isFit = profileOf(asked.server).tells === undefined && set === undefined
  /** As set or told, and as far as it is known: a call may find that there is less. */
  const window = { given: set, tokens: set }

  async function look(techniques: readonly TechniqueTerm[], signal: AbortSignal): Promise<Finding[]> {
    const facts = await inspectServer(asked, signal)
    const given = set ?? facts.window
    if (given !== null && given !== window.given) Object.assign(window, { given, tokens: given })
    const instructions = tokensOfInstructions(techniques)
    return toFindings({ ...facts, window: given }, { asked, instructions, batchSize })
  }

  return {
    window,
    async inspect(techniques: readonly TechniqueTerm[], signal: AbortSignal): Promise<Finding[]> {
      return look(techniques, signal).catch((error: unknown) => {
        if (!(error instanceof AnnotatorUnavailable)) throw error
        return [{ what: 'server', told: '', fault: error.message }]
      })
    },
    /** @throws AnnotatorUnavailable for what the model lacks, before its first call */
    async requireFit(techniques: readonly TechniqueTerm[], signal: AbortSignal): Promise<void> {
      if (isFit) return
      const fault = faultOf(await look(techniques, signal))
      if (fault) throw misconfigured(fault)
      isFit = true
    },
  }
}

function openGate(options: ModelAnnotatorOptions, asked: ServerOptions) {
  const endpoint = openEndpoint({
    ...options,
    ...asked,
    timeoutMs: options.timeoutMs ?? profileOf(asked.server).timeoutMs,
  })
  return openCallGate({
    endpoint,
    asked,
    limiter: options.limiter,
    breaker: createBreaker(options.breakerThreshold ?? 8, options.breakerCoolDownMs ?? 60_000),
  })
}

/** The answer cache for one vocabulary. A failing cache counts as an empty one. */
function openRunCache({ cache, model }: ModelAnnotatorOptions, techniques: readonly TechniqueTerm[]) {
  const promptVersion = promptVersionOf(techniques)
  return {
    async get({ id, imageSha256 }: FrameToAnnotate): Promise<FrameAnnotation | undefined> {
      const cached = await cache?.get({ imageSha256, model, promptVersion }).catch(() => null)
      return cached?.status === 'annotated' ? { ...cached, frameId: id } : undefined
    },
    /** A refusal is not kept: asking again is how an operator finds out whether it still holds. */
    async set({ imageSha256 }: FrameToAnnotate, { frameId: _, ...answer }: FrameAnnotation): Promise<void> {
      if (answer.status !== 'annotated') return
      await cache?.set({ imageSha256, model, promptVersion }, answer).catch(() => {})
    },
  }
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}
