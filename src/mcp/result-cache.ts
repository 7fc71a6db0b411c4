import type { ReadModelVersion } from '../http/read-model-version.ts'
import { openVersionedCache } from '../http/versioned-cache.ts'
import type { Era } from './era.ts'
import type { Fields } from './messages.ts'
import type { Tool } from './tool.ts'

/** Arguments that are longer as text are not cached. */
const MAX_KEY = 2_048
const MAX_BYTES = 32 * 1024 * 1024

export interface ResultCacheOptions {
  /** Results hold for one version of it. Absent: nothing is cached. */
  readModel?: ReadModelVersion | undefined
}

/** Finished results of cacheable tools, as JSON text. */
export interface ResultCache {
  getOrLoad(
    call: { tool: Tool; args: Fields; era: Era },
    load: () => Promise<{ text: string; keep: boolean }>,
  ): Promise<string>
}

export function createResultCache({ readModel }: ResultCacheOptions): ResultCache {
  const cache =
    readModel &&
    openVersionedCache<{ text: string; keep: boolean }>({
      readModel,
      maxBytes: MAX_BYTES,
      sizeOf: ({ text }) => text.length * 2,
      keeps: ({ keep }) => keep,
    })
  return {
    async getOrLoad({ tool, args, era }, load) {
      const key = tool.cacheable ? keyOf(tool, args, era) : undefined
      if (!cache || key === undefined) return (await load()).text
      // Each caller loads for itself: a load ends when its caller leaves.
      return (await cache.getOrLoad(key, load, { shared: false })).value.text
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
