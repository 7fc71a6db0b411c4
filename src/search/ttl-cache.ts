import { LRUCache } from 'lru-cache'

/** How long a value is taken as it was. */
const KEPT_MS = 1_000

/** What `load` finds, loaded at most once in `ttl`, and once for all who wait. A failed load is not kept. */
export function ttlCached<T extends object>(load: () => Promise<T>, ttl = KEPT_MS): () => Promise<T> {
  const cache = new LRUCache<'value', T>({ max: 1, ttl, fetchMethod: load })
  return async () => (await cache.fetch('value'))!
}
