/** Why there is no Meilisearch for the tests; undefined where there is one. */
export const MEILI_MISSING = process.env.TEST_MEILI_URL ? undefined : 'skipped: npm run test:meilisearch runs it'

/** The Meilisearch in TEST_MEILI_URL. Each file takes indexes of its own. */
export function theMeili(): { url: string; key: string | undefined } {
  return { url: process.env.TEST_MEILI_URL!, key: process.env.TEST_MEILI_KEY || undefined }
}
