import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import { AppError } from '../errors.ts'
import { refusalOf } from '../http/authenticate.ts'
import { toAppError } from '../http/problem.ts'
import type { Caller } from '../library/accounts/keys.ts'
import type { Logger } from '../logger.ts'
import { describeTool, type Tool, type ToolAnswer } from './tool.ts'

/**
 * The Model Context Protocol over JSON text, without HTTP: both eras, stateless. Revision 2026-07-28 has no `initialize` and says version and capabilities in
 * every request; the revisions before it begin with `initialize`, which here only answers. A bare `tools/call` is a request of the older kind.
 */

export const MODERN = '2026-07-28'
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
/** The only revision whose clients may send several messages at once. */
const BATCHES = '2025-03-26'
const MAX_BATCH = 20
const LIST_TTL_MS = 300_000
/** Longest arguments, as text, whose answer is kept. */
const MAX_KEY = 2_048

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META_SERVER = 'io.modelcontextprotocol/serverInfo'

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603
const HEADER_MISMATCH = -32020
const UNSUPPORTED_VERSION = -32022
/** Ours: outside the range that JSON-RPC and MCP keep for themselves. */
const RATE_LIMITED = 429
const UNAVAILABLE = 503

/** JSON text, or its bytes. */
export type Json = string | Buffer

export interface McpReply {
  status: number
  headers: Record<string, string>
  /** In pieces, so that a long one that lies ready is not copied. Undefined where the protocol wants an empty body (202). */
  body: readonly Json[] | undefined
}

export interface CallContext {
  caller: Caller | undefined
  /** Asked for when there is work to abort. */
  signal(): AbortSignal
  /** Takes points from the caller's budget before anything runs, at once where it can. @throws AppError rate_limited */
  charge(points: number): undefined | Promise<void>
}

export interface ServerInfo {
  name: string
  title: string
  version: string
  websiteUrl?: string
}

export interface DispatcherOptions {
  info: ServerInfo
  instructions: string
  tools: readonly Tool[]
  /** Where a person gets a key: said by the tools that need one. */
  keysUrl: string
  logger: Logger
  /** Changes whenever a cacheable tool may answer differently. Absent: nothing is kept. */
  version?: () => Promise<string> | string
  /** An answer during which it has changed is not kept. */
  engineEpoch?: (() => number) | undefined
  deadlineMs?: number
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>
export type Dispatch = (body: string, headers: RequestHeaders, context: CallContext) => McpReply | Promise<McpReply>

type Id = string | number | object
type Fields = Record<string, unknown>
interface Request {
  id: Id
  method: string
  params: Fields | undefined
}
type Message =
  | { kind: 'request'; request: Request }
  | { kind: 'notification'; params: Fields | undefined }
  | { kind: 'invalid'; id: Id | null; why: string }

/** A JSON-RPC error on its way out, with the HTTP status it has in the modern era (the older one answers 200 to all that it understood). */
class RpcError extends Error {
  readonly code: number
  readonly status: number
  readonly data: unknown
  constructor(code: number, message: string, options: { status?: number; data?: unknown } = {}) {
    super(message)
    this.code = code
    this.status = options.status ?? 200
    this.data = options.data
  }
}

class DeadlinePassed extends Error {}
class CallerGone extends Error {}

/** Everything that does not depend on the request is made once: schemas, and one finished `tools/list` per set of visible tools. */
export function createDispatcher(options: DispatcherOptions): Dispatch {
  const { info, tools, logger, deadlineMs = 15_000 } = options
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const described = tools.map((tool) => JSON.stringify(describeTool(tool)))
  const lists = new LRUCache<string, Buffer>({ max: 100 })
  const serverMeta = metaOf({ [META_SERVER]: info })
  const capabilities = { tools: { listChanged: false } }
  const discovered = Buffer.from(
    `{"resultType":"complete",${JSON.stringify({
      supportedVersions: [MODERN],
      capabilities,
      instructions: options.instructions,
      ttlMs: LIST_TTL_MS,
      cacheScope: 'public',
    }).slice(1, -1)},${serverMeta}}}`,
  )
  /** Finished results: bytes, because making them of a long text anew costs more than all the rest. */
  const answers = new LRUCache<string, Buffer>({
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: (bytes, key) => bytes.length + key.length * 2,
  })

  /** The open list is everybody's; what a key adds is that key's own. */
  function toolList(caller: Caller | undefined, modern: boolean): Buffer {
    const key = `${modern} ${caller ? `${caller.account.role} ${caller.account.plan} ${caller.key.scopes.join()}` : ''}`
    let list = lists.get(key)
    if (list === undefined) {
      const visible = tools.map((tool) => refusal(tool, caller) === undefined)
      const shown = `"tools":[${described.filter((_, at) => visible[at]).join(',')}]`
      const scope = tools.some((tool, at) => visible[at] && tool.scope !== null) ? 'private' : 'public'
      list = Buffer.from(
        modern
          ? `{"resultType":"complete",${shown},"ttlMs":${LIST_TTL_MS},"cacheScope":"${scope}",${serverMeta}}}`
          : `{${shown}}}`,
      )
      lists.set(key, list)
    }
    return list
  }

  function toResult(members: string, modern: boolean, code?: string): string {
    const meta =
      code === undefined
        ? modern
          ? serverMeta
          : undefined
        : metaOf({ ...(modern ? { [META_SERVER]: info } : {}), code })
    return `${modern ? '{"resultType":"complete",' : '{'}${members}${meta === undefined ? '' : `,${meta}`}}}`
  }

  async function callTool(params: Fields | undefined, context: CallContext, modern: boolean): Promise<Json> {
    const failed = (text: string, code: string) => toResult(failure(text), modern, code)
    if (params === undefined || typeof params.name !== 'string')
      throw new RpcError(INVALID_PARAMS, 'tools/call needs params.name, the name of a tool')
    const { name } = params
    const tool = byName.get(name)
    if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 128)}`)
    const given = params.arguments === undefined ? {} : params.arguments
    if (!isFields(given)) throw new RpcError(INVALID_PARAMS, 'params.arguments must be an object')

    const refused = refusal(tool, context.caller)
    if (refused)
      return failed(`${tool.name} was not run. ${refused.message} ${keyHelp(options.keysUrl, tool)}`, refused.code)

    try {
      const engine = options.engineEpoch?.()
      const key = tool.cacheable && options.version ? keyOf(await options.version(), tool, given, modern) : undefined
      const kept = key === undefined ? undefined : answers.get(key)
      if (kept !== undefined) return kept
      const parsed = tool.input.safeParse(given)
      if (!parsed.success) return failed(explain(tool, given, parsed.error), 'invalid_request')
      const answer = await withDeadline(context.signal(), deadlineMs, (signal) =>
        tool.run(parsed.data, { caller: context.caller, signal }),
      )
      const text = toResult(toMembers(answer), modern)
      if (key === undefined || answer.images || options.engineEpoch?.() !== engine) return text
      const bytes = Buffer.from(text)
      answers.set(key, bytes)
      return bytes
    } catch (error) {
      if (error instanceof DeadlinePassed) {
        logger.warn({ tool: tool.name, deadlineMs }, 'tool call passed its deadline')
        return failed(
          `${tool.name} took longer than ${deadlineMs / 1000} seconds. Repeating the call is safe.`,
          'unavailable',
        )
      }
      if (error instanceof CallerGone) throw error
      const known = toAppError(error)
      if (known.code === 'internal') throw error
      if (known.code === 'unavailable')
        logger.warn({ tool: tool.name, err: known.cause }, 'tool call found a store away')
      return failed(sentences(known), known.code)
    }
  }

  /** Arguments as they were written: what has been answered once needs no second check. */
  function keyOf(version: string, tool: Tool, given: Fields, modern: boolean): string | undefined {
    try {
      const key = `${version} ${modern} ${tool.name} ${JSON.stringify(given)}`
      return key.length <= MAX_KEY ? key : undefined
    } catch (error) {
      // Nested too deep to be written, which no tool's arguments are.
      if (error instanceof RangeError) return undefined
      throw error
    }
  }

  /** The result and the brace that ends the message: what lies ready is sent without being copied. */
  async function answer({ method, params }: Request, context: CallContext, modern: boolean): Promise<Json> {
    switch (method) {
      case 'tools/call':
        return callTool(params, context, modern)
      case 'tools/list':
        if (params?.cursor !== undefined && params.cursor !== null)
          throw new RpcError(INVALID_PARAMS, 'Unknown cursor: the list has one page')
        return toolList(context.caller, modern)
      case 'server/discover':
        if (modern) return discovered
        break
      case 'ping':
        if (!modern) return '{}}'
        break
      case 'initialize':
        if (!modern)
          return `${JSON.stringify({
            protocolVersion: LEGACY.find((version) => version === params?.protocolVersion) ?? LEGACY[0],
            capabilities,
            serverInfo: info,
            instructions: options.instructions,
          })}}`
    }
    throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 128)}`, { status: modern ? 404 : 200 })
  }

  /** One request to its JSON text and status; nothing it does can throw. */
  async function reply(
    request: Request,
    context: CallContext,
    modern: boolean,
  ): Promise<{ status: number; body: Json[] }> {
    try {
      const result = await answer(request, context, modern)
      return { status: 200, body: [opening(request.id), result] }
    } catch (error) {
      if (error instanceof RpcError) return { status: error.status, body: [errorBody(request.id, error)] }
      if (!(error instanceof CallerGone))
        logger.error({ method: request.method.slice(0, 128), err: error }, 'tool server failed')
      return { status: 200, body: [errorBody(request.id, new RpcError(INTERNAL_ERROR, 'Internal error'))] }
    }
  }

  function pointsOf(message: Message): number {
    if (message.kind !== 'request' || message.request.method !== 'tools/call') return 1
    const name = message.request.params?.name
    return (typeof name === 'string' ? byName.get(name)?.points : undefined) ?? 1
  }

  async function batch(
    items: readonly unknown[],
    version: string | undefined,
    context: CallContext,
  ): Promise<McpReply> {
    const refuse = (why: string) => toReply(400, errorBody(null, new RpcError(INVALID_REQUEST, why)))
    await context.charge(1)
    if (items.length === 0) return refuse('Invalid request: an empty batch')
    if (version !== undefined && version !== BATCHES)
      return refuse(`Invalid request: revision ${version.slice(0, 32)} has no batches`)
    if (items.length > MAX_BATCH) return refuse(`Invalid request: a batch holds at most ${MAX_BATCH} messages`)
    const messages = items.map(readMessage)
    if (messages.some((message) => namedVersion(message) !== undefined))
      return refuse(`Invalid request: revision ${MODERN} has no batches`)
    await context.charge(messages.reduce((sum, message) => sum + pointsOf(message), -1))
    const bodies: string[] = []
    // One after the other: a batch may write and then read what it wrote.
    for (const message of messages) {
      if (message.kind === 'invalid') bodies.push(errorBody(message.id, new RpcError(INVALID_REQUEST, message.why)))
      else if (message.kind === 'request' && message.request.method === 'initialize')
        bodies.push(
          errorBody(message.request.id, new RpcError(INVALID_REQUEST, 'Invalid request: initialize stands alone')),
        )
      else if (message.kind === 'request') bodies.push((await reply(message.request, context, false)).body.join(''))
    }
    return bodies.length === 0 ? ACCEPTED : toReply(200, `[${bodies.join(',')}]`)
  }

  async function single(
    value: unknown,
    version: string | undefined,
    headers: RequestHeaders,
    context: CallContext,
  ): Promise<McpReply> {
    const message = readMessage(value)
    await context.charge(pointsOf(message))
    if (message.kind === 'invalid')
      return toReply(400, errorBody(message.id, new RpcError(INVALID_REQUEST, message.why)))
    // A notification asks for nothing; even one that names a tool runs nothing.
    if (message.kind === 'notification') return ACCEPTED
    const { request } = message
    const { modern, fault } = judge(message, version, headers)
    if (fault) return toReply(fault.status, errorBody(request.id, fault))
    const { status, body } = await reply(request, context, modern)
    return { status, headers: {}, body }
  }

  /** The reply to a faultless call of an open tool that has been answered before. Whatever is not at hand is left to `answerAny`. */
  function recall(body: string, headers: RequestHeaders): { id: Id; points: number; reply: McpReply } | undefined {
    try {
      const message = readMessage(parseJson(body))
      if (message.kind !== 'request' || message.request.method !== 'tools/call') return undefined
      const { id, params } = message.request
      const tool = typeof params?.name === 'string' ? byName.get(params.name) : undefined
      const given = params?.arguments === undefined ? {} : params.arguments
      if (!tool?.cacheable || tool.scope !== null || !isFields(given)) return undefined
      const { modern, fault } = judge(message, header(headers, 'mcp-protocol-version'), headers)
      const version = fault ? undefined : options.version?.()
      if (typeof version !== 'string') {
        // Whoever comes to await it is told; here nobody does.
        version?.catch(() => undefined)
        return undefined
      }
      const key = keyOf(version, tool, given, modern)
      const kept = key === undefined ? undefined : answers.get(key)
      return kept && { id, points: tool.points, reply: { status: 200, headers: {}, body: [opening(id), kept] } }
    } catch {
      return undefined
    }
  }

  function refused(id: Id | null, error: unknown): McpReply {
    const known = toAppError(error)
    if (known.code === 'rate_limited' || known.code === 'unavailable') return budgetReply(id, known)
    logger.error({ err: error }, 'tool server failed')
    return toReply(200, errorBody(id, new RpcError(INTERNAL_ERROR, 'Internal error')))
  }

  async function answerAny(body: string, headers: RequestHeaders, context: CallContext): Promise<McpReply> {
    let id: Id | null = null
    try {
      let value: unknown
      try {
        value = parseJson(body)
      } catch {
        await context.charge(1)
        return toReply(400, errorBody(null, new RpcError(PARSE_ERROR, 'Parse error: the body is not JSON')))
      }
      id = readId(value)
      const version = header(headers, 'mcp-protocol-version')
      return Array.isArray(value)
        ? await batch(value, version, context)
        : await single(value, version, headers, context)
    } catch (error) {
      return refused(id, error)
    }
  }

  return (body, headers, context) => {
    const recalled = recall(body, headers)
    if (!recalled) return answerAny(body, headers, context)
    const { id, points, reply } = recalled
    const charging = context.charge(points)
    if (!charging) return reply
    return charging.then(
      () => reply,
      (error: unknown) => refused(id, error),
    )
  }
}

/** An answer to a body that was never read: a refused origin, a wrong type, too many bytes. */
export function refusalReply(status: number, message: string, headers: Record<string, string> = {}): McpReply {
  return { ...toReply(status, errorBody(null, new RpcError(INVALID_REQUEST, message))), headers }
}

const ACCEPTED: McpReply = { status: 202, headers: {}, body: undefined }

function opening(id: Id): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

function toReply(status: number, body: string): McpReply {
  return { status, headers: {}, body: [body] }
}

function budgetReply(id: Id | null, error: AppError): McpReply {
  const limited = error.code === 'rate_limited'
  const code = limited ? RATE_LIMITED : UNAVAILABLE
  const retryAfterSec = Math.ceil(error.retryAfterSec ?? 1)
  return {
    status: code,
    headers: { 'Retry-After': String(retryAfterSec) },
    body: [errorBody(id, new RpcError(code, error.message, { data: { code: error.code, retryAfterSec } }))],
  }
}

function errorBody(id: Id | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } })
}

/* ---------- messages ---------- */

/** As JSON.parse, but a whole number too large for a double keeps its digits as an id, so that it is echoed exactly. */
function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, ((key: string, value: unknown, { source }: { source?: string }) =>
    key === 'id' && typeof value === 'number' && !Number.isSafeInteger(value) && source && /^-?\d+$/.test(source)
      ? (JSON as unknown as { rawJSON(text: string): object }).rawJSON(source)
      : value) as (key: string, value: unknown) => unknown)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId(value: unknown): value is Id {
  if (typeof value === 'string' || Number.isInteger(value)) return true
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value)
}

/** What an error answer echoes: the id if the message has one that can be an id. */
function readId(value: unknown): Id | null {
  return isFields(value) && isId(value.id) ? value.id : null
}

function readMessage(value: unknown): Message {
  const invalid = (why: string): Message => ({ kind: 'invalid', id: readId(value), why: `Invalid request: ${why}` })
  if (!isFields(value)) return invalid('not an object')
  if (value.jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"')
  if (typeof value.method !== 'string') return invalid('method must be a string')
  if (value.params !== undefined && !isFields(value.params)) return invalid('params must be an object')
  const params = value.params as Fields | undefined
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', params }
  if (!isId(value.id)) return invalid('id must be a string or a whole number')
  return { kind: 'request', request: { id: value.id, method: value.method, params } }
}

/** The version in the request itself, which only the modern era has. */
function namedVersion(message: Message): unknown {
  const params =
    message.kind === 'request' ? message.request.params : message.kind === 'notification' ? message.params : undefined
  return isFields(params?._meta) ? params._meta[META_VERSION] : undefined
}

function isModern(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN
}

function header(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return (Array.isArray(value) ? value.join(', ') : value)?.trim()
}

function unsupported(version: string, supported: readonly string[]): RpcError {
  const requested = version.slice(0, 64)
  return new RpcError(UNSUPPORTED_VERSION, `Unsupported protocol version: ${requested}`, {
    status: 400,
    data: { supported, requested },
  })
}

function legacyFault(version: string | undefined): RpcError | undefined {
  if (version === undefined || LEGACY.some((known) => known === version)) return undefined
  return unsupported(version, [MODERN, ...LEGACY])
}

function judge(
  message: Message & { kind: 'request' },
  version: string | undefined,
  headers: RequestHeaders,
): { modern: boolean; fault: RpcError | undefined } {
  const modern = namedVersion(message) !== undefined || (version !== undefined && isModern(version))
  return { modern, fault: modern ? modernFault(message.request, version, headers) : legacyFault(version) }
}

/** The modern era's duties of a client: version and capabilities in `_meta`, mirrored in headers so that a proxy can route without the body. */
function modernFault(
  { method, params }: Request,
  version: string | undefined,
  headers: RequestHeaders,
): RpcError | undefined {
  const mismatch = (message: string) => new RpcError(HEADER_MISMATCH, `Header mismatch: ${message}`, { status: 400 })
  const meta = isFields(params?._meta) ? params._meta : {}
  const named = meta[META_VERSION]
  if (version === undefined) return mismatch('MCP-Protocol-Version is missing')
  if (named === undefined && version !== MODERN) return unsupported(version, [MODERN])
  if (typeof named !== 'string')
    return new RpcError(INVALID_PARAMS, `params._meta needs "${META_VERSION}"`, { status: 400 })
  if (named !== version) return mismatch('MCP-Protocol-Version is not the version in _meta')
  if (named !== MODERN) return unsupported(named, [MODERN])
  const mirroredMethod = header(headers, 'mcp-method')
  if (mirroredMethod === undefined) return mismatch('Mcp-Method is missing')
  if (mirroredMethod !== method) return mismatch('Mcp-Method is not the method of the body')
  if (method === 'tools/call' && typeof params?.name === 'string') {
    const mirroredName = header(headers, 'mcp-name')
    if (mirroredName === undefined) return mismatch('Mcp-Name is missing')
    if (decodeHeader(mirroredName) !== params.name) return mismatch('Mcp-Name is not the name in params')
  }
  if (!isFields(meta[META_CAPABILITIES]))
    return new RpcError(INVALID_PARAMS, `params._meta needs "${META_CAPABILITIES}"`, { status: 400 })
  return undefined
}

/** `=?base64?…?=` carries what a header cannot hold. */
function decodeHeader(value: string): string {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)
  return encoded ? Buffer.from(encoded[1]!, 'base64').toString('utf8') : value
}

/* ---------- tools ---------- */

/** Why this caller may not use this tool; the order is the service's: key, plan, scope. */
function refusal(tool: Tool, caller: Caller | undefined): AppError | undefined {
  if (tool.scope === null) return undefined
  if (!caller)
    return new AppError('unauthenticated', 'It works on your own collection and needs an API key of a Pro account.')
  return refusalOf(caller, tool.scope)
}

function keyHelp(keysUrl: string, tool: Tool): string {
  return `Keys are made at ${keysUrl} (scope ${tool.scope}) and sent as the header "Authorization: Bearer <key>".`
}

/** A refusal's members as JSON without the braces, as `toMembers`. */
function failure(text: string): string {
  return `"content":${JSON.stringify([{ type: 'text', text }])},"isError":true`
}

function metaOf(meta: Record<string, unknown>): string {
  return `"_meta":${JSON.stringify(meta)}`
}

function toMembers({ text, links = [], images = [], structured }: ToolAnswer): string {
  const content = [
    { type: 'text', text },
    ...links.map((link) => ({ type: 'resource_link', ...link, mimeType: 'image/webp' })),
    ...images.map((image) => ({ type: 'image', ...image })),
  ]
  return `"content":${JSON.stringify(content)},"structuredContent":${JSON.stringify(structured)}`
}

function sentences(error: AppError): string {
  const details = (error.details ?? []).filter((detail) => detail.message !== error.message)
  const lines = [error.message, ...details.map((detail) => `${detail.path}: ${detail.message}`)]
  if (error.retryAfterSec !== undefined) lines.push(`Try again in ${Math.ceil(error.retryAfterSec)} seconds.`)
  return lines.join('\n')
}

/** Says what was wrong with the arguments so that a model can mend them: which one, what it was, what is allowed. */
function explain(tool: Tool, given: Fields, error: z.ZodError): string {
  const lines = error.issues.slice(0, 8).map((issue) => {
    // A single value stands for a list of one: what is wrong with it is said of the argument, as it was written.
    const written = issue.path.filter(
      (_, at) => at === 0 || typeof valueAt(given, issue.path.slice(0, at)) !== 'string',
    )
    const path = written.join('.')
    const value = valueAt(given, written)
    const shown =
      value === undefined
        ? ''
        : ` (got ${typeof value === 'object' && value !== null ? 'an object or list' : JSON.stringify(value).slice(0, 60)})`
    if (issue.code === 'unrecognized_keys')
      return `unknown argument ${issue.keys
        .slice(0, 20)
        .map((key) => `"${key.slice(0, 60)}"`)
        .join(', ')}; ${tool.name} takes ${argumentNames(tool)}`
    if (issue.code === 'invalid_value') return `${path}${shown}: must be one of ${issue.values.join(', ')}`
    if (value === undefined && issue.code === 'invalid_type') return `${path}: is required (${issue.expected})`
    return `${path}${shown}: ${issue.message}`
  })
  return `The arguments of ${tool.name} are not valid:\n${lines.join('\n')}`
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Fields)[key as string] : undefined),
    given,
  )
}

function argumentNames(tool: Tool): string {
  return Object.keys((tool.input as unknown as { shape?: object }).shape ?? {}).join(', ') || 'none'
}

async function withDeadline<T>(
  outer: AbortSignal,
  deadlineMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // Nothing is begun for nobody.
  if (outer.aborted) throw new CallerGone()
  const controller = new AbortController()
  const stop = () => controller.abort(new CallerGone())
  const stopped = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true })
  })
  const timer = setTimeout(() => controller.abort(new DeadlinePassed()), deadlineMs)
  outer.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([stopped, run(controller.signal)])
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', stop)
  }
}
