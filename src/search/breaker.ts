import { AppError } from '../errors.ts'
import { inTime } from '../turns.ts'

const REST_MS = 5_000
/** Each answer in time leaves this share of what late ones count. Two late in a row, or three of six, are enough. */
const FADING = 0.8
const TOO_LATE = 2

/** There was no answer in time, or only a part of one. Once is no reason to leave an engine. */
export class Late extends Error {}

export interface BreakerOptions {
  /** Longest wait for an answer. */
  patienceMs: number
  now?: () => number
  onLeft(error: unknown): void
  onBack(): void
}

/** Asks an engine that may fail. Undefined: it did not answer, and another engine must. */
export type Breaker = <T>(question: () => Promise<T>) => Promise<T | undefined>

/**
 * After a failure, or answers that are late too often, the engine rests. Then one question tries it, and the others do
 * not wait for that. An AppError is the caller's mistake and no failure.
 */
export function openBreaker({ patienceMs, now = () => performance.now(), onLeft, onBack }: BreakerOptions): Breaker {
  let restsUntil: number | undefined
  let late = 0
  return async (question) => {
    const isTrial = restsUntil !== undefined
    if (restsUntil !== undefined) {
      if (now() < restsUntil) return undefined
      restsUntil = now() + REST_MS
    }
    try {
      const answer = await inTime(
        question(),
        patienceMs,
        () => new Late(`No answer came within ${Math.round(patienceMs)} ms.`),
      )
      late *= FADING
      if (isTrial) {
        restsUntil = undefined
        // An engine that is still slow is left again at once.
        late = TOO_LATE / 2
        onBack()
      }
      return answer
    } catch (error) {
      if (error instanceof AppError) throw error
      if (error instanceof Late && !isTrial && ++late < TOO_LATE) return undefined
      if (restsUntil === undefined) onLeft(error)
      restsUntil = now() + REST_MS
      return undefined
    }
  }
}
