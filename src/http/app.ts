import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { problemHandler } from './problem.ts'

export interface AppOptions {
  logger: Logger
  /** Proxy hops in front of us: whose X-Forwarded-For entry is the client. */
  trustProxy: number
  /** Asked in turn before all routers. */
  first?: readonly Shortcut[]
  /** Routers in the order they are asked; each holds full paths. */
  routers: readonly Router[]
  /** Instead of a JSON 404 for pages (`Accept: text/html` outside /api and /media). */
  notFoundPage?: RequestHandler
}

/**
 * Takes a request and says true, or leaves it alone and says false. `headers` (name, value, name, value…) go on every answer and are not set yet; `next` gives back
 * a request that was taken, untouched, to be answered (or refused) by the routers.
 */
export type Shortcut = (
  req: IncomingMessage,
  res: ServerResponse,
  headers: readonly string[],
  next: () => void,
) => boolean

/**
 * The HTTP application: request ids, headers, the routers, then 405 for known paths, 404, and errors as JSON. It holds no state; wiring is `main.ts`'s.
 */
export function createApp({ logger, trustProxy, first = [], routers, notFoundPage }: AppOptions): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Repeats stay visible and nothing nests: parameters are read by their table (parameters.ts).
  app.set('query parser', 'simple')
  app.set('trust proxy', trustProxy)
  app.use(begin(logger))
  const refuseMethod = methodNotAllowed(routers)
  // Before the routers: theirs answers OPTIONS with a list in plain text.
  app.use((req, res, next) => (req.method === 'OPTIONS' ? refuseMethod(req, res, next) : next()))
  for (const router of routers) app.use(router)
  app.use(refuseMethod)
  app.use((req, res, next) => {
    if (notFoundPage && !/^\/(api|media)\b/.test(req.path) && req.accepts(['json', 'html']) === 'html')
      return notFoundPage(req, res, next)
    throw new AppError('not_found', 'There is nothing at this address. The API is described at /openapi.json.')
  })
  app.use(problemHandler(logger) as ErrorRequestHandler)
  if (first.length === 0) return app
  return (req, res) => {
    // Express costs as much as a warm answer itself. Requests that are to be logged go through it.
    const isApi = req.url!.startsWith('/api/') && req.headers.host !== undefined
    if (!isApi || logger.isLevelEnabled('debug')) return app(req, res)
    const headers = headersOf(req, req.url!)
    const next = () => app(req, res)
    if (!first.some((shortcut) => shortcut(req, res, headers, next))) next()
  }
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** The headers that stop browsers from guessing. */
const EVERYWHERE = ['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'strict-origin-when-cross-origin'] as const
/** CORS `*` without credentials for the API: keys travel in a header, never in a cookie. The tool server checks origins itself. */
const ANY_ORIGIN = [
  ...['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers'],
  'ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id',
] as const
const OF_API = [...EVERYWHERE, ...ANY_ORIGIN]

function headersOf(req: IncomingMessage, path: string): string[] {
  return ['X-Request-Id', requestIdOf(req), ...(isOpen(path) ? OF_API : EVERYWHERE)]
}

function isOpen(path: string): boolean {
  return (path.startsWith('/api/') && path !== '/api/mcp') || path === '/openapi.json'
}

/** The caller's, if it is one. */
function requestIdOf(req: IncomingMessage): string {
  const given = req.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

function begin(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const { path } = req
    const headers = headersOf(req, path)
    if (logger.isLevelEnabled('debug')) logWhenDone(logger, headers[1]!, req, res)
    for (let at = 0; at < headers.length; at += 2) res.setHeader(headers[at]!, headers[at + 1]!)
    if (req.headers.host === undefined && req.httpVersion === '1.1')
      throw new AppError('invalid_request', 'A request names its Host.')
    if (isOpen(path) && req.method === 'OPTIONS' && req.headers['access-control-request-method']) return preflight(res)
    next()
  }
}

function logWhenDone(logger: Logger, requestId: string, req: Request, res: Response): void {
  const started = performance.now()
  res.on('finish', () =>
    logger.debug(
      {
        requestId,
        method: req.method,
        path: req.path,
        status: res.statusCode,
        ms: Math.round(performance.now() - started),
      },
      'request',
    ),
  )
}

function preflight(res: Response): void {
  res.set({
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id',
    'Access-Control-Max-Age': '86400',
  })
  res.status(204).end()
}

/** How long a body that nobody wants any more is read on, so that its sender gets to see the answer. */
const LINGER_MS = 5_000
/** How long a body may take that is no upload. */
const BODY_MS = 30_000

/**
 * What no handler sees: requests that cannot be parsed answer JSON too, idle and dripping connections end. Call it before the server listens.
 * Only `/api/videos` may take its time with a body.
 */
export function guardConnections(server: Server, logger: Logger, { bodyMs = BODY_MS }: { bodyMs?: number } = {}): void {
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) => {
    // Gone without a word: nothing to answer, nothing to tell.
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    logger.info({ code: error.code }, 'request could not be parsed')
    const [status, message] = PARSE_FAULTS[error.code ?? ''] ?? [
      '400 Bad Request',
      'This is not an HTTP request that can be read.',
    ]
    const body = JSON.stringify({ code: 'invalid_request', message })
    const isHead = error.rawPacket?.subarray(0, 5).toString() === 'HEAD '
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nX-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${isHead ? '' : body}`,
    )
  })
  // `Expect` of anything but 100-continue: served as if it had not been said.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  server.setTimeout(120_000)
  let arrived: [IncomingMessage, ServerResponse][] = []
  server.on('request', (req, res) => {
    if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) return
    // Once its packet is read: the usual body has come with it, and needs no watching.
    if (arrived.push([req, res]) > 1) return
    setImmediate(() => {
      const looked = arrived
      arrived = []
      for (const [request, response] of looked) if (!request.complete) watchBody(request, response, bodyMs)
    })
  })
}

function watchBody(req: IncomingMessage, res: ServerResponse, bodyMs: number): void {
  const end = () => {
    if (!req.complete) req.socket.destroy()
  }
  const linger = () => {
    if (!req.complete) setTimeout(end, LINGER_MS).unref()
  }
  const isUpload = req.method === 'POST' && req.url?.split('?')[0] === '/api/videos'
  const timer = isUpload ? undefined : setTimeout(end, bodyMs).unref()
  req.once('end', () => clearTimeout(timer))
  res.once('close', () => clearTimeout(timer))
  if (res.writableFinished) linger()
  else res.once('finish', linger)
}

const PARSE_FAULTS: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The address and headers are too long together.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
}

interface Layer {
  route?: { path: string; methods: Record<string, boolean> }
  match(path: string): boolean
}

/** Every mounted route, as `{ path, methods }`: for 405, for OpenAPI parity and for the authorisation matrix. */
export function listRoutes(routers: readonly Router[]): { path: string; methods: string[] }[] {
  return layersOf(routers).map(({ route }) => ({
    path: route!.path,
    methods: Object.keys(route!.methods)
      .filter((method) => method !== '_all')
      .map((method) => method.toUpperCase()),
  }))
}

function layersOf(routers: readonly Router[]): Layer[] {
  return routers.flatMap((router) => (router.stack as unknown as Layer[]).filter((layer) => layer.route !== undefined))
}

function methodNotAllowed(routers: readonly Router[]): RequestHandler {
  const layers = layersOf(routers)
  return (req, res, next) => {
    const methods = new Set<string>()
    for (const layer of layers) {
      if (!layer.match(req.path)) continue
      // Such a route has an answer of its own to every method.
      if (layer.route!.methods._all) return next()
      for (const [method, on] of Object.entries(layer.route!.methods))
        if (on && method !== '_all') methods.add(method.toUpperCase())
    }
    if (methods.size === 0) return next()
    if (methods.has('GET')) methods.add('HEAD')
    const allow = [...methods].sort().join(', ')
    res.setHeader('Allow', allow)
    if (req.method === 'OPTIONS') {
      res.status(204).end()
      return
    }
    throw new AppError('method_not_allowed', `${req.method} is not allowed here; allowed are ${allow}.`)
  }
}
