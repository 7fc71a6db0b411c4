import { AnnotatorUnavailable } from '../annotator.ts'
import { plainText } from '../plain-text.ts'
import { HttpFailure, PAGE, type ServerOptions } from './http.ts'
import { profileOf, type Trouble } from './profiles.ts'

const DEFAULT_PAUSE_MS = 20_000
const MISCONFIGURED_PAUSE_MS = 5 * 60_000
const UNREACHABLE_PAUSE_MS = 30_000
const SPENT_PAUSE_MS = 60 * 60_000

/** A call that brought no answer. See `ModelReply`. */
export interface CallFailure {
  kind: 'refused' | 'rejected' | 'failed'
  reason: string
}

/**
 * What a failed call means for its request.
 * @throws AnnotatorUnavailable when it concerns the endpoint and not the request
 */
export function classify(error: unknown, asked: ServerOptions): CallFailure {
  if (error instanceof AnnotatorUnavailable) throw error
  if (!(error instanceof HttpFailure)) return classifyConnection(error, asked)
  const { status } = error
  const reason = `HTTP ${status}: ${shortMessage(error)}`
  if (isModeration(error)) return { kind: 'refused', reason }
  const unavailable = unavailableBy(error, reason, asked)
  if (unavailable) throw unavailable
  if (status >= 400 && status < 500 && status !== 408 && status !== 409) return { kind: 'rejected', reason }
  return { kind: 'failed', reason }
}

/** OpenRouter answers 403 to a picture that its moderation flags, with the reasons. */
function isModeration({ status, code, error }: HttpFailure): boolean {
  if (code === 'content_filter' || code === 'content_policy_violation') return true
  return status === 403 && Array.isArray(error?.metadata?.reasons)
}

function classifyConnection(error: unknown, asked: ServerOptions): CallFailure {
  // No connection was made: the request cannot be the cause, and nothing has been paid for.
  const cause = missingConnection(error)
  if (cause !== undefined) {
    const message = `Nothing answers at ${asked.baseUrl} (${cause}). ${toMending(asked, 'reach')}`
    throw new AnnotatorUnavailable('unreachable', message, UNREACHABLE_PAUSE_MS)
  }
  const isLate = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
  return { kind: 'failed', reason: isLate ? 'no answer in time' : `no usable answer: ${shortMessage(error)}` }
}

/** What servers say of a model without eyes. llama.cpp without a projector and older versions of Ollama answer 500. */
const BLIND = new RegExp(
  [
    'unsupported content part type',
    'missing data required for image',
    'not a multimodal model',
    'at most 0 image',
    '(not|that) support (image|vision|multimodal)',
    'images? (input )?(is|are) not supported',
    'image_url is only supported',
  ].join('|'),
  'i',
)

/** What servers say of a request that is longer than their window. */
const TOO_LONG = /context[_ ](length|size|window)|prompt is too long|maximum (input )?tokens|n_ctx/i

export const isTooLong = (reason: string): boolean => TOO_LONG.test(reason)

function unavailableBy(failure: HttpFailure, reason: string, asked: ServerOptions): AnnotatorUnavailable | undefined {
  const { status, code, headers } = failure
  if (BLIND.test(failure.message)) return misconfigured(describeBlind(asked, reason))
  if (code === PAGE)
    return misconfigured(`${asked.baseUrl} answers with a page, not as a model's server. ${toMending(asked, 'reach')}`)
  // Anthropic answers 400 to an empty account.
  if (status === 402 || (status === 400 && /credit balance/i.test(reason)))
    return spent(`The vision endpoint requires payment (${reason}). Add credit to its account.`)
  if (status === 429 && code === 'insufficient_quota')
    return spent(`The quota of the vision endpoint is used up (${reason}). Raise it or wait for its renewal.`)
  if (status === 429) return rateLimited(readRetryAfter(headers) ?? DEFAULT_PAUSE_MS)
  // Gemini answers 400 to a wrong key.
  if (status === 401 || status === 403 || (status === 400 && /api[ _]key/i.test(reason)))
    return misconfigured(`The vision endpoint does not accept the key (${reason}). Check VISION_API_KEY.`)
  if (status === 404 || code === 'model_not_found') return misconfigured(describeMissing(asked, reason))
  // Overload has many numbers: 503, and 529 of Anthropic.
  const pauseMs = status >= 500 ? readRetryAfter(headers) : null
  return pauseMs === null ? undefined : rateLimited(pauseMs)
}

// What is wrong, why it is known, and the command or the setting that mends it.

const because = (reason: string | undefined) => (reason === undefined ? '' : ` (${reason})`)

export const describeBlind = (asked: ServerOptions, reason?: string) =>
  `The model ${asked.model} takes no pictures${because(reason)}. ${toMending(asked, 'pictures')}`

export const describeMissing = (asked: ServerOptions, reason?: string) =>
  `${asked.baseUrl} has no model ${asked.model}${because(reason)}. ${toMending(asked, 'model')}`

export const describeSmall = (asked: ServerOptions, needed: number, reason: string) =>
  `The window of ${asked.model} is too small (${reason}): one frame needs ${needed} tokens. ` +
  toMending(asked, 'window', needed)

export function toMending({ server, model }: ServerOptions, trouble: Trouble, tokens = 0): string {
  const rounded = String(Math.ceil(tokens / 1024) * 1024)
  return profileOf(server).mend[trouble].replaceAll('{model}', model).replaceAll('{tokens}', rounded)
}

function spent(message: string): AnnotatorUnavailable {
  return new AnnotatorUnavailable('budget_spent', message, SPENT_PAUSE_MS)
}

function rateLimited(pauseMs: number): AnnotatorUnavailable {
  return new AnnotatorUnavailable('rate_limited', 'The vision endpoint is rate limiting.', pauseMs)
}

export function misconfigured(message: string): AnnotatorUnavailable {
  return new AnnotatorUnavailable('misconfigured', message, MISCONFIGURED_PAUSE_MS)
}

/** Why no connection was made; undefined for everything that failed later. */
function missingConnection(error: unknown): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code))
      return plainText(cause.message || code, 200)
  }
  return undefined
}

function shortMessage(error: unknown): string {
  let message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && error.cause instanceof Error) message += ` (${error.cause.message})`
  return plainText(message.replaceAll('\n', ' '), 200)
}

const MAX_PAUSE_MS = 60 * 60_000

/**
 * The wait that an endpoint asks for, milliseconds; null without any. Reads `retry-after-ms`, then `retry-after` in
 * seconds or as a date, then the longest of OpenAI's `x-ratelimit-reset-*` (`1s`, `6m0s`).
 */
export function readRetryAfter(headers: Headers | undefined, now = Date.now()): number | null {
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
