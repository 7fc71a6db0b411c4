import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type { Logger } from '../logger.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { LibrarySearch } from './library-search.ts'
import { mirrorState } from './meilisearch/client.ts'
import { searchOnlyKey } from './meilisearch/request.ts'
import { type EngineSearch, openMeiliSearch } from './meilisearch/search.ts'
import { openPostgresSearch } from './postgres/search.ts'

/** Meilisearch with the read model behind it, or the read model alone without a server. The pool stays the caller's. */
export function openLibrarySearch({
  pool,
  meili,
  logger,
}: {
  pool: pg.Pool
  /** `key` must have the right to manage keys. Searches use a key of their own that can do nothing else. */
  meili: { url: string; key: string; prefix?: string } | undefined
  logger: Logger
}): LibrarySearch {
  const reads = openPostgresSearch(pool)
  if (!meili) return reads
  const db = drizzle(pool)
  const primary = openMeiliSearch({
    url: meili.url,
    prefix: meili.prefix,
    key: () => searchOnlyKey(meili),
    reads,
    mirror: () => mirrorState(db),
  })
  return resilientSearch({ primary, fallback: reads, logger })
}

/** Longest wait for the first engine. The rest of the 1.5 s that a search may take is the second engine's. */
const PATIENCE_MS = 700

export interface ResilientOptions {
  primary: EngineSearch
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
    search: (query) =>
      primary.handles.search(query) ? withFallback((engine) => engine.search(query)) : fallback.search(query),
    frames: (query) =>
      primary.handles.frames(query) ? withFallback((engine) => engine.frames(query)) : fallback.frames(query),
  }
}

async function namedVersion(engine: LibrarySearch): Promise<string> {
  return `${engine.engine[0]}${await engine.version()}`
}

/**
 * A search in words. `weak`: its best frame lacks a word. `filtered`: such an answer says nothing of the words.
 */
interface Asked {
  q: string
  answer: 'full' | 'weak' | 'none'
  filtered: boolean
}

/**
 * The same search, which tells of questions in words: a search of everything, and first pages of the wall. Answers that
 * a cache gives are not asked here, so a repeat within five minutes is not told.
 */
export function watchSearches(search: LibrarySearch, note: (asked: Asked) => void): LibrarySearch {
  const watched: Pick<LibrarySearch, 'search' | 'frames'> = {
    async search(query) {
      const groups = await search.search(query)
      const { frames, videos, brands, techniques } = groups
      if (query.q !== '' && !query.namesOnly) {
        const hasName = [videos, brands, techniques].some((hits) => hits.length > 0)
        note({ q: query.q, answer: hasName ? 'full' : answerOf(frames), filtered: false })
      }
      return groups
    },
    async frames(query) {
      const page = await search.frames(query)
      const filtered = Object.values(query.filters).some((values) => values?.length)
      // What a tool tries for its advice is nobody's question.
      if (query.q !== '' && query.page === 1 && query.loosen !== false)
        note({ q: query.q, answer: answerOf(page.frames), filtered })
      return page
    },
  }
  return Object.assign(Object.create(search) as LibrarySearch, watched)
}

function answerOf([best]: readonly { missing?: readonly string[] }[]): Asked['answer'] {
  if (!best) return 'none'
  return best.missing?.length ? 'weak' : 'full'
}
