import { isDeepStrictEqual } from 'node:util'
import { Meilisearch } from 'meilisearch'
import type { Dispatcher, Pool } from 'undici'
import { INDEX, indexName } from './settings.ts'

/** Sends a body to the engine. It must change nothing: it may be sent twice. @throws when there is no whole answer. */
type AskEngine = (headers: Record<string, string>, body: string) => Promise<{ status: number; body: string }>

/** What a connection ends with that was kept and has been closed by the other side. */
const RESETS = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/**
 * Asks one address of the engine over kept connections, opened with the first question. The package's client sends head
 * and body apart, which costs 40 ms with delayed acknowledgements. A reset before anything was answered says nothing
 * about the engine: the question is sent once more, on a connection of its own.
 */
export function openEngine(url: string, path: string, timeoutMs: number): AskEngine {
  const { origin } = new URL(url)
  const times = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } }
  let kept: Pool | undefined
  return async (headers, body) => {
    const { Client, Pool } = await import('undici')
    kept ??= new Pool(origin, times)
    const question = { method: 'POST', path, headers, body } as const
    let response: Dispatcher.ResponseData
    try {
      response = await kept.request(question)
    } catch (error) {
      if (!RESETS.includes((error as { code?: string }).code ?? '')) throw error
      const fresh = new Client(origin, times)
      try {
        return await answerOf(await fresh.request(question))
      } finally {
        fresh.destroy().catch(() => undefined)
      }
    }
    return answerOf(response)
  }
}

const answerOf = async ({ statusCode, body }: Dispatcher.ResponseData) => ({
  status: statusCode,
  body: await body.text(),
})

export interface MeiliOptions {
  url: string
  key: string
  /** Names the index `<prefix>_frames`; `library` by default. */
  prefix?: string
}

/** A key that can search these indexes and nothing else, created once per prefix. */
export async function searchOnlyKey({ url, key, prefix = 'library' }: MeiliOptions): Promise<string> {
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
