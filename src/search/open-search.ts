import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type { Logger } from '../logger.ts'
import type { LibrarySearch } from './library-search.ts'
import { mirrorState } from './meilisearch/mirror-state.ts'
import { searchOnlyKey } from './meilisearch/request.ts'
import { openMeiliSearch } from './meilisearch/search.ts'
import { openPostgresSearch } from './postgres/search.ts'
import { resilientSearch } from './resilient.ts'

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
