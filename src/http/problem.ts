import type { ErrorRequestHandler, NextFunction, Request, Response } from 'express'
import { ZodError } from 'zod'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import { type Logger, scrub } from '../logger.ts'

/** The one place that knows status codes. */
export const STATUS: Record<ErrorCode, number> = {
  invalid_request: 400,
  unauthenticated: 401,
  plan_required: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
}

/** Any error as one that may be told: nothing of the inside gets through. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof ZodError) {
    const details = error.issues.slice(0, MAX_FAULTS).map(toDetail)
    const said = details.map(({ path, message }) => (path === 'body' ? message : `${path}: ${message}`)).join('; ')
    return new AppError('invalid_request', `The request body is not valid: ${said}`, { details })
  }
  const { type, status } = error as { type?: unknown; status?: unknown }
  if (type === 'entity.too.large') return new AppError('payload_too_large', 'The request body is too large.')
  if (type === 'entity.parse.failed') return new AppError('invalid_request', 'The request body is not valid JSON.')
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return new AppError('unsupported_media_type', 'This encoding is not supported.')
  if (type === 'request.aborted') return new AppError('invalid_request', 'The request broke off.')
  if (sqlStateOf(error, UNSTORABLE))
    return new AppError('invalid_request', 'A value holds a character that cannot be stored (NUL).')
  if (error instanceof URIError || status === 400)
    return new AppError('invalid_request', 'The address or body cannot be read.')
  if (isConnectionLoss(error))
    return new AppError('unavailable', 'A store is not answering. Try again shortly.', {
      retryAfterSec: 5,
      cause: error,
    })
  if (sqlStateOf(error, STATEMENT_TIMEOUT))
    return new AppError('unavailable', 'This took too long. Try again, or ask for less at once.', {
      retryAfterSec: 5,
      cause: error,
    })
  return new AppError('internal', 'Something went wrong here. The request id helps us find it.', { cause: error })
}

/** A request is short, an answer that lists all its faults need not be. */
const MAX_FAULTS = 20
const UNSTORABLE = ['22021', '22P05']
const STATEMENT_TIMEOUT = ['57014']

function sqlStateOf(error: unknown, states: readonly string[]): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (states.includes(String((cause as { code?: unknown }).code))) return true
  return false
}

function toDetail(issue: ZodError['issues'][number]): ErrorDetail {
  const path = issue.path.join('.') || 'body'
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String)
    return { path, message: `must be one of ${allowed.join(', ')}`, allowed }
  }
  if (issue.code === 'invalid_type') {
    return {
      path,
      message: issue.message.endsWith('received undefined')
        ? `is required: ${issue.expected}`
        : `must be ${issue.expected}`,
    }
  }
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, MAX_FAULTS).map((key) => key.slice(0, 60))
    return { path, message: `unknown: ${keys.join(', ')}` }
  }
  return { path, message: issue.message }
}

/** Writes an error as decided: `{ code, message, details? }`, but a 401 exactly as the specification has it. Never cached. */
export function sendProblem(res: Response, error: AppError): void {
  res.set('Cache-Control', 'no-store')
  for (const header of ['ETag', 'Link', 'Content-Encoding', 'Content-Type', 'Content-Length', 'Content-Disposition'])
    res.removeHeader(header)
  if (error.retryAfterSec !== undefined) res.set('Retry-After', String(Math.ceil(error.retryAfterSec)))
  if (error.code === 'unauthenticated') {
    if (!res.get('WWW-Authenticate')) res.set('WWW-Authenticate', 'Bearer realm="frame-library", error="invalid_token"')
    res.status(401).json({ code: 'unauthenticated' })
    return
  }
  // A message may repeat what was sent, and people send keys in the wrong places.
  const body = scrub(
    JSON.stringify({ code: error.code, message: error.message, ...(error.details ? { details: error.details } : {}) }),
  )
  res.status(STATUS[error.code]).type('json').send(body)
}

export function problemHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, req: Request, res: Response, next: NextFunction) => {
    const problem = toAppError(error)
    const fields = { requestId: res.get('X-Request-Id'), method: req.method, path: req.path, code: problem.code }
    if (problem.code === 'internal') logger.error({ ...fields, err: error }, 'request failed')
    else if (problem.code === 'unavailable') logger.warn({ ...fields, err: problem.cause }, 'store unavailable')
    else logger.info({ ...fields, details: problem.details }, 'request refused')
    if (res.headersSent) return next(error)
    sendProblem(res, problem)
  }
}
