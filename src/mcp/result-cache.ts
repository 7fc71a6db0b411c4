import { LRUCache } from 'lru-cache'
import type { JsonText } from '../json-text.ts'
import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import type { RpcResult } from './replies.ts'
import type { Tool } from './tool.ts'

/** Arguments that are longer as text are not cached. */
const MAX_KEY = 2_048
const MAX_BYTES = 32 * 1024 * 1024

export interface ResultCacheOptions {
  /** Changes whenever a cacheable tool may answer differently. Absent: nothing is cached. */
  version?: (() => Promise<string> | string) | undefined
  /** A result during which it changed is not cached. */
  engineEpoch?: (() => number) | undefined
}

/** Finished results of cacheable tools as bytes: encoding a long text costs more than the rest of a call. */
export interface ResultCache {
  /** What is cached now, if the version is known without waiting. */
  recall(tool: Tool, args: Fields, era: Era): Buffer | undefined
  getOrLoad(
    call: { tool: Tool; args: Fields; era: Era },
    load: () => Promise<{ text: JsonText; keep: boolean }>,
  ): Promise<RpcResult>
}

export function createResultCache({ version, engineEpoch }: ResultCacheOptions): ResultCache {
  const results = new LRUCache<string, Buffer>({
    maxSize: MAX_BYTES,
    sizeCalculation: (bytes, key) => bytes.length + key.length * 2,
  })
  return {
    recall(tool, args, era) {
      const current = tool.cacheable ? version?.() : undefined
      if (typeof current !== 'string') {
        // Avoids an unhandled rejection; callers that await the version still see the error.
        current?.catch(() => undefined)
        return undefined
      }
      const key = keyOf(current, tool, args, era)
      return key === undefined ? undefined : results.get(key)
    },

    async getOrLoad({ tool, args, era }, load) {
      const epoch = engineEpoch?.()
      const key = tool.cacheable && version ? keyOf(await version(), tool, args, era) : undefined
      const cached = key === undefined ? undefined : results.get(key)
      if (cached !== undefined) return cached
      const { text, keep } = await load()
      if (key === undefined || !keep || engineEpoch?.() !== epoch) return text
      const bytes = Buffer.from(text)
      results.set(key, bytes)
      return bytes
    },
  }
}

/** Holds the arguments as they were written: what was answered once needs no second validation. */
function keyOf(version: string, tool: Tool, args: Fields, era: Era): string | undefined {
  try {
    const key = `${version} ${era.name} ${tool.name} ${JSON.stringify(args)}`
    return key.length <= MAX_KEY ? key : undefined
  } catch (error) {
    // Nested too deep to be written: no tool has such arguments.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
