import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Histogram, type Registry } from 'prom-client'
import proxyaddr from 'proxy-addr'
import type { Logger } from '../logger.ts'
import type { Payer } from './rate-limit/budgets.ts'

/** The facts about a request that every answer needs. They are computed once, before any route runs. */
export interface RequestContext {
  /** The caller's X-Request-Id where it is well formed, else a new one. It is on the answer and in the log. */
  requestId: string
  /** The address an anonymous request is counted under (`toAddress`). */
  address: string
  /** The path without its query. */
  path: string
  /** Whether the request has taken points. A refusal that has not takes one. */
  charged: boolean
  /** The account whose key or session the request comes with. Without one its address pays. */
  payer?: Payer
}

/** The context is a property of the request: a WeakMap costs each warm read several times as much. */
const CONTEXT = Symbol('request context')
type WithContext = IncomingMessage & { [CONTEXT]?: RequestContext }

/** The context of a request that came through the edge. */
export function contextOf(req: IncomingMessage): RequestContext {
  const context = (req as WithContext)[CONTEXT]
  if (!context) throw new Error('contextOf was called on a request that did not come through the edge')
  return context
}

/** For whom a request waits its turn: the account that pays for it, or its address. */
export function subjectOf(req: IncomingMessage): string {
  const { payer, address } = contextOf(req)
  return payer?.subject ?? address
}

/**
 * Opens the edge. It creates each request's context, sets the headers of every answer, and logs the request at debug
 * level once its answer is sent.
 */
export function openEdge(logger: Logger, trustProxy: number, countRequest: CountRequest) {
  const addressOf = addressReader(trustProxy)
  return (req: IncomingMessage, res: ServerResponse): RequestContext => {
    const address = addressOf(req)
    const context: RequestContext = {
      requestId: givenId(req) ?? randomUUID(),
      address,
      path: req.url!.split('?', 1)[0]!,
      charged: false,
    }
    ;(req as WithContext)[CONTEXT] = context
    res.setHeader('X-Request-Id', context.requestId)
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Referrer-Policy', 'strict-origin-when-cross-origin')
    if (OPEN_TO_ANY_ORIGIN.test(context.path)) {
      res.setHeader('Access-Control-Allow-Origin', '*')
      res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    }
    const logs = logger.isLevelEnabled('debug')
    const startedAt = performance.now()
    res.once('finish', () => {
      countRequest(req, res, startedAt)
      if (logs) logSent(logger, context, { req, res, startedAt })
    })
    return context
  }
}

/**
 * The target of a request as a path with its query. A proxy may send the absolute form, `GET http://host/path`. What is
 * no address at all becomes a path that no route has: Express would answer it before the edge, as HTML.
 */
export function originForm(target: string): string {
  // Express reads a path with a fragment by another parser, which throws at `//a@[b/#`.
  if (target.startsWith('/')) return target.includes('#') ? target.slice(0, target.indexOf('#')) : target
  if (!URL.canParse(target)) return `/${target}`
  const { pathname, search } = new URL(target)
  return pathname.startsWith('/') ? pathname + search : `/${target}`
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

function givenId(req: IncomingMessage): string | undefined {
  const given = req.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'

/**
 * CORS `*` without credentials for the API: keys travel in a header, never in a cookie. The tool server checks
 * origins itself. Routes ignore letter case and a slash at the end, so this does too.
 */
const OPEN_TO_ANY_ORIGIN = /^\/(?:api\/(?!mcp\/?$)|openapi\.json\/?$)/i

/** Answers the CORS preflight of a path that any origin may call. False for any other request. */
export function answerPreflight(req: IncomingMessage, res: ServerResponse, { path }: RequestContext): boolean {
  if (req.headers['access-control-request-method'] === undefined || !OPEN_TO_ANY_ORIGIN.test(path)) return false
  res.writeHead(204, {
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers':
      'Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Request-Id',
    'Access-Control-Max-Age': '86400',
  })
  res.end()
  return true
}

/**
 * The path for the log: the route's, such as `/api/boards/:id`, because ids and names in a path show who did what.
 * Without a route it is the path as requested.
 */
export function loggedPath(req: IncomingMessage): string {
  return routeOf(req) ?? contextOf(req).path
}

/** The pattern of the route that answers a request, as Express notes it there. */
function routeOf(req: IncomingMessage): string | undefined {
  return (req as IncomingMessage & { route?: { path: string } }).route?.path
}

function logSent(
  logger: Logger,
  { requestId }: RequestContext,
  { req, res, startedAt }: { req: IncomingMessage; res: ServerResponse; startedAt: number },
): void {
  const ms = Math.round(performance.now() - startedAt)
  logger.debug({ requestId, method: req.method, path: loggedPath(req), status: res.statusCode, ms }, 'request')
}

/** Counts one request, `startedAt` by `performance.now()`, once its answer was sent. */
export type CountRequest = (req: IncomingMessage, res: ServerResponse, startedAt: number) => void

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** An event stream that took longer is not counted. */
const LONGEST_SEC = 10

/** Times of requests by the pattern of their route, never by their path: a label must not be what callers choose. */
export function openRequestTimes(registry: Registry): CountRequest {
  const histogram = new Histogram({
    name: 'frames_http_request_duration_seconds',
    help: 'Time until a response was sent, by route, method and class of status.',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  return (req, res, startedAt) => {
    const seconds = (performance.now() - startedAt) / 1_000
    // The length of a stream is the time for which its client listens or looks.
    if (seconds > LONGEST_SEC && /^(?:text\/event-stream|video\/)/.test(String(res.getHeader('content-type')))) return
    const route = routeOf(req) ?? 'other'
    const method = METHODS.has(req.method!) ? req.method! : 'other'
    histogram.observe({ route, method, status: `${Math.floor(res.statusCode / 100)}xx` }, seconds)
  }
}

/** A request, or a connection that has not sent one. */
type Connected = Pick<IncomingMessage, 'socket'>

/** The client's IP address behind `trustProxy` proxies, as Express's `trust proxy` reads X-Forwarded-For. */
export function clientIp(req: Connected, trustProxy: number): string {
  // Without a trusted proxy anyone may write the header, so it is not parsed.
  if (trustProxy === 0) return req.socket.remoteAddress ?? ''
  return proxyaddr(req as IncomingMessage, (_address, hop) => hop < trustProxy) ?? ''
}

/** The address an anonymous request is counted under: an IPv4 address, or the /64 of an IPv6 address. */
function toAddress(ip: string): string {
  // A socket of both families begins IPv4 addresses so. Parsing each one would cost a tenth of a warm read.
  const plain = ip.replace(/^::ffff:/, '')
  if (isIPv4(plain)) return plain
  if (!ipaddr.isValid(ip)) return 'unknown'
  const address = ipaddr.process(ip)
  if (address.kind() === 'ipv4') return address.toString()
  const network = (address as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}

/** `toAddress(clientIp(req))` */
export function addressReader(trustProxy: number): (req: Connected) => string {
  return (req) => toAddress(clientIp(req, trustProxy))
}
