import { type EmbedConfig, spaceOf } from '../config.ts'
import { type Child, ChildLost, startChild } from '../processes/child.ts'
import { oneAtATime } from '../turns.ts'
import { checkVectors, type Embedder, EmbedderUnavailable } from './embedder.ts'

const ENTRY = new URL('./embedding-process.ts', import.meta.url)
/** How long the process stays after its last text. */
const IDLE_MS = 60_000
/** Of one call. The first one loads the model. */
const TIMEOUT_MS = 60_000

/**
 * The text model inside an npm package: a small Universal Sentence Encoder, which knows English only and takes about
 * 50 ms a text. It works in a process of its own of some 240 MB, which starts with the first text and ends a minute
 * after the last one.
 */
export function openEmbedded(model: Extract<EmbedConfig, { source: 'embedded' }>, { idleMs = IDLE_MS } = {}): Embedder {
  const { dimensions } = model
  const inTurn = oneAtATime()
  let child: Child<string[], number[][], never> | undefined
  let idle: NodeJS.Timeout | undefined

  async function ask(texts: readonly string[], signal: AbortSignal): Promise<number[][]> {
    clearTimeout(idle)
    if (!child || child.isLost) child = startChild(ENTRY)
    try {
      return await child.call([...texts], { signal, timeoutMs: TIMEOUT_MS })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ChildLost)) throw error
      throw new EmbedderUnavailable('The process of the embedded text model ended.', { cause: error })
    } finally {
      idle = setTimeout(() => child?.kill(), idleMs).unref()
    }
  }

  return {
    space: spaceOf(model),
    isEnglishOnly: true,
    async embed(texts, signal) {
      const given = await inTurn(() => ask(texts, signal))
      return { vectors: checkVectors(given, { texts: texts.length, dimensions }), tokens: null }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle)
      child?.kill()
    },
  }
}
