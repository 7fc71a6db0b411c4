import { isDeepStrictEqual } from 'node:util'
import { Meilisearch, MeilisearchApiError, MeilisearchError } from 'meilisearch'
import { INDEX, indexName } from './settings.ts'

export interface MeiliOptions {
  url: string
  /** Undefined for a server without a master key. */
  key: string | undefined
  /** Names the index `<prefix>_frames`; `library` by default. */
  prefix?: string
}

/** The server did not answer, or not in time: a later attempt may succeed. */
export function isMeiliOutage(error: unknown): boolean {
  if (error instanceof MeilisearchApiError) return error.response.status >= 500 || error.response.status === 429
  return error instanceof MeilisearchError
}

/**
 * A key that can search these indexes and nothing else, created once per prefix.
 * Undefined for a server without a master key, which has no keys.
 */
export async function searchOnlyKey({ url, key, prefix = 'library' }: MeiliOptions): Promise<string | undefined> {
  if (key === undefined) return undefined
  const client = new Meilisearch({ host: url, apiKey: key, timeout: 10_000 })
  const name = `frame library search (${prefix})`
  const indexes = [indexName(prefix, INDEX)]
  for (let offset = 0; ; offset += 100) {
    const { results } = await client.getKeys({ limit: 100, offset })
    const held = results.find((one) => one.name === name && isDeepStrictEqual(one.indexes.toSorted(), indexes))
    if (held) return held.key
    if (results.length < 100) break
  }
  const made = await client.createKey({
    name,
    description: 'Open reads of the frame library',
    actions: ['search'],
    indexes,
    expiresAt: null,
  })
  return made.key
}
