import { MEILI_MISSING } from './meilisearch.ts'

export type Engine = 'postgres' | 'meilisearch'

/** The search engines a suite runs against: the Postgres read model always, Meilisearch where there is one. */
export const ENGINES: readonly { engine: Engine }[] = [
  { engine: 'postgres' },
  ...(MEILI_MISSING ? [] : [{ engine: 'meilisearch' as const }]),
]
