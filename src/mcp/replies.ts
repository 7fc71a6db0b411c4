import type { ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import type { AppError } from '../errors.ts'
import { toAppError } from '../http/problem.ts'
import { chargeOnce, type LocalLimits } from '../http/rate-limit/rate-limits.ts'
import type { RpcId } from './messages.ts'

/** What goes out: JSON-RPC 2.0 messages with their HTTP status. */

export interface McpReply {
  status: number
  headers: Record<string, string>
  /** JSON text in pieces: a kept result is sent as its bytes. Undefined where the protocol wants no body (202). */
  body: readonly (string | Buffer)[] | undefined
}

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const HEADER_MISMATCH = -32020
export const UNSUPPORTED_VERSION = -32022
/** Ours, outside the range that JSON-RPC and MCP reserve. */
const RATE_LIMITED = 429
const UNAVAILABLE = 503

/** A JSON-RPC error. `status` is the HTTP status: 200 where the message was understood, unless the era has another. */
export class RpcError extends Error {
  readonly code: number
  readonly status: number
  readonly data: unknown
  readonly headers: Record<string, string>

  constructor(
    code: number,
    message: string,
    options: { status?: number; data?: unknown; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.status = options.status ?? 200
    this.data = options.data
    this.headers = options.headers ?? {}
  }
}

/** The answer to a notification. */
export const ACCEPTED: McpReply = { status: 202, headers: {}, body: undefined }

/** `result` is JSON already, which equal calls share. */
export function resultReply(id: RpcId, result: string | Buffer): McpReply {
  return { status: 200, headers: {}, body: [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, result, '}'] }
}

export function errorReply(id: RpcId | null, { code, message, data, status, headers }: RpcError): McpReply {
  return { status, headers, body: [JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })] }
}

/** The answers of a batch in one body. */
export function batchReply(answers: readonly McpReply[]): McpReply {
  const pieces = answers.flatMap(({ body = [] }, n) => [n === 0 ? '[' : ',', ...body])
  return { status: 200, headers: {}, body: [...pieces, ']'] }
}

/** The answer to a body that is never read: a refused origin, a wrong type, too many bytes. */
export function refusalReply(status: number, message: string, headers: Record<string, string> = {}): McpReply {
  return errorReply(null, new RpcError(INVALID_REQUEST, message, { status, headers }))
}

/** The answer where the rate limit is used up or cannot be read. */
export function budgetReply(id: RpcId | null, error: AppError): McpReply {
  const status = error.code === 'rate_limited' ? RATE_LIMITED : UNAVAILABLE
  const retryAfterSec = Math.ceil(error.retryAfterSec ?? 1)
  const headers = { 'Retry-After': String(retryAfterSec) }
  const data = { code: error.code, retryAfterSec }
  return errorReply(id, new RpcError(status, error.message, { status, headers, data }))
}

/** Sends a reply of the dispatcher. */
export function sendReply(res: ServerResponse, { status, headers, body }: McpReply): void {
  if (res.destroyed) return
  res.statusCode = status
  res.setHeader('Cache-Control', 'no-store')
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (body === undefined) {
    res.end()
    return
  }
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader(
    'Content-Length',
    body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0),
  )
  res.cork()
  for (const piece of body) res.write(piece)
  res.end()
}

/** Refuses a request before its message is read. It takes a point, like any refusal. */
export function refuse(limits: LocalLimits, req: Request, res: Response, reply: McpReply): void {
  try {
    chargeOnce(limits, req)
    sendReply(res, reply)
  } catch (error) {
    sendReply(res, budgetReply(null, toAppError(error)))
  }
}
