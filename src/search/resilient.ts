import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { FrameQuery, LibrarySearch } from './library-search.ts'

/** Longest wait for the first engine; the rest of the 1.5 s belongs to the second. */
const PATIENCE_MS = 700
const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 30_000

export interface ResilientOptions {
  primary: LibrarySearch & {
    /** Really asks the engine something; throws while the engine cannot be trusted. */
    probe(): Promise<void>
    /** Whether the engine itself is asked for this. What it is not asked for cannot show that it is away. */
    isAsked: { search(query: Parameters<LibrarySearch['search']>[0]): boolean; frames(query: FrameQuery): boolean }
  }
  /** Holds the same documents: answers when the first does not, and what no engine is needed for. */
  fallback: LibrarySearch
  logger: Logger
  patienceMs?: number
  now?: () => number
}

/**
 * A circuit breaker around the first engine: one failure or late answer and the second answers, and goes on answering until a probe in the background has
 * succeeded, so that no request waits twice. Bad requests are no failures. `engine` tells which one answers now.
 */
export function resilientSearch({
  primary,
  fallback,
  logger,
  patienceMs = PATIENCE_MS,
  now = () => performance.now(),
}: ResilientOptions): LibrarySearch {
  let failures = 0
  let restUntil = 0
  let probing = false
  let engineEpoch = 0

  function failed(error: unknown): void {
    if (failures === 0) {
      engineEpoch++
      logger.warn(
        { err: error, engine: primary.engine, fallback: fallback.engine },
        'search engine failed; the other one answers',
      )
    }
    failures++
    restUntil = now() + Math.min(FIRST_REST_MS * 2 ** (failures - 1), LONGEST_REST_MS)
  }

  async function probe(): Promise<void> {
    if (probing || now() < restUntil) return
    probing = true
    try {
      await within(primary.probe(), patienceMs)
      failures = 0
      engineEpoch++
      logger.info({ engine: primary.engine }, 'search engine is back')
    } catch (error) {
      failed(error)
    } finally {
      probing = false
    }
  }

  async function ask<T>(question: (engine: LibrarySearch) => Promise<T>): Promise<T> {
    if (failures > 0) {
      void probe()
      return question(fallback)
    }
    try {
      return await within(question(primary), patienceMs)
    } catch (error) {
      if (error instanceof AppError) throw error
      // Many that were under way when it went away are one failure: only a trial that fails lengthens the rest.
      if (failures === 0) failed(error)
      return question(fallback)
    }
  }

  return {
    ...fallback,
    get engine() {
      return failures > 0 ? fallback.engine : primary.engine
    },
    // The engines rank differently, so their answers must not share an ETag. A version asked for is a chance to come back, too: a library that answers only
    // from caches never searches.
    async version() {
      if (failures > 0) void probe()
      const engine = failures > 0 ? fallback : primary
      return `${engine.engine[0]}${await engine.version()}`
    },
    engineEpoch: () => engineEpoch,
    asOf: () => (failures > 0 ? fallback : primary).asOf(),
    search: (query) => (primary.isAsked.search(query) ? ask((engine) => engine.search(query)) : fallback.search(query)),
    frames: (query) => (primary.isAsked.frames(query) ? ask((engine) => engine.frames(query)) : fallback.frames(query)),
  }
}

async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      answer,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
}
