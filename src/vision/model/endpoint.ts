import OpenAI from 'openai'
import { AnnotatorUnavailable } from '../annotator.ts'
import { plainText } from '../plain-text.ts'
import { ANSWER_MODES, type AnswerMode } from './prompt.ts'

export interface ModelPrice {
  /** US dollars per million tokens. */
  input: number
  cachedInput?: number
  output: number
}

export interface EndpointOptions {
  baseUrl: string
  apiKey: string
  model: string
  fetch?: typeof fetch
  reasoningEffort?: string
  /** Longest wait for one answer. */
  timeoutMs: number
  /** Longest answer body read. */
  maxBytes: number
  prices: Record<string, ModelPrice>
}

export interface Question {
  /** Built for the mode in use: looser modes carry the form of the answer in words. */
  messages: (mode: AnswerMode) => OpenAI.ChatCompletionMessageParam[]
  schema: Record<string, unknown>
  maxTokens: number
}

export interface Usage {
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

export type Answer =
  | { kind: 'text'; text: string; truncated: boolean; usage: Usage }
  | { kind: 'refused'; reason: string; usage: Usage }
  /** This question cannot be answered as it is (an image the server cannot take): asking the same again is useless. */
  | { kind: 'rejected'; reason: string; usage: Usage }
  /** The endpoint failed: it may answer the same question later. */
  | { kind: 'failed'; reason: string; usage: Usage }

const NO_USAGE: Usage = { inputTokens: null, cachedTokens: null, outputTokens: null, costUsd: null }
const DEFAULT_PAUSE_MS = 20_000
const MISCONFIGURED_PAUSE_MS = 5 * 60_000
const UNREACHABLE_PAUSE_MS = 30_000
const SPENT_PAUSE_MS = 60 * 60_000
const MAX_PAUSE_MS = 60 * 60_000

/** What this endpoint and model proved not to take; remembered as long as the annotator is open. */
interface Abilities {
  mode: AnswerMode
  tokenParameter: 'max_tokens' | 'max_completion_tokens'
  temperature: boolean
  reasoningEffort: boolean
}

/** One chat completion after another against an OpenAI-compatible endpoint. Throws `AnnotatorUnavailable` when the endpoint says to wait or the key or model is wrong. */
export function openEndpoint(options: EndpointOptions) {
  const able: Abilities = {
    mode: 'json_schema',
    tokenParameter: 'max_tokens',
    temperature: true,
    reasoningEffort: true,
  }
  const client = new OpenAI({
    baseURL: options.baseUrl,
    apiKey: options.apiKey,
    maxRetries: 0,
    timeout: options.timeoutMs,
    fetch: boundedFetch(options.fetch ?? fetch, options.maxBytes),
    logLevel: 'off',
  })

  async function ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)])
    // Each adjustment happens at most once per endpoint and model; the bound is for a server that contradicts itself.
    for (let adjustments = 0; ; adjustments++) {
      const form = { ...able }
      try {
        const completion = await client.chat.completions.create(toRequest(question, form), { signal: deadline })
        return toAnswer(completion)
      } catch (error) {
        signal.throwIfAborted()
        if (adjustments < 5 && adjust(error, form)) continue
        return classify(error)
      }
    }
  }

  function toRequest(
    { messages, schema, maxTokens }: Question,
    form: Abilities,
  ): OpenAI.ChatCompletionCreateParamsNonStreaming {
    return {
      model: options.model,
      messages: messages(form.mode),
      [form.tokenParameter]: maxTokens,
      ...(form.temperature ? { temperature: 0 } : {}),
      ...(options.reasoningEffort !== undefined && form.reasoningEffort
        ? { reasoning_effort: options.reasoningEffort as OpenAI.ReasoningEffort }
        : {}),
      ...(form.mode === 'json_schema'
        ? { response_format: { type: 'json_schema', json_schema: { name: 'frames', strict: true, schema } } }
        : {}),
      ...(form.mode === 'json_object' ? { response_format: { type: 'json_object' } } : {}),
    }
  }

  /**
   * Learns from a refusal of a parameter; true when the same question may be asked again in another form. Of calls that are refused at the same time the first
   * teaches it and the others only follow, which is why the form they were asked in counts and not the present one.
   */
  function adjust(error: unknown, form: Abilities): boolean {
    if (!(error instanceof OpenAI.APIError) || (error.status !== 400 && error.status !== 422)) return false
    const message = `${error.message} ${error.param ?? ''}`.toLowerCase()
    // Gemini calls it generation_config.response_schema, others name the member of the schema that they do not know.
    if (
      /response_?format|schema|json_object|structured output|guided|grammar|additionalproperties/.test(message) &&
      form.mode !== 'text'
    ) {
      if (able.mode === form.mode) able.mode = ANSWER_MODES[ANSWER_MODES.indexOf(form.mode) + 1]!
      return true
    }
    if (/max_completion_tokens|max_tokens/.test(message) && form.tokenParameter === 'max_tokens') {
      able.tokenParameter = 'max_completion_tokens'
      return true
    }
    if (/temperature/.test(message) && form.temperature) {
      able.temperature = false
      return true
    }
    if (options.reasoningEffort !== undefined && /reasoning/.test(message) && form.reasoningEffort) {
      able.reasoningEffort = false
      return true
    }
    return false
  }

  function toAnswer(completion: OpenAI.ChatCompletion): Answer {
    const usage = toUsage(completion.usage, options.prices[options.model])
    const choice = Array.isArray(completion.choices) ? completion.choices[0] : undefined
    if (!choice?.message) return { kind: 'failed', reason: 'the answer held no message', usage }
    if (choice.finish_reason === 'content_filter') return { kind: 'refused', reason: 'content filter', usage }
    if (choice.message.refusal)
      return { kind: 'refused', reason: plainText(String(choice.message.refusal), 300) || 'refused', usage }
    const truncated = choice.finish_reason === 'length'
    // A model that reasons first may spend all its room on that.
    if (typeof choice.message.content !== 'string' && truncated) return { kind: 'text', text: '', truncated, usage }
    if (typeof choice.message.content !== 'string') return { kind: 'failed', reason: 'the answer held no text', usage }
    return { kind: 'text', text: choice.message.content, truncated, usage }
  }

  return { ask }
}

function classify(error: unknown): Answer {
  if (!(error instanceof OpenAI.APIError) || error.status === undefined) {
    // No connection was ever made: nothing in the question can be the cause, and nothing has been paid for.
    const missing = missingConnection(error)
    if (missing !== undefined)
      throw new AnnotatorUnavailable(
        'unreachable',
        `The vision endpoint cannot be reached (${missing})`,
        UNREACHABLE_PAUSE_MS,
      )
    const late = error instanceof OpenAI.APIUserAbortError || error instanceof OpenAI.APIConnectionTimeoutError
    return {
      kind: 'failed',
      reason: late ? 'no answer in time' : `no usable answer: ${shortMessage(error)}`,
      usage: NO_USAGE,
    }
  }
  const { status, code } = error
  const reason = `HTTP ${status}: ${shortMessage(error)}`
  if (status === 402)
    throw new AnnotatorUnavailable(
      'budget_spent',
      `The vision endpoint wants to be paid first (${reason})`,
      SPENT_PAUSE_MS,
    )
  if (status === 429) {
    if (code === 'insufficient_quota')
      throw new AnnotatorUnavailable(
        'budget_spent',
        `The vision endpoint says that its quota is spent (${reason})`,
        SPENT_PAUSE_MS,
      )
    throw new AnnotatorUnavailable(
      'rate_limited',
      'The vision endpoint asks to wait',
      readPause(error.headers) ?? DEFAULT_PAUSE_MS,
    )
  }
  // Gemini answers 400 to a wrong key.
  if (status === 401 || status === 403 || (status === 400 && /api[ _]key/i.test(reason))) {
    throw new AnnotatorUnavailable(
      'misconfigured',
      `The vision endpoint does not accept the key (${reason})`,
      MISCONFIGURED_PAUSE_MS,
    )
  }
  if (status === 404 || code === 'model_not_found') {
    throw new AnnotatorUnavailable(
      'misconfigured',
      `The vision endpoint does not know the model or the address (${reason})`,
      MISCONFIGURED_PAUSE_MS,
    )
  }
  if (status === 503) {
    const pause = readPause(error.headers)
    if (pause !== null) throw new AnnotatorUnavailable('rate_limited', 'The vision endpoint asks to wait', pause)
  }
  if (code === 'content_filter' || code === 'content_policy_violation')
    return { kind: 'refused', reason, usage: NO_USAGE }
  if (status >= 400 && status < 500 && status !== 408 && status !== 409)
    return { kind: 'rejected', reason, usage: NO_USAGE }
  return { kind: 'failed', reason, usage: NO_USAGE }
}

/** Why no connection was made; undefined for everything that went wrong later. */
function missingConnection(error: unknown): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code))
      return plainText(cause.message || code, 200)
  }
  return undefined
}

function shortMessage(error: unknown): string {
  const cause =
    error instanceof Error && error.cause instanceof Error
      ? `${error.message} (${error.cause.message})`
      : error instanceof Error
        ? error.message
        : String(error)
  return plainText(cause.replaceAll('\n', ' '), 200)
}

/** `retry-after-ms`, `retry-after` in seconds or as a date, or OpenAI's `x-ratelimit-reset-*` (`1s`, `6m0s`), the longest; null without any. */
export function readPause(headers: Headers | undefined, now = Date.now()): number | null {
  if (!headers) return null
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return Math.min(milliseconds, MAX_PAUSE_MS)
  const after = headers.get('retry-after')
  if (after !== null) {
    const pause = /^\s*\d+(\.\d+)?\s*$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now
    if (Number.isFinite(pause)) return Math.min(Math.max(0, pause), MAX_PAUSE_MS)
  }
  const resets = ['x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'].flatMap((name) => {
    const match = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?$/.exec(headers.get(name) ?? '')
    if (!match?.[0]) return []
    const [, hours = 0, minutes = 0, seconds = 0, ms = 0] = match.map((part) => Number(part ?? 0))
    return [((hours * 60 + minutes) * 60 + seconds) * 1000 + ms]
  })
  return resets.length > 0 ? Math.min(Math.max(...resets), MAX_PAUSE_MS) : null
}

function toUsage(usage: OpenAI.CompletionUsage | undefined | null, price: ModelPrice | undefined): Usage {
  const count = (value: unknown) =>
    typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null
  const inputTokens = count(usage?.prompt_tokens)
  const outputTokens = count(usage?.completion_tokens)
  const cachedTokens = count(usage?.prompt_tokens_details?.cached_tokens)
  if (!price || inputTokens === null || outputTokens === null)
    return { inputTokens, cachedTokens, outputTokens, costUsd: null }
  const cached = Math.min(cachedTokens ?? 0, inputTokens)
  const dollars =
    (inputTokens - cached) * price.input + cached * (price.cachedInput ?? price.input) + outputTokens * price.output
  return { inputTokens, cachedTokens, outputTokens, costUsd: dollars / 1e6 }
}

/** Reads the whole body inside the call, so that its deadline covers the body too, and refuses one that never ends. */
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
    const bodyless = status === 204 || status === 205 || status === 304
    const body = Buffer.concat(chunks)
    return new Response(bodyless ? null : status >= 400 ? unwrapError(body) : body, { status, statusText, headers })
  }
}

/** Gemini wraps an error into a list, of which the client reads nothing. */
function unwrapError(body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string {
  try {
    const value: unknown = JSON.parse(body.toString())
    return Array.isArray(value) && value.length > 0 ? JSON.stringify(value[0]) : body
  } catch {
    return body
  }
}
