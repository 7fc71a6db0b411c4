import type pg from 'pg'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { openSearch } from '../../src/search/open-search.ts'
import { openReadModel } from '../../src/search/postgres/search.ts'

/** The search of a library without Meilisearch. */
export const openPostgresSearch = (pool: pg.Pool, options?: { manyFrames: number }): LibrarySearch =>
  openSearch({ reads: openReadModel(pool, options) })
