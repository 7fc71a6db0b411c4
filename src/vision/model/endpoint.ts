import OpenAI from 'openai'
import { plainText } from '../plain-text.ts'
import { tryParse } from './answer.ts'
import { classify } from './endpoint-error.ts'
import { ANSWER_MODES, type AnswerMode } from './prompt.ts'
import { type ModelPrice, NO_USAGE, toUsage, type Usage } from './usage.ts'

export interface EndpointOptions {
  baseUrl: string
  apiKey: string
  model: string
  fetch?: typeof fetch
  reasoningEffort?: string
  /** Longest wait for one reply. */
  timeoutMs: number
  /** Longest reply body read. */
  maxBytes: number
  /** Without it no call has a cost. */
  price?: ModelPrice | undefined
}

export interface ModelRequest {
  /** Built for the mode in use: looser modes describe the form of the answer in words. */
  messages: (mode: AnswerMode) => OpenAI.ChatCompletionMessageParam[]
  schema: Record<string, unknown>
  maxTokens: number
}

export type ModelReply =
  | { kind: 'text'; text: string; truncated: boolean; usage: Usage; mode?: AnswerMode }
  | { kind: 'refused'; reason: string; usage: Usage }
  /** The endpoint cannot take this request (an image in the wrong form). Repeating it is useless. */
  | { kind: 'rejected'; reason: string; usage: Usage }
  /** The endpoint failed. It may answer the same request later. */
  | { kind: 'failed'; reason: string; usage: Usage }

/** What the endpoint and the model have turned out to support. Kept as long as the annotator is open. */
interface Abilities {
  mode: AnswerMode
  tokenParameter: 'max_tokens' | 'max_completion_tokens'
  temperature: boolean
  reasoningEffort: boolean
}

/** More adjustments than this mean that a server contradicts itself. */
const MAX_ADJUSTMENTS = 5

export type Endpoint = ReturnType<typeof openEndpoint>

/** Chat completions of an OpenAI-compatible endpoint. */
export function openEndpoint(options: EndpointOptions) {
  const abilities: Abilities = {
    mode: 'json_schema',
    tokenParameter: 'max_tokens',
    temperature: true,
    reasoningEffort: options.reasoningEffort !== undefined,
  }
  /** Replies in a row without a frame. Once one was useful, the schema is known to work. */
  let useless = 0
  const client = new OpenAI({
    baseURL: options.baseUrl,
    apiKey: options.apiKey,
    maxRetries: 0,
    timeout: options.timeoutMs,
    fetch: boundedFetch(options.fetch ?? fetch, options.maxBytes),
    logLevel: 'off',
  })
  return {
    /** @throws AnnotatorUnavailable when the endpoint asks to wait, or when the key or the model is wrong */
    async ask(request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)])
      for (let adjustments = 0; ; adjustments++) {
        const used = { ...abilities }
        try {
          const completion = await client.chat.completions.create(toParameters(request, used, options), {
            signal: deadline,
          })
          throwErrorInside(completion)
          const reply = toReply(completion, options.price)
          return reply.kind === 'text' ? { ...reply, mode: used.mode } : reply
        } catch (error) {
          signal.throwIfAborted()
          if (adjustments < MAX_ADJUSTMENTS && adjust(abilities, used, error)) continue
          return { ...classify(error), usage: NO_USAGE }
        }
      }
    },
    /**
     * Tells whether a reply named a frame. Some servers take a schema and ignore it (Anthropic's layer for this
     * client). After two useless replies in a row the form is described in words.
     */
    learn(reply: ModelReply, isUseful: boolean): void {
      if (reply.kind !== 'text' || reply.truncated || reply.mode !== abilities.mode) return
      if (isUseful) useless = Number.NEGATIVE_INFINITY
      else if (++useless >= 2 && abilities.mode === 'json_schema') abilities.mode = 'json_object'
    },
  }
}

/** OpenRouter answers 200 when the provider behind it failed, with the error and its status in the body. */
function throwErrorInside(completion: unknown): void {
  const { error, choices } = (completion ?? {}) as { error?: unknown; choices?: { error?: unknown }[] }
  const inside = (error ?? choices?.[0]?.error) as { code?: unknown; message?: unknown } | null | undefined
  if (typeof inside !== 'object' || inside === null) return
  const status = Number(inside.code)
  const known = Number.isInteger(status) && status >= 400 && status < 600 ? status : 502
  throw OpenAI.APIError.generate(known, { error: inside }, String(inside.message ?? 'no message'), new Headers())
}

/** The body of a request in the form that the endpoint is known to take. */
function toParameters(
  { messages, schema, maxTokens }: ModelRequest,
  abilities: Abilities,
  { model, reasoningEffort }: Pick<EndpointOptions, 'model' | 'reasoningEffort'>,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return {
    model,
    messages: messages(abilities.mode),
    [abilities.tokenParameter]: maxTokens,
    ...(abilities.temperature ? { temperature: 0 } : {}),
    ...(abilities.reasoningEffort ? { reasoning_effort: reasoningEffort as OpenAI.ReasoningEffort } : {}),
    ...(abilities.mode === 'json_schema'
      ? { response_format: { type: 'json_schema', json_schema: { name: 'frames', strict: true, schema } } }
      : {}),
    ...(abilities.mode === 'json_object' ? { response_format: { type: 'json_object' } } : {}),
  }
}

/**
 * Learns from the refusal of a parameter. True when the same request may be sent in another form. When several calls
 * are refused at once, the first teaches and the others follow: `used` is the form of the refused call.
 */
function adjust(abilities: Abilities, used: Abilities, error: unknown): boolean {
  if (!(error instanceof OpenAI.APIError) || (error.status !== 400 && error.status !== 422)) return false
  const message = `${error.message} ${error.param ?? ''}`.toLowerCase()
  // Gemini calls it generation_config.response_schema. Others name the member of the schema that they do not know.
  if (
    /response_?format|schema|json_object|structured output|guided|grammar|additionalproperties/.test(message) &&
    used.mode !== 'text'
  ) {
    if (abilities.mode === used.mode) abilities.mode = ANSWER_MODES[ANSWER_MODES.indexOf(used.mode) + 1]!
    return true
  }
  if (/max_completion_tokens|max_tokens/.test(message) && used.tokenParameter === 'max_tokens') {
    abilities.tokenParameter = 'max_completion_tokens'
    return true
  }
  if (/temperature/.test(message) && used.temperature) {
    abilities.temperature = false
    return true
  }
  if (/reasoning/.test(message) && used.reasoningEffort) {
    abilities.reasoningEffort = false
    return true
  }
  return false
}

/** Some providers send a list of parts, of which those of the type `text` are the answer (Mistral). */
function toText(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return null
  return content.flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : [])).join('')
}

function toReply(completion: OpenAI.ChatCompletion, price: ModelPrice | undefined): ModelReply {
  const usage = toUsage(completion.usage, price)
  const choice = Array.isArray(completion.choices) ? completion.choices[0] : undefined
  if (!choice?.message) return { kind: 'failed', reason: 'the reply has no message', usage }
  const { refusal } = choice.message
  const content = toText(choice.message.content)
  if (choice.finish_reason === 'content_filter') return { kind: 'refused', reason: 'content filter', usage }
  if (refusal) return { kind: 'refused', reason: plainText(String(refusal), 300) || 'refused', usage }
  const truncated = choice.finish_reason === 'length'
  if (typeof content === 'string') return { kind: 'text', text: content, truncated, usage }
  // A model that reasons first may spend all its tokens on that.
  if (truncated) return { kind: 'text', text: '', truncated, usage }
  return { kind: 'failed', reason: 'the reply has no text', usage }
}

/** Reads the whole body inside the call, so that its deadline covers the body too. Refuses a body without end. */
function boundedFetch(inner: typeof fetch, maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: 'error' })
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      // Leaving the loop cancels the stream.
      if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    const { status, statusText } = response
    const headers = new Headers(response.headers)
    headers.delete('content-encoding')
    headers.delete('content-length')
    return new Response(toBody(status, Buffer.concat(chunks)), { status, statusText, headers })
  }
}

function toBody(status: number, body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string | null {
  if (status === 204 || status === 205 || status === 304) return null
  return status >= 400 ? unwrapError(body) : body
}

/** Gemini wraps an error into a list, which the client does not understand. */
function unwrapError(body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string {
  const value = tryParse(body.toString())
  return Array.isArray(value) && value.length > 0 ? JSON.stringify(value[0]) : body
}
