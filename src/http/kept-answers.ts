import { openSharedLookup } from '../shared-lookup.ts'
import { CompressibleBody } from './compressed-body.ts'
import type { ReadModelVersion } from './read-model-version.ts'
import { openVersionedCache } from './versioned-cache.ts'

/** A finished private answer, kept in this process only. */
interface KeptAnswer {
  body: CompressibleBody
  /** The cursor of the next page; null at the end. */
  next: string | null
}

export interface KeptAnswers {
  /** What an answer depends on, as it is now. Concurrent callers share look-ups that began after they asked. */
  lookUp<T extends object>(key: string, look: () => Promise<T>): Promise<T>
  /**
   * The answer of a key: made once for all concurrent callers and kept until the read model changes. The key must
   * include everything else that the answer depends on. Check before the call who may see it.
   */
  find(key: string, make: () => Promise<{ text: string; next: string | null }>): Promise<KeptAnswer>
}

/** Keeps answers in this process, bounded by `maxBytes`. */
export function openKeptAnswers(readModel: ReadModelVersion, { maxBytes = 32 * 1024 * 1024 } = {}): KeptAnswers {
  const cache = openVersionedCache<KeptAnswer>({
    readModel,
    maxBytes,
    // Twice the body: its compressed forms are kept beside it.
    sizeOf: ({ body }) => body.bytes.length * 2,
  })
  const shared = openSharedLookup<object>()
  return {
    lookUp: <T extends object>(key: string, look: () => Promise<T>) => shared(key, look) as Promise<T>,
    async find(key, make) {
      const { value } = await cache.getOrLoad(key, async () => {
        const { text, next } = await make()
        return { body: new CompressibleBody(text), next }
      })
      return value
    },
  }
}
