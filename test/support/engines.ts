import { meiliMissing } from './meilisearch.ts'

export type Engine = 'postgres' | 'meilisearch'

/** The search engines a suite runs against: the Postgres read model always, Meilisearch where there is one. */
export const ENGINES: readonly { engine: Engine }[] = [
  { engine: 'postgres' },
  ...(meiliMissing() ? [] : [{ engine: 'meilisearch' as const }]),
]

/** Why Meilisearch is missing, for the title of what is skipped. */
export const MEILI_MISSING = meiliMissing()
