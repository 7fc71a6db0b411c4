/** The search engines a suite runs against: the Postgres read model always, Meilisearch where `TEST_MEILI_URL` (and `TEST_MEILI_KEY`) name a server. */
export const ENGINES: readonly { name: 'postgres' | 'meilisearch'; env: Record<string, string> }[] = [
  { name: 'postgres', env: {} },
  ...(process.env.TEST_MEILI_URL
    ? [{ name: 'meilisearch' as const, env: { MEILI_URL: process.env.TEST_MEILI_URL, MEILI_KEY: process.env.TEST_MEILI_KEY ?? '' } }]
    : []),
]
