import OpenAI from 'openai'
import { AnnotatorUnavailable } from '../annotator.ts'
import { plainText } from '../plain-text.ts'

const DEFAULT_PAUSE_MS = 20_000
const MISCONFIGURED_PAUSE_MS = 5 * 60_000
const UNREACHABLE_PAUSE_MS = 30_000
const SPENT_PAUSE_MS = 60 * 60_000

type ApiError = InstanceType<typeof OpenAI.APIError>

/** A call that brought no answer. See `ModelReply`. */
export interface CallFailure {
  kind: 'refused' | 'rejected' | 'failed'
  reason: string
}

/**
 * What a failed call means for its request.
 * @throws AnnotatorUnavailable when it concerns the endpoint and not the request
 */
export function classify(error: unknown): CallFailure {
  if (!(error instanceof OpenAI.APIError) || error.status === undefined) return classifyConnection(error)
  const { status } = error
  const reason = `HTTP ${status}: ${shortMessage(error)}`
  if (isModeration(error)) return { kind: 'refused', reason }
  const unavailable = unavailableBy(error, reason)
  if (unavailable) throw unavailable
  if (status >= 400 && status < 500 && status !== 408 && status !== 409) return { kind: 'rejected', reason }
  return { kind: 'failed', reason }
}

/** OpenRouter answers 403 to a picture that its moderation flags, with the reasons. */
function isModeration({ status, code, error }: ApiError): boolean {
  if (code === 'content_filter' || code === 'content_policy_violation') return true
  const metadata = (error as { metadata?: { reasons?: unknown } } | undefined)?.metadata
  return status === 403 && Array.isArray(metadata?.reasons)
}

function classifyConnection(error: unknown): CallFailure {
  // No connection was made: the request cannot be the cause, and nothing has been paid for.
  const cause = missingConnection(error)
  if (cause !== undefined) {
    const message = `The vision endpoint cannot be reached (${cause}). Check VISION_BASE_URL.`
    throw new AnnotatorUnavailable('unreachable', message, UNREACHABLE_PAUSE_MS)
  }
  const late = error instanceof OpenAI.APIUserAbortError || error instanceof OpenAI.APIConnectionTimeoutError
  return { kind: 'failed', reason: late ? 'no answer in time' : `no usable answer: ${shortMessage(error)}` }
}

function unavailableBy({ status, code, headers }: ApiError, reason: string): AnnotatorUnavailable | undefined {
  if (status === 402) return spent(`The vision endpoint requires payment (${reason}). Add credit to its account.`)
  if (status === 429 && code === 'insufficient_quota')
    return spent(`The quota of the vision endpoint is used up (${reason}). Raise it or wait for its renewal.`)
  if (status === 429) return rateLimited(readRetryAfter(headers) ?? DEFAULT_PAUSE_MS)
  // Gemini answers 400 to a wrong key.
  if (status === 401 || status === 403 || (status === 400 && /api[ _]key/i.test(reason)))
    return misconfigured(`The vision endpoint does not accept the key (${reason}). Check VISION_API_KEY.`)
  if (status === 404 || code === 'model_not_found')
    return misconfigured(
      `The vision endpoint does not know the model or the path (${reason}). Check VISION_MODEL and VISION_BASE_URL.`,
    )
  // Overload has many numbers: 503, and 529 of Anthropic.
  const pauseMs = (status ?? 0) >= 500 ? readRetryAfter(headers) : null
  return pauseMs === null ? undefined : rateLimited(pauseMs)
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
