import { AnnotatorUnavailable, type ReservedCall } from '../annotator.ts'
import { type ParsedAnswer, parseAnswer } from './answer.ts'
import type { Endpoint, ModelReply } from './endpoint.ts'
import { misconfigured, toMending } from './endpoint-error.ts'
import type { ServerOptions } from './http.ts'
import type { ModelRequest } from './wire-forms.ts'

/**
 * After this many rejections of single frames in a row, no frame will be taken. Parallel batches of frames that are
 * bad by themselves reach about half of it at worst.
 */
const REJECTED_IN_A_ROW = 32

export interface CallLimiter {
  /** Waits for the right to make one call. Rejects when the signal fires. `release` is idempotent. */
  acquire(signal: AbortSignal): Promise<{ release(): void }>
}

interface Call {
  request: ModelRequest
  frameCount: number
  /** Of prompt and answer, for a server that takes it with each call. */
  window: number | undefined
  /** Ends the wait for the limiter. */
  signal: AbortSignal
  /** Aborts the call in flight. */
  abortCalls: AbortSignal
  /** Reserves the call, once the limiter lets it through. @throws when it must not be paid for */
  reserve(): Promise<ReservedCall | undefined>
  /** Records what the call cost. */
  record(reserved: ReservedCall | undefined, reply: ModelReply, parsed: ParsedAnswer, durationMs: number): Promise<void>
}

export interface CallResult {
  reply: ModelReply
  parsed: ParsedAnswer
  /** Settles when the cost is recorded. */
  recorded: Promise<void>
}

/** Lets calls through to the endpoint: limiter, ledger and breaker, and one shared pause while it is unavailable. */
export function openCallGate({
  endpoint,
  limiter,
  breaker,
  asked,
}: {
  endpoint: Endpoint
  asked: ServerOptions
  limiter: CallLimiter
  breaker: ReturnType<typeof createBreaker>
}) {
  /** One 429 or one refused key is enough to pause all calls of this process. */
  let pause: { error: AnnotatorUnavailable; until: number } | undefined
  let rejectedInARow = 0

  /** @throws AnnotatorUnavailable while a call is pointless */
  function checkAvailable(): void {
    if (!pause) return
    const waitMs = pause.until - Date.now()
    if (waitMs > 0) throw new AnnotatorUnavailable(pause.error.code, pause.error.message, waitMs)
    pause = undefined
  }

  function enterBreaker(): void {
    const waitMs = breaker.enter()
    if (waitMs > 0)
      throw new AnnotatorUnavailable(
        'breaker_open',
        'The vision endpoint failed too many times in a row. Calls resume after a pause.',
        waitMs,
      )
  }

  async function askEndpoint({ request, frameCount, abortCalls, window }: Call): Promise<ModelReply> {
    try {
      const reply = await endpoint.ask(request, { signal: abortCalls, window })
      if (reply.kind === 'failed') breaker.failed()
      else breaker.succeeded()
      // A request with several frames may be too large. It is halved and does not count.
      if (reply.kind === 'rejected' && frameCount === 1) rejectedInARow++
      else if (reply.kind === 'text' || reply.kind === 'refused') rejectedInARow = 0
      if (reply.kind === 'rejected' && rejectedInARow >= REJECTED_IN_A_ROW)
        throw misconfigured(
          `The vision endpoint rejects every request (${reply.reason}). ${toMending(asked, 'pictures')}`,
        )
      return reply
    } catch (error) {
      breaker.left()
      if (error instanceof AnnotatorUnavailable) pause = { error, until: Date.now() + error.retryAfterMs }
      throw error
    }
  }

  return {
    checkAvailable,
    /** One call within the limits. */
    async ask(call: Call): Promise<CallResult> {
      const { release } = await limiter.acquire(call.signal)
      let reserved: ReservedCall | undefined
      let sent = false
      try {
        checkAvailable()
        reserved = await call.reserve()
        call.signal.throwIfAborted()
        enterBreaker()
        const start = performance.now()
        sent = true
        const reply = await askEndpoint(call)
        const durationMs = Math.round(performance.now() - start)
        const parsed = parseAnswer(reply.kind === 'text' ? reply.text : '')
        const recorded = call.record(reserved, reply, parsed, durationMs).finally(release)
        // Awaited after the answers are handed over: a failure to record must not lose what was paid for.
        recorded.catch(() => {})
        return { reply, parsed, recorded }
      } catch (error) {
        // A call that was aborted may have to be paid for. What cannot be taken back stays at its expected cost.
        if (!sent || error instanceof AnnotatorUnavailable) await reserved?.release().catch(() => {})
        release()
        throw error
      }
    },
  }
}

/**
 * Opens after `threshold` failures in a row and stays open for `coolDownMs`. Then one call is let through, and its
 * outcome closes the breaker or opens it again.
 */
export function createBreaker(threshold: number, coolDownMs: number) {
  let failures = 0
  let openUntil = 0
  let probing = false
  return {
    /** Milliseconds until a call may be made. 0 when it may be made now: then its outcome must be reported. */
    enter(): number {
      if (failures < threshold) return 0
      const wait = openUntil - Date.now()
      if (wait > 0) return wait
      if (probing) return coolDownMs
      probing = true
      return 0
    },
    succeeded() {
      failures = 0
      probing = false
    },
    failed() {
      failures++
      probing = false
      if (failures >= threshold) openUntil = Date.now() + coolDownMs
    },
    /** A call that says nothing about the endpoint's health: we stopped it, or the endpoint asked to wait. */
    left() {
      probing = false
    },
  }
}
