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
  if (!/"id"\s*:\s*-?\d{16}/.test(text)) return JSON.parse(text)
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
const HEADER_MISMATCH = -32020
export const MISSING_CAPABILITY = -32021
const UNSUPPORTED_VERSION = -32022
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

/**
 * The two families of protocol revisions, both stateless here. The older revisions begin with `initialize`, which only
 * answers. Revision 2026-07-28 has no `initialize`: every request names its version and the client's capabilities.
 */

const MODERN = '2026-07-28'
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
/** The only revision with batches. */
const BATCHES = '2025-03-26'
const LIST_TTL_MS = 300_000

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META_SERVER = 'io.modelcontextprotocol/serverInfo'

export interface ServerInfo {
  name: string
  title: string
  version: string
  websiteUrl?: string
}

/** How a family of revisions answers. */
export interface Era {
  /** Keeps the cached results of the families apart. */
  readonly name: 'legacy' | 'modern'
  readonly unknownMethodStatus: number
  /** A result with the members that this family adds; `meta` joins its `_meta`. */
  wrap(result: object, meta?: Fields): object
  /** What a list says about how long and for whom it may be cached. */
  listCaching(scope: 'public' | 'private', ttlMs?: number): object
  /** The error code of a resource that is not there. */
  readonly resourceNotFound: number
  /** The methods besides those of the tools. */
  readonly methods: ReadonlyMap<string, Method>
}

type Method = (params: Fields | undefined) => object

export interface Eras {
  legacy: Era
  modern: Era
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface EraOptions {
  info: ServerInfo
  instructions: string
}

const CAPABILITIES = { tools: { listChanged: false }, resources: { listChanged: false } }
export const TASKS = 'io.modelcontextprotocol/tasks'
/** Older hosts must not see them. Skills are SEP-2640, tasks SEP-2663. */
const EXTENSIONS = { 'io.modelcontextprotocol/skills': {}, [TASKS]: {} }

export function createEras(options: EraOptions): Eras {
  return { legacy: legacyEra(options), modern: modernEra(options) }
}

function legacyEra({ info, instructions }: EraOptions): Era {
  const initialize = (params: Fields | undefined) => ({
    protocolVersion: LEGACY.find((version) => version === params?.protocolVersion) ?? LEGACY[0],
    capabilities: CAPABILITIES,
    serverInfo: info,
    instructions,
  })
  return {
    name: 'legacy',
    unknownMethodStatus: 200,
    wrap: (result, meta) => (meta === undefined ? result : { ...result, _meta: meta }),
    listCaching: () => ({}),
    resourceNotFound: -32002,
    methods: new Map<string, Method>([
      ['initialize', initialize],
      ['ping', () => ({})],
    ]),
  }
}

function modernEra({ info, instructions }: EraOptions): Era {
  const wrap = (result: object, meta?: Fields) => ({
    resultType: 'complete',
    ...result,
    _meta: { [META_SERVER]: info, ...meta },
  })
  const listCaching = (cacheScope: 'public' | 'private', ttlMs = LIST_TTL_MS) => ({ ttlMs, cacheScope })
  const capabilities = { ...CAPABILITIES, extensions: EXTENSIONS }
  const discover = () => wrap({ supportedVersions: [MODERN], capabilities, instructions, ...listCaching('public') })
  return {
    name: 'modern',
    unknownMethodStatus: 404,
    wrap,
    listCaching,
    resourceNotFound: INVALID_PARAMS,
    methods: new Map<string, Method>([['server/discover', discover]]),
  }
}

/** The era of a call, or the fault in how it names its revision. Every call is classified once. */
export function classify(call: RpcCall, headers: RequestHeaders, eras: Eras): Era | RpcError {
  const version = versionOf(headers)
  const modern = namesVersion(call.params) || (version !== undefined && isModern(version))
  const fault = modern ? modernFault(call, version, headers) : legacyFault(version)
  return fault ?? (modern ? eras.modern : eras.legacy)
}

/** Why messages may not come as a batch; undefined where they may. */
export function batchFault(messages: readonly Message[], headers: RequestHeaders): string | undefined {
  const version = versionOf(headers)
  if (version !== undefined && version !== BATCHES) return `revision ${version.slice(0, 32)} has no batches`
  const modern = messages.some((message) => message.kind !== 'invalid' && namesVersion(message.params))
  return modern ? `revision ${MODERN} has no batches` : undefined
}

/** Whether a request says that its client knows an extension. Older revisions say that in a session alone. */
export function declares(params: Fields | undefined, extension: string): boolean {
  const meta = isFields(params?._meta) ? params._meta[META_CAPABILITIES] : undefined
  return isFields(meta) && isFields(meta.extensions) && meta.extensions[extension] !== undefined
}

/** Whether the message itself names a version, as only the modern era does. */
function namesVersion(params: Fields | undefined): boolean {
  return isFields(params?._meta) && params._meta[META_VERSION] !== undefined
}

function isModern(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN
}

function legacyFault(version: string | undefined): RpcError | undefined {
  if (version === undefined || LEGACY.some((known) => known === version)) return undefined
  return unsupported(version, [MODERN, ...LEGACY])
}

/**
 * What the modern era requires of a client: version and capabilities in `_meta`. Headers repeat them, so that a proxy
 * can route without reading the body.
 */
function modernFault(call: RpcCall, version: string | undefined, headers: RequestHeaders): RpcError | undefined {
  const meta = isFields(call.params?._meta) ? call.params._meta : {}
  const named = meta[META_VERSION]
  if (version === undefined) return mismatch('MCP-Protocol-Version is missing')
  if (named === undefined && version !== MODERN) return unsupported(version, [MODERN])
  if (typeof named !== 'string') return missingMeta(META_VERSION)
  if (named !== version) return mismatch('MCP-Protocol-Version is not the version in _meta')
  if (named !== MODERN) return unsupported(named, [MODERN])
  const fault = mirrorFault(call, headers)
  if (fault) return fault
  return isFields(meta[META_CAPABILITIES]) ? undefined : missingMeta(META_CAPABILITIES)
}

function mirrorFault({ method, params }: RpcCall, headers: RequestHeaders): RpcError | undefined {
  const mirroredMethod = header(headers, 'mcp-method')
  if (mirroredMethod === undefined) return mismatch('Mcp-Method is missing')
  if (mirroredMethod !== method) return mismatch('Mcp-Method is not the method of the body')
  const name = mirrored(method, params)
  if (typeof name !== 'string') return undefined
  const mirroredName = header(headers, 'mcp-name')
  if (mirroredName === undefined) return mismatch('Mcp-Name is missing')
  return decodeHeader(mirroredName) === name ? undefined : mismatch('Mcp-Name is not the name in params')
}

/** What `Mcp-Name` repeats. */
function mirrored(method: string, params: Fields | undefined): unknown {
  if (method === 'resources/read') return params?.uri
  if (/^tasks\/(get|update|cancel)$/.test(method)) return params?.taskId
  return method === 'tools/call' ? params?.name : undefined
}

function mismatch(what: string): RpcError {
  return new RpcError(HEADER_MISMATCH, `Header mismatch: ${what}`, { status: 400 })
}

function missingMeta(name: string): RpcError {
  return new RpcError(INVALID_PARAMS, `params._meta needs "${name}"`, { status: 400 })
}

function unsupported(version: string, supported: readonly string[]): RpcError {
  const requested = version.slice(0, 64)
  const data = { supported, requested }
  return new RpcError(UNSUPPORTED_VERSION, `Unsupported protocol version: ${requested}`, { status: 400, data })
}

function versionOf(headers: RequestHeaders): string | undefined {
  return header(headers, 'mcp-protocol-version')
}

function header(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return (Array.isArray(value) ? value.join(', ') : value)?.trim()
}

/** `=?base64?…?=` carries what a header cannot contain. */
function decodeHeader(value: string): string {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)
  return encoded ? Buffer.from(encoded[1]!, 'base64').toString('utf8') : value
}
