import type { ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import type { AppError } from '../errors.ts'
import { toAppError } from '../http/problem.ts'
import { type Charging, chargeOnce } from '../http/rate-limit/rate-limits.ts'

/** JSON-RPC 2.0 messages: how they are read, and what goes out with which HTTP status. */

export type RpcId = string | number | object
export type Fields = Record<string, unknown>

/** A message with an id: it gets an answer. */
export interface RpcCall {
  id: RpcId
  method: string
  params: Fields | undefined
}

export type Message =
  | { kind: 'call'; call: RpcCall; params: Fields | undefined }
  | { kind: 'notification'; params: Fields | undefined }
  | { kind: 'invalid'; id: RpcId | null; why: string }

/** As JSON.parse, except that an id too large for a double keeps its digits, so that it is echoed exactly. */
export function parseBody(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, keepLargeId as (key: string, value: unknown) => unknown)
}

function keepLargeId(key: string, value: unknown, { source }: { source?: string }): unknown {
  if (key !== 'id' || typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return source && /^-?\d+$/.test(source) ? rawJson.rawJSON(source) : value
}

/** Not in TypeScript's library yet. */
const rawJson = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean }

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || Number.isInteger(value) || rawJson.isRawJSON(value)
}

/** The id that an error answer echoes; null where the message has no valid one. */
export function readId(value: unknown): RpcId | null {
  return isFields(value) && isId(value.id) ? value.id : null
}

export function readMessage(value: unknown): Message {
  const invalid = (why: string): Message => ({ kind: 'invalid', id: readId(value), why: `Invalid request: ${why}` })
  if (!isFields(value)) return invalid('not an object')
  if (value.jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"')
  if (typeof value.method !== 'string') return invalid('method must be a string')
  if (value.params !== undefined && !isFields(value.params)) return invalid('params must be an object')
  const params = value.params as Fields | undefined
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', params }
  if (!isId(value.id)) return invalid('id must be a string or a whole number')
  return { kind: 'call', call: { id: value.id, method: value.method, params }, params }
}

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
export const MISSING_CAPABILITY = -32021
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
export async function refuse(limits: Charging, req: Request, res: Response, reply: McpReply): Promise<void> {
  try {
    await chargeOnce(limits, { req, res })
    sendReply(res, reply)
  } catch (error) {
    sendReply(res, budgetReply(null, toAppError(error)))
  }
}
