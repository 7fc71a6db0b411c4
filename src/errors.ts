/**
 * Errors that a caller may see. The code is stable; the message is for people and says what is allowed. Only
 * http/problem.ts knows status codes.
 */
export type ErrorCode =
  | 'invalid_request'
  | 'unauthenticated'
  | 'plan_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'internal'
  | 'unavailable'

export interface ErrorDetail {
  path: string
  message: string
  allowed?: readonly string[]
}

export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  /** Seconds after which a retry may succeed (`rate_limited`, `unavailable`). */
  readonly retryAfterSec: number | undefined
  /** What there is none of (`not_found`): each surface says where such things are listed. */
  readonly missing: string | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; retryAfterSec?: number; missing?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.details = options.details
    this.retryAfterSec = options.retryAfterSec
    this.missing = options.missing
  }
}

export function notFound(what: string): AppError {
  return new AppError('not_found', `No such ${what}.`, { missing: what })
}

export function invalid(path: string, message: string, allowed?: readonly string[]): AppError {
  return new AppError('invalid_request', message, {
    details: [allowed ? { path, message, allowed } : { path, message }],
  })
}

/**
 * Why a video cannot become frames. The code is stable and stored with the video. The message is for the operator and
 * exposes no internals. The queue retries `retryable` failures; any other fails the video at once.
 */
export class MediaError extends Error {
  readonly code: string
  readonly retryable: boolean

  constructor(code: string, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'MediaError'
    this.code = code
    this.retryable = options.retryable ?? false
  }
}
