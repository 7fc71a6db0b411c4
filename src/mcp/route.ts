import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Request, type RequestHandler, type Response, Router } from 'express'
import { AppError } from '../errors.ts'
import type { Shortcut } from '../http/app.ts'
import type { Authentication } from '../http/authenticate.ts'
import { addressFinder, addressOf, budgetOf, type RateLimits, spend } from '../http/rate-limit.ts'
import type { Caller } from '../library/accounts/keys.ts'
import type { Dispatch } from './dispatcher.ts'
import { type McpReply, refusalReply } from './replies.ts'

export interface McpRouteOptions {
  dispatch: Dispatch
  publicUrl: string
  authentication: Pick<Authentication, 'identify'>
  /** The one budget that HTTP uses too. */
  limits: RateLimits
  trustProxy: number
}

export interface McpRoute {
  router: Router
  /** Takes the usual call in front of Express, whose share of a kept answer would be the largest: a plain body without key, origin or encoding. */
  first: Shortcut
}

const MAX_BODY_BYTES = 256 * 1024

/** `POST /api/mcp`: what HTTP has to say before and after the protocol. Every answer is JSON; only 202 and a preflight have no body. */
export function mcpRoute({ dispatch, publicUrl, authentication, limits, trustProxy }: McpRouteOptions): McpRoute {
  const router = Router()

  /** `headers`: what the answer carries beside its own. */
  function answer(
    req: IncomingMessage,
    res: ServerResponse,
    headers: string[],
    caller: Caller | undefined,
    address: string,
  ) {
    const type = unsupportedType(req)
    if (type) return send(res, type, headers)
    readBody(req, res, (body) => {
      if (typeof body !== 'string') {
        // What is left of the body is not read: the connection cannot be used again.
        headers.push('Connection', 'close')
        return send(res, body, headers)
      }
      const [budget, subject] = caller
        ? ([budgetOf(caller.account.plan), caller.key.id] as const)
        : (['anonymous', address] as const)
      const charge = (points: number) =>
        spend(limits, (name, value) => headers.push(name, value), budget, subject, points)
      let gone: AbortSignal | undefined
      const signal = () => {
        gone ??= whenGone(res)
        return gone
      }
      const reply = dispatch(body, req.headers, { caller, signal, charge })
      if (reply instanceof Promise) void reply.then((later) => send(res, later, headers))
      else send(res, reply, headers)
    })
  }

  router
    .route('/api/mcp')
    .all(originGuard(publicUrl), postOnly)
    .post(async (req, res) => answer(req, res, [], await authentication.identify(req, res), addressOf(req)))
  const addressInFront = addressFinder(trustProxy)
  return {
    router,
    first(req, res, headers) {
      if (req.method !== 'POST' || req.url !== '/api/mcp') return false
      const { authorization, origin, 'content-encoding': encoding, 'content-length': length } = req.headers
      if (
        authorization !== undefined ||
        origin !== undefined ||
        encoding !== undefined ||
        !(Number(length) <= MAX_BODY_BYTES)
      )
        return false
      answer(req, res, [...headers, 'Vary', 'Origin'], undefined, addressInFront(req))
      return true
    },
  }
}

const unpack = express.text({ type: () => true, limit: MAX_BODY_BYTES, defaultCharset: 'utf-8' })

/** The body as text, or the answer to one that cannot be had. The usual body, plain and of a told length, needs nothing of what `unpack` can do. */
function readBody(req: IncomingMessage, res: ServerResponse, done: (body: string | McpReply) => void): void {
  const length = Number(req.headers['content-length'])
  if (req.headers['content-encoding'] !== undefined || !(length <= MAX_BODY_BYTES)) {
    unpack(req as Request, res as Response, (error) => done(error ? bodyFault(error) : ((req as Request).body ?? '')))
    return
  }
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => done(toText(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))))
  req.on('error', (error) => done(bodyFault(error)))
}

const utf8 = new TextDecoder()

/** Without a byte order mark, as JSON wants it. */
function toText(bytes: Buffer): string {
  return bytes[0] === 0xef ? utf8.decode(bytes) : bytes.toString('utf8')
}

/** Aborted when the connection closes before the answer is out. */
function whenGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.destroyed) gone.abort()
  res.on('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
}

function send(res: ServerResponse, { status, headers, body }: McpReply, more: readonly string[] = []): void {
  if (res.destroyed) return
  const all = [...more, 'Cache-Control', 'no-store']
  for (const [name, value] of Object.entries(headers)) all.push(name, value)
  if (body === undefined) {
    res.writeHead(status, all).end()
    return
  }
  let length = 0
  for (const piece of body) length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  all.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(length))
  res.cork()
  res.writeHead(status, all)
  for (let at = 0; at < body.length - 1; at++) res.write(body[at])
  res.end(body.at(-1))
}

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, X-Request-Id'
const EXPOSED_HEADERS = 'WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'

/**
 * A browser names the page's origin; only our own pages may call, or any site could use a server in its visitors' private network (DNS rebinding). A service whose
 * own address is loopback is one person's: any page of that machine may call it. Programs send no Origin.
 */
function originGuard(publicUrl: string): RequestHandler {
  const own = new URL(publicUrl)
  return (req, res, next) => {
    const { origin } = req.headers
    res.setHeader('Vary', 'Origin')
    if (origin === undefined) return next()
    if (origin !== own.origin && !(isLoopback(own) && isLoopback(toUrl(origin)))) {
      send(res, refusalReply(403, 'Forbidden: this origin may not call the tool server'))
      return
    }
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    next()
  }
}

function isLoopback(url: URL | undefined): boolean {
  return url !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}

function toUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** No streams to GET and no sessions to DELETE: one method is all there is. */
const postOnly: RequestHandler = (req, res, next) => {
  if (req.method === 'POST') return next()
  if (req.method === 'OPTIONS') {
    res.set({
      Allow: 'POST',
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': ALLOWED_HEADERS,
      'Access-Control-Max-Age': '86400',
    })
    res.status(204).end()
    return
  }
  res.setHeader('Allow', 'POST')
  throw new AppError('method_not_allowed', `${req.method} is not allowed here: the tool server takes POST only.`)
}

function unsupportedType(req: IncomingMessage): McpReply | undefined {
  if (req.headers['content-type'] === 'application/json') return undefined
  const [type, ...parameters] = (req.headers['content-type'] ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  if (type === 'application/json' && (charset === undefined || charset === 'utf-8' || charset === 'utf8'))
    return undefined
  return refusalReply(415, 'Unsupported media type: send content-type: application/json (UTF-8)')
}

function bodyFault(error: unknown): McpReply {
  const { type, status } = error as { type?: string; status?: number }
  if (type === 'entity.too.large')
    return refusalReply(413, `Payload too large: a body holds at most ${MAX_BODY_BYTES} bytes`)
  if (status === 415) return refusalReply(415, 'Unsupported content encoding: send gzip, deflate, br or none')
  return refusalReply(400, 'Invalid request: the body cannot be read')
}
