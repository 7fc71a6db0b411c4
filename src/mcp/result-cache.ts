import type { ReadModelVersion } from '../http/read-model-version.ts'
import { openVersionedCache } from '../http/versioned-cache.ts'
import type { JsonText } from '../json-text.ts'
import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import type { RpcResult } from './replies.ts'
import type { Tool } from './tool.ts'

/** Arguments that are longer as text are not cached. */
const MAX_KEY = 2_048
const MAX_BYTES = 32 * 1024 * 1024

export interface ResultCacheOptions {
  /** Results hold for one version of it. Absent: nothing is cached. */
  readModel?: ReadModelVersion | undefined
}

/** Finished results of cacheable tools as bytes: encoding a long text costs more than the rest of a call. */
export interface ResultCache {
  /** What is cached now, if the version is known without waiting. */
  recall(tool: Tool, args: Fields, era: Era): RpcResult | undefined
  getOrLoad(
    call: { tool: Tool; args: Fields; era: Era },
    load: () => Promise<{ text: JsonText; keep: boolean }>,
  ): Promise<RpcResult>
}

export function createResultCache({ readModel }: ResultCacheOptions): ResultCache {
  const cache =
    readModel &&
    openVersionedCache<{ result: RpcResult; keep: boolean }>({
      readModel,
      maxBytes: MAX_BYTES,
      sizeOf: ({ result }) => result.length,
      keeps: ({ keep }) => keep,
    })
  return {
    recall(tool, args, era) {
      const key = tool.cacheable ? keyOf(tool, args, era) : undefined
      return key === undefined ? undefined : cache?.peek(key)?.value.result
    },

    async getOrLoad({ tool, args, era }, load) {
      const key = tool.cacheable ? keyOf(tool, args, era) : undefined
      if (!cache || key === undefined) return (await load()).text
      const loadBytes = async () => {
        const { text, keep } = await load()
        return { result: keep ? Buffer.from(text) : text, keep }
      }
      // Each caller loads for itself: a load ends when its caller leaves.
      return (await cache.getOrLoad(key, loadBytes, { shared: false })).value.result
    },
  }
}

/** Holds the arguments as they were written: what was answered once needs no second validation. */
function keyOf(tool: Tool, args: Fields, era: Era): string | undefined {
  try {
    const key = `${era.name} ${tool.name} ${JSON.stringify(args)}`
    return key.length <= MAX_KEY ? key : undefined
  } catch (error) {
    // Nested too deep to be written: no tool has such arguments.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
