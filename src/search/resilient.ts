import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { FrameQuery, LibrarySearch } from './library-search.ts'

/** Longest wait for the first engine. The rest of the 1.5 s that a search may take is the second engine's. */
const PATIENCE_MS = 700
const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 30_000

export interface ResilientOptions {
  primary: LibrarySearch & {
    /** Sends a search to the engine. @throws while the engine cannot be trusted. */
    probe(): Promise<void>
    /** Whether the engine itself answers this query. Queries it does not answer say nothing about its health. */
    handles: { search(query: Parameters<LibrarySearch['search']>[0]): boolean; frames(query: FrameQuery): boolean }
  }
  /** Holds the same documents. Answers when the first does not, and all queries that need no engine. */
  fallback: LibrarySearch
  logger: Logger
  patienceMs?: number
  now?: () => number
}

/**
 * A circuit breaker around the first engine. After one failure or late response the second engine answers,
 * until a probe in the background succeeds, so that no request waits twice.
 * Invalid requests are no failures. `engine` is the one that answers now.
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
      await withTimeout(primary.probe(), patienceMs)
      failures = 0
      engineEpoch++
      logger.info({ engine: primary.engine }, 'search engine is back')
    } catch (error) {
      failed(error)
    } finally {
      probing = false
    }
  }

  async function withFallback<T>(query: (engine: LibrarySearch) => Promise<T>): Promise<T> {
    if (failures > 0) {
      void probe()
      return query(fallback)
    }
    try {
      return await withTimeout(query(primary), patienceMs)
    } catch (error) {
      if (error instanceof AppError) throw error
      // Concurrent requests that fail together are one failure. Only failed probes lengthen the rest.
      if (failures === 0) failed(error)
      return query(fallback)
    }
  }

  return {
    ...fallback,
    get engine() {
      return failures > 0 ? fallback.engine : primary.engine
    },
    // The engines rank differently, so their results must not share an ETag.
    // Reading the version also probes: a library that answers only from caches never searches.
    async version() {
      if (failures > 0) void probe()
      return namedVersion(failures > 0 ? fallback : primary)
    },
    engineEpoch: () => engineEpoch,
    // Both versions are read from PostgreSQL, so that this holds while the engine is away.
    firstVersion: async () => (failures > 0 ? namedVersion(primary) : undefined),
    asOf: () => (failures > 0 ? fallback : primary).asOf(),
    search: (query) =>
      primary.handles.search(query) ? withFallback((engine) => engine.search(query)) : fallback.search(query),
    frames: (query) =>
      primary.handles.frames(query) ? withFallback((engine) => engine.frames(query)) : fallback.frames(query),
  }
}

async function namedVersion(engine: LibrarySearch): Promise<string> {
  return `${engine.engine[0]}${await engine.version()}`
}

async function withTimeout<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await Promise.race([
      answer,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`The search engine did not answer within ${ms} ms.`)), ms)
      }),
    ])
  } finally {
    clearTimeout(timer)
  }
}
