import { type EmbedConfig, spaceOf } from '../config.ts'
import { HttpFailure, requestJson } from '../vision/model/http.ts'
import { plainText } from '../vision/plain-text.ts'
import { checkVectors, type Embedder, EmbedderUnavailable, TextRefused } from './embedder.ts'

/** Local servers load the model with the first call. */
const TIMEOUT_MS = 60_000
const MAX_BYTES = 32 * 1024 * 1024

/** A text model behind an endpoint that speaks the OpenAI protocol. */
export function openTextEndpoint(
  config: Extract<EmbedConfig, { source: 'endpoint' }>,
  over: { fetch?: typeof fetch; timeoutMs?: number } = {},
): Embedder {
  const { baseUrl, model, dimensions, apiKey, price } = config
  const { timeoutMs = TIMEOUT_MS } = over
  return {
    space: spaceOf(config),
    isEnglishOnly: false,
    price,
    async embed(texts, signal) {
      const answer = await requestJson(
        `${baseUrl}/embeddings`,
        {
          headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
          // Without the format clients of this protocol are sent base64 by some servers and floats by others.
          body: { model, input: texts, encoding_format: 'float' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        },
        { ...over, maxBytes: MAX_BYTES },
      ).catch((error: unknown) => {
        signal.throwIfAborted()
        // Local servers answer 500 to a text that is too long for them, and to one whose vector has no number.
        const isRefusal = error instanceof HttpFailure && [400, 413, 422, 500].includes(error.status)
        const told = describe(error, baseUrl)
        throw isRefusal ? new TextRefused(told, error) : new EmbedderUnavailable(told, { cause: error })
      })
      const { data, usage } = (answer ?? {}) as { data?: unknown; usage?: { prompt_tokens?: unknown } }
      const list = Array.isArray(data) ? inOrder(data).map((one) => one?.embedding) : data
      const tokens = Number.isFinite(usage?.prompt_tokens) ? Number(usage!.prompt_tokens) : null
      return { vectors: checkVectors(list, { texts: texts.length, dimensions }), tokens }
    },
    async [Symbol.asyncDispose]() {},
  }
}

type Item = { index?: number; embedding?: unknown } | null

const inOrder = (data: Item[]) => data.toSorted((a, b) => (a?.index ?? 0) - (b?.index ?? 0))

function describe(error: unknown, baseUrl: string): string {
  if (error instanceof HttpFailure) {
    const told = `The text model answered ${error.status}: ${plainText(error.message, 200)}.`
    if (error.status === 401 || error.status === 403) return `${told} Check EMBED_API_KEY.`
    if (error.status === 404) return `${told} Check EMBED_MODEL and EMBED_BASE_URL.`
    return told
  }
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  return isLate ? 'The text model did not answer in time.' : `Nothing answers at ${baseUrl}. Check EMBED_BASE_URL.`
}
