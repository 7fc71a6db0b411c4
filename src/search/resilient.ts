import type { Logger } from '../logger.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { FrameQuery, LibrarySearch } from './library-search.ts'

/** Longest wait for the first engine. The rest of the 1.5 s that a search may take is the second engine's. */
const PATIENCE_MS = 700

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

/** Two engines behind a circuit breaker. `engine` is the one that answers now. */
export function resilientSearch({
  primary,
  fallback,
  logger,
  patienceMs = PATIENCE_MS,
  now = () => performance.now(),
}: ResilientOptions): LibrarySearch {
  const breaker = new CircuitBreaker({
    probe: primary.probe,
    patienceMs,
    now,
    onLeft: (error) =>
      logger.warn(
        { err: error, engine: primary.engine, fallback: fallback.engine },
        'search engine failed; the other one answers',
      ),
    onBack: () => logger.info({ engine: primary.engine }, 'search engine is back'),
  })
  const answering = () => (breaker.isAway ? fallback : primary)

  function withFallback<T>(query: (engine: LibrarySearch) => Promise<T>): Promise<T> {
    return breaker.ask(
      () => query(primary),
      () => query(fallback),
    )
  }

  return {
    ...fallback,
    get engine() {
      return answering().engine
    },
    // The engines rank differently, so their results must not share an ETag.
    // Reading the version also probes: a library that answers only from caches never searches.
    async version() {
      breaker.tryAgain()
      return namedVersion(answering())
    },
    engineEpoch: () => breaker.epoch,
    // Both versions are read from PostgreSQL, so that this holds while the engine is away.
    firstVersion: async () => (breaker.isAway ? namedVersion(primary) : undefined),
    asOf: () => answering().asOf(),
    search: (query) =>
      primary.handles.search(query) ? withFallback((engine) => engine.search(query)) : fallback.search(query),
    frames: (query) =>
      primary.handles.frames(query) ? withFallback((engine) => engine.frames(query)) : fallback.frames(query),
  }
}

async function namedVersion(engine: LibrarySearch): Promise<string> {
  return `${engine.engine[0]}${await engine.version()}`
}
