import { AppError } from '../errors.ts'

const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 30_000
/**
 * When a question has waited this share of its patience, the engine itself is probed; it has the next share to answer.
 * The verdict is there before the question gives up: a dead engine costs each reader one wait, not one a question.
 */
const PROBE_AFTER = 0.5
const PROBE_WITHIN = 0.4
/** An engine that answers probes but is late in this many of the last ten questions is too slow to be asked. */
const RECENT = 10
const TOO_MANY_LATE = 3

/** There was no answer in time, or only a part of one. Once is no reason to leave an engine. */
export class Late extends Error {}

export interface BreakerOptions {
  /** Asks the first engine for a sign of life. @throws while it cannot be trusted. */
  probe(): Promise<void>
  /** Longest wait for the first engine. */
  patienceMs: number
  now(): number
  onLeft(error: unknown): void
  onBack(): void
}

/**
 * Decides which of two engines is asked. The second answers what the first fails at or is late with. It answers
 * everything after a failure and after three late answers of ten. It also does after one late answer, if the first
 * leaves a probe unanswered too. That lasts until a probe in the background succeeds. Pending callers fail over
 * immediately. An AppError is the caller's mistake and no failure.
 */
export class CircuitBreaker {
  #isAway = false
  #epoch = 0
  #rests = 0
  #restUntil = 0
  #probing: Promise<void> | undefined
  /** Whether each of the last answers was late. They outlive a rest: an engine still slow is left again at once. */
  #recent: boolean[] = []
  readonly #waiting = new Set<(error: unknown) => void>()
  readonly #options: BreakerOptions

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** Grows whenever the engine changes, and when the second answers a single question. */
  get epoch(): number {
    return this.#epoch
  }

  async ask<T>(first: () => Promise<T>, second: () => Promise<T>): Promise<T> {
    if (this.#isAway) {
      this.tryAgain()
      return second()
    }
    try {
      const answer = await this.#askFirst(first)
      this.#note(false)
      return answer
    } catch (error) {
      if (error instanceof AppError) throw error
      // Concurrent requests that fail together are one failure. Only failed probes lengthen the rest.
      if (!this.#isAway) this.#failed(error)
      // A caller waits for the probe at most once.
      const [answer] = await Promise.all([second(), this.#probing])
      return answer
    }
  }

  /** Probes an engine that is away, if it has rested. */
  tryAgain(): void {
    if (this.#isAway && this.#options.now() >= this.#restUntil) void this.#probe(this.#options.patienceMs)
  }

  async #askFirst<T>(first: () => Promise<T>): Promise<T> {
    const { patienceMs } = this.#options
    const { promise: left, reject: giveUp } = Promise.withResolvers<never>()
    this.#waiting.add(giveUp)
    const suspicion = setTimeout(() => void this.#probe(patienceMs * PROBE_WITHIN), patienceMs * PROBE_AFTER)
    try {
      return await inTime(Promise.race([first(), left]), patienceMs)
    } finally {
      clearTimeout(suspicion)
      this.#waiting.delete(giveUp)
    }
  }

  #failed(error: unknown): void {
    // The second engine's answer must not be kept under a version of the first.
    this.#epoch++
    const isLate = error instanceof Late
    if (isLate) this.#note(true)
    if (!isLate || this.#recent.filter((late) => late).length >= TOO_MANY_LATE) this.#leave(error)
  }

  #note(isLate: boolean): void {
    this.#recent = [...this.#recent.slice(1 - RECENT), isLate]
    if (!this.#recent.includes(true)) this.#rests = 0
  }

  #leave(error: unknown): void {
    if (!this.#isAway) {
      this.#isAway = true
      this.#epoch++
      this.#options.onLeft(error)
    }
    this.#restUntil = this.#options.now() + Math.min(FIRST_REST_MS * 2 ** this.#rests, LONGEST_REST_MS)
    this.#rests++
    for (const giveUp of [...this.#waiting]) giveUp(error)
  }

  /** One at a time. Never rejects. */
  #probe(withinMs: number): Promise<void> {
    this.#probing ??= this.#runProbe(withinMs).finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  async #runProbe(withinMs: number): Promise<void> {
    try {
      await inTime(this.#options.probe(), withinMs)
      if (!this.#isAway) return
      this.#isAway = false
      this.#epoch++
      this.#options.onBack()
    } catch (error) {
      this.#leave(error)
    }
  }
}

/** @throws Late when `ms` are over. What arrived while this process was busy is still read first. */
async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      answer,
      new Promise<never>((_, reject) => {
        // Made only when it is late: an error with its stack costs each question a tenth of a millisecond.
        const giveUp = () => reject(new Late(`The search engine did not answer within ${Math.round(ms)} ms.`))
        timer = setTimeout(() => setImmediate(giveUp), ms)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
}
