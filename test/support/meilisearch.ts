import { Meilisearch } from 'meilisearch'

/** Why there is no Meilisearch for the tests; undefined where there is one. */
export const MEILI_MISSING = process.env.TEST_MEILI_URL ? undefined : 'skipped: npm run test:meilisearch runs it'

/** The Meilisearch in TEST_MEILI_URL, with its master key in TEST_MEILI_KEY. Each file takes indexes of its own. */
export function theMeili(): { url: string; key: string } {
  return { url: process.env.TEST_MEILI_URL!, key: process.env.TEST_MEILI_KEY! }
}

/** Ids and revisions of the frames in an index, in order. */
export async function framesIn(prefix: string): Promise<string[]> {
  const { url, key } = theMeili()
  const client = new Meilisearch({ host: url, apiKey: key })
  const found: string[] = []
  for (let offset = 0; ; offset = found.length) {
    const { results } = await client
      .index<{ key: string; revision: string }>(`${prefix}_frames`)
      .getDocuments({ fields: ['key', 'revision'], limit: 5_000, offset })
    if (results.length === 0) return found.toSorted()
    found.push(...results.map((one) => `${one.key} ${one.revision}`))
  }
}
