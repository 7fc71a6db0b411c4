import { isDeepStrictEqual } from 'node:util'
import { Meilisearch, MeilisearchApiError, MeilisearchError } from 'meilisearch'
import type { Dispatcher } from 'undici'
import { INDEX, indexName } from './settings.ts'

interface EngineAnswer {
  status: number
  chunks: Buffer[]
}

/** Sends a body to the engine. It must change nothing: it may be sent twice. @throws when there is no whole answer. */
export type AskEngine = (headers: Record<string, string>, body: string) => Promise<EngineAnswer>

/** What a connection ends with that was kept and has been closed by the other side. */
const RESETS = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/**
 * Asks one address of the engine over kept connections, opened with the first question. The package's client sends head
 * and body apart, which costs 40 ms with delayed acknowledgements, and undici's `request` makes a stream of each
 * answer. A reset before anything was answered says nothing about the engine: the question is sent once more, on a
 * connection of its own.
 */
export function openEngine(url: string, path: string, timeoutMs: number): AskEngine {
  const { origin } = new URL(url)
  const times = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } }
  const undici = once(() => import('undici'))
  const pool = once(async () => new (await undici()).Pool(origin, times))
  return async (headers, body) => {
    const question = { method: 'POST', path, headers, body } as const
    try {
      return await answerOf(await pool(), question)
    } catch (error) {
      if (!(error instanceof Unanswered) || !RESETS.includes(error.code)) throw cause(error)
    }
    const fresh = new (await undici()).Client(origin, times)
    try {
      return await answerOf(fresh, question)
    } catch (error) {
      throw cause(error)
    } finally {
      fresh.destroy().catch(() => undefined)
    }
  }
}

/** No byte of an answer has come. */
class Unanswered extends Error {
  readonly code: string
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.code = (cause as { code?: string }).code ?? ''
  }
}

const cause = (error: unknown) => (error instanceof Unanswered ? error.cause : error)

function answerOf(dispatcher: Dispatcher, question: Dispatcher.DispatchOptions): Promise<EngineAnswer> {
  return new Promise((resolve, reject) => {
    const answer: EngineAnswer = { status: 0, chunks: [] }
    dispatcher.dispatch(question, {
      // A handler without it counts as one of an older kind.
      onRequestStart() {},
      onResponseStart(_, status) {
        answer.status = status
      },
      onResponseData(_, chunk) {
        answer.chunks.push(chunk)
      },
      onResponseEnd() {
        resolve(answer)
      },
      onResponseError(_, error) {
        reject(answer.status === 0 ? new Unanswered(error) : error)
      },
    })
  })
}

function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined
  return () => {
    opened ??= open()
    return opened
  }
}

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
