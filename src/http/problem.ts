import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorRequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { ZodError } from 'zod'
import { isConnectionLoss } from '../db/client.ts'
import {
  AppError,
  describeIssue,
  type ErrorCode,
  type ErrorDetail,
  firstOfEach,
  typeName,
  unknownFields,
} from '../errors.ts'
import { type Logger, scrub } from '../logger.ts'
import { contextOf, loggedPath } from './edge.ts'
import { RateLimited } from './rate-limit/budgets.ts'
import { type Charging, chargeOnce, setRateLimitHeaders } from './rate-limit/rate-limits.ts'
import { isClientGone } from './response-body.ts'

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
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
}

/** Turns any error into one that is safe to show: it holds no stack, path or key of the service. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof ZodError) {
    const details = firstOfEach(error.issues).slice(0, MAX_FAULTS).map(toDetail)
    const faults = details.map(({ path, message }) => (path === 'body' ? message : `${path}: ${message}`)).join('; ')
    return new AppError('invalid_request', `The request body is not valid: ${faults}`, { details })
  }
  const { type, status, limit } = error as { type?: unknown; status?: unknown; limit?: unknown }
  if (type === 'entity.too.large')
    return new AppError('payload_too_large', `The request body is too large. Send at most ${limit} bytes.`)
  if (type === 'parameters.too.many')
    return new AppError('payload_too_large', 'The form has too many fields. Send only those of the page.')
  if (type === 'entity.parse.failed')
    return new AppError('invalid_request', 'The request body is not a JSON object. Send a JSON object.')
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return new AppError('unsupported_media_type', 'This encoding is not supported. Send UTF-8, plain or gzipped.')
  if (type === 'request.aborted')
    return new AppError('invalid_request', 'The request ended before its body was complete. Send it again.')
  if (sqlStateOf(error, UNSTORABLE_TEXT))
    return new AppError('invalid_request', 'A value contains the character NUL, which cannot be stored. Remove it.')
  if (error instanceof URIError || status === 400)
    return new AppError('invalid_request', 'The URL or the body cannot be read. Check its encoding.')
  const unavailable = (message: string, retryAfterSec: number) =>
    new AppError('unavailable', message, { retryAfterSec, cause: error })
  if (sqlStateOf(error, DISK_FULL))
    return unavailable('The disk of the service is full, so nothing can be changed now. Try again later.', 60)
  if (sqlStateOf(error, STATEMENT_TIMEOUT))
    return unavailable('The query took too long. Ask for less at once, or try again.', 5)
  if (sqlStateOf(error, LOCKED))
    return unavailable('Other requests are changing the same thing. Try again in a second.', 1)
  if (isConnectionLoss(error))
    return unavailable('The service cannot reach its database or storage. Try again in a few seconds.', 5)
  return new AppError(
    'internal',
    'Something went wrong on our side. The X-Request-Id of this response helps us find it.',
    { cause: error },
  )
}

/** The error of a request, whose sender may have left within its body. */
export function problemOf(error: unknown, { errored }: Pick<IncomingMessage, 'errored'>): AppError {
  const left = errored && (error === errored || isClientGone(error))
  return toAppError(left ? { type: 'request.aborted' } : error)
}

/** Which read lists what there is none of. */
const LISTED: Readonly<Record<string, string>> = {
  frame: 'GET /api/frames',
  image: 'GET /api/frames',
  video: 'GET /api/videos',
  board: 'GET /api/boards',
  technique: 'GET /api/techniques',
  webhook: 'GET /api/webhooks',
}

/** A short request can hold many faults; the answer lists this many. */
const MAX_FAULTS = 20
const UNSTORABLE_TEXT = ['22021', '22P05']
const STATEMENT_TIMEOUT = ['57014']
const LOCKED = ['55P03', '40P01', '40001']
const DISK_FULL = ['53100', 'ENOSPC', 'EDQUOT']

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
      message: issue.message.endsWith('received undefined') ? requiredAt(path, issue.expected) : describeIssue(issue),
    }
  }
  if (issue.code === 'unrecognized_keys') {
    return { path, message: /^unknown: /.test(issue.message) ? issue.message : unknownFields(issue.keys) }
  }
  return { path, message: describeIssue(issue) }
}

const requiredAt = (path: string, expected: string): string =>
  path === 'body' ? 'send a JSON object' : `is required and must be ${typeName(expected)}`

/** Headers of the answer that a route had begun. An error is sent without them. */
const OF_THE_ANSWER = [
  'ETag',
  'Link',
  'Content-Encoding',
  'Content-Type',
  'Content-Length',
  'Content-Disposition',
] as const

/**
 * Sends an error as `{ code, message, details? }`; a 401 is exactly `{ "code": "unauthenticated" }`
 * (docs/interface.md §7). Never cached.
 */
function sendProblem(req: IncomingMessage, res: ServerResponse, error: AppError): void {
  for (const header of OF_THE_ANSWER) res.removeHeader(header)
  res.setHeader('Cache-Control', 'no-store')
  if (error instanceof RateLimited) setRateLimitHeaders(res, error.usage)
  if (error.retryAfterSec !== undefined) res.setHeader('Retry-After', String(Math.ceil(error.retryAfterSec)))
  if (error.code === 'unauthenticated' && !res.hasHeader('WWW-Authenticate'))
    res.setHeader('WWW-Authenticate', 'Bearer realm="frame-library", error="invalid_token"')
  const body = Buffer.from(bodyOf(error))
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', body.length)
  res.statusCode = STATUS[error.code]
  res.end(req.method === 'HEAD' ? undefined : body)
}

/** For a request without a context. */
export function sendBareProblem(req: IncomingMessage, res: ServerResponse): void {
  sendProblem(req, res, new AppError('internal', 'Something went wrong on our side. Send the request again later.'))
}

function bodyOf({ code, message, details, missing }: AppError): string {
  if (code === 'unauthenticated') return JSON.stringify({ code })
  const listed = LISTED[missing ?? '']
  // A message may quote the request, and people put keys in the wrong places.
  return scrub(
    JSON.stringify({ code, message: listed ? `${message} ${listed} lists those there are.` : message, details }),
  )
}

/** The error to answer: the given one, or `rate_limited` when its sender has used up a budget with such requests. */
export async function charged(
  limits: Charging,
  problem: AppError,
  exchange: { req: IncomingMessage; res: ServerResponse },
): Promise<AppError> {
  if (STATUS[problem.code] >= 500) return problem
  try {
    await chargeOnce(limits, exchange)
    return problem
  } catch (refusal) {
    return toAppError(refusal)
  }
}

function isPoolClosed(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause.message === 'Cannot use a pool after calling end on the pool') return true
  return false
}

/**
 * The error handler at the end of the Express application. It logs an error once, answers it, and discards the rest of
 * the body. When the answer has already begun, it closes the connection.
 */
export function problemHandler(logger: Logger, limits: Charging): ErrorRequestHandler {
  const refused = openRefusalLog(logger)
  // Express recognises an error handler by its four parameters.
  return async (error: unknown, req, res, _next) => {
    // A stop does not wait for requests whose client has gone. The database may be closed to them: that is not logged.
    if (res.destroyed && isPoolClosed(error)) return
    const problem = await charged(limits, problemOf(error, req), { req, res })
    const { requestId, address } = contextOf(req)
    const fields = { requestId, method: req.method, path: loggedPath(req), code: problem.code }
    if (problem.code === 'internal') logger.error({ ...fields, err: error }, 'request failed')
    else if (problem.code === 'unavailable') logger.warn({ ...fields, err: problem.cause }, 'dependency unavailable')
    // Without the details, which quote the request.
    else refused(address, fields, 'request refused')
    if (res.headersSent) res.destroy()
    else sendProblem(req, res, problem)
    // The rest of a refused body is read, so that its sender reads the answer. A reader that failed leaves it paused.
    if (!req.complete && req.readableFlowing !== true) req.resume()
  }
}

/** Lines a minute for one address. Further refusals are only counted. */
const LINES = 20
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Logs why a request of an address was refused. */
export type RefusalLog = (address: string, fields: object, message: string) => void

/**
 * Logs the first refusals of each address in a minute, and then one line that counts the others. So one client can
 * neither fill the disk nor hide the faults of others.
 */
export function openRefusalLog(logger: Pick<Logger, 'info'>): RefusalLog {
  const logged = new LRUCache<string, number>({ max: MAX_ADDRESSES })
  const silenced = new Set<string>()
  let unlogged = 0
  let untilMs = 0

  function beginWindow(now: number): void {
    logged.clear()
    untilMs = now + WINDOW_MS
  }

  function tellCount(): void {
    logger.info({ count: unlogged, addresses: silenced.size }, 'refusals not logged')
    unlogged = 0
    silenced.clear()
  }

  return (address, fields, message) => {
    const now = performance.now()
    if (now >= untilMs) beginWindow(now)
    const count = logged.get(address) ?? 0
    if (count < LINES) {
      logged.set(address, count + 1)
      logger.info(fields, message)
      return
    }
    if (unlogged++ === 0) setTimeout(tellCount, untilMs - now).unref()
    if (silenced.size < MAX_ADDRESSES) silenced.add(address)
  }
}
