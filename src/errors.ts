import type { z } from 'zod'

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

/** The first fault of each place: what follows, such as the length of a text where a list is due, leads astray. */
export function firstOfEach<I extends z.core.$ZodIssue>(issues: readonly I[]): I[] {
  const known = new Set<string>()
  return issues.filter(({ code, path }) => {
    const place = `${code === 'unrecognized_keys' ? code : ''} ${path.join('.')}`
    return !known.has(place) && known.add(place)
  })
}

/** What zod says where a schema says nothing itself. */
const ITS_OWN = /^(?:Too (?:small|big)|Invalid (?:input|option|string|number)|Unrecognized)/

/** What is allowed instead of a value that a schema refuses, for people: `must be at least 1`. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (!ITS_OWN.test(issue.message)) return issue.message
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_type') return `must be ${typeName(issue.expected)}`
  if (issue.code === 'too_small' && Number(issue.minimum) > 0 && /^(?:string|array)$/.test(issue.origin))
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} ${partsOf(issue.origin)}`
  if (issue.code === 'too_small') return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
  if (issue.code === 'too_big')
    return /^(?:string|array)$/.test(issue.origin)
      ? `must have at most ${issue.maximum} ${partsOf(issue.origin)}`
      : `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
  return issue.message
}

/** What people gave, by its schema. @throws AppError invalid_request with the first fault, in words for them */
export function readGiven<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const name = issue.path.join('.')
  const told = describeIssue(issue)
  throw invalid(name, told.startsWith('must ') ? `${name} ${told}` : told)
}

/** An error map for the fields of a body: an unknown one is told with those that are allowed. */
export function namingFields(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined
  const { shape } = issue.inst as { shape?: object }
  return unknownFields(issue.keys as string[], Object.keys(shape ?? {}))
}

/** At most 20 of them are named, by 60 characters each. */
export function unknownFields(names: readonly string[], allowed: readonly string[] = []): string {
  const unknown = names.slice(0, 20).map((name) => name.slice(0, 60))
  return `unknown: ${unknown.join(', ')}${allowed.length > 0 ? `; allowed are ${allowed.join(', ')}` : ''}`
}

const partsOf = (origin: string): string => (origin === 'array' ? 'values' : 'characters')

/** What a value has to be, with its article: `a text`. */
export const typeName = (expected: string): string => TYPES[expected] ?? expected

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
