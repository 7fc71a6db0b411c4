import { randomUUID } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { AppError, type ErrorCode } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { addressReader, answerPreflight, type CountRequest, contextOf, openEdge, originForm } from './edge.ts'
import { openRefusalLog, problemHandler, type RefusalLog, sendBareProblem } from './problem.ts'
import { type Charging, chargeOnce } from './rate-limit/rate-limits.ts'
import { type AllowedMethods, listShadowed, openAllowedMethods, type Routes } from './routes.ts'

export interface AppOptions {
  logger: Logger
  /** The number of proxies in front, which decides whose X-Forwarded-For entry is the client. */
  trustProxy: number
  /** Records the time of a request. */
  countRequest: CountRequest
  /** The limits that requests without a charge of their own count against: refusals and OPTIONS. */
  limits: Charging
  /** Routers in the order in which they are tried. Each holds full paths. */
  routers: readonly Routes[]
  /** Answers browsers at unknown addresses. Absent: they get JSON, as programs do. */
  pageErrors?: ErrorRequestHandler | undefined
}

/**
 * The HTTP application: the edge (request context and headers), the routers, then 405 for known paths, 404, and
 * errors as JSON. It holds no state; `server/main.ts` wires it.
 */
export function createApp(options: AppOptions): RequestListener {
  const { logger, trustProxy, countRequest, limits, routers, pageErrors } = options
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Repeated parameters stay visible and nothing nests: routes read the query by their own table (parameters.ts).
  app.set('query parser', 'simple')
  const allowed = openAllowedMethods(routers)
  // Within Express, because it replaces the prototypes of request and response. That is slow for objects that were used
  // before.
  app.use(beginRequest(openEdge(logger, trustProxy, countRequest), limits, allowed))
  app.use(requireMethod(new Map(listShadowed(routers).map((path) => [path, allowed(path)]))))
  for (const { router } of routers) app.use(router)
  app.use(refuseUnknown(pageErrors, allowed))
  app.use(problemHandler(logger, limits))
  // Typed without its third parameter, which stands for Express' own last answer: HTML, outside the edge.
  const handle = app as unknown as (req: IncomingMessage, res: ServerResponse, last: (error?: unknown) => void) => void
  return (req, res) => {
    const last = (error?: unknown) => answerLast(logger, error, req, res)
    try {
      req.url = originForm(req.url!)
      handle(req, res, last)
    } catch (error) {
      last(error)
    }
  }
}

/** Answers what neither a route nor the problem handler could answer. Nothing guards what calls this. */
function answerLast(logger: Logger, error: unknown, req: IncomingMessage, res: ServerResponse): void {
  logger.error({ method: req.method, err: error }, 'request could not be answered')
  if (res.headersSent) res.destroy()
  else sendBareProblem(req, res)
}

/**
 * Creates the request's context. Answers requests that must reach no route: a missing Host, and OPTIONS.
 */
function beginRequest(edge: ReturnType<typeof openEdge>, limits: Charging, allowed: AllowedMethods): RequestHandler {
  return (req, res, next) => {
    const context = edge(req, res)
    if (req.headers.host === undefined && req.httpVersion === '1.1')
      throw new AppError('invalid_request', 'The Host header is missing. Send one.')
    if (req.method !== 'OPTIONS') return next()
    chargeOnce(limits, { req, res })
    if (answerPreflight(req, res, context)) return
    // Express would answer with the methods as plain text.
    const allow = allowed(context.path)
    if (!allow) return next()
    res.writeHead(204, { Allow: allow }).end()
  }
}

/**
 * Answers what no route has answered: 405 for a known path, else 404. Outside `/api`, a client that asks for HTML gets
 * a page.
 */
function refuseUnknown(pageErrors: AppOptions['pageErrors'], allowed: AllowedMethods): RequestHandler {
  return (req, res, next) => {
    const { path } = contextOf(req)
    const allow = allowed(path)
    if (allow) throw methodNotAllowed(req, res, allow)
    const isPage = req.accepts(['json', 'html']) === 'html' && !/^\/api(\/|$)/i.test(path)
    if (!pageErrors || !isPage)
      throw new AppError(
        'not_found',
        'There is nothing at this address. Read /llms.txt first; /openapi.json has the whole API.',
      )
    res.vary('Accept')
    const error = new AppError('not_found', 'There is nothing at this address. Check it, or search the wall.')
    return pageErrors(error, req, res, next)
  }
}

/** Refuses other methods of literal paths, before a route reads their last word as an id. */
function requireMethod(shadowed: ReadonlyMap<string, string | undefined>): RequestHandler {
  return (req, res, next) => {
    const { path } = contextOf(req)
    // The router ignores letter case and a slash at the end.
    const allow = shadowed.get(/[A-Z]|\/$/.test(path) ? path.toLowerCase().replace(/\/$/, '') : path)
    if (allow && req.method !== 'OPTIONS' && !allow.split(', ').includes(req.method))
      throw methodNotAllowed(req, res, allow)
    next()
  }
}

function methodNotAllowed(req: IncomingMessage, res: ServerResponse, allow: string): AppError {
  res.setHeader('Allow', allow)
  return new AppError('method_not_allowed', `${req.method} is not allowed here. Use ${allow}.`)
}

// The server below the application: its limits, its connections and its end.

/** A server with production's limits of time and size. */
export function createHttpServer(): Server {
  const server = createServer({
    // The connection's guard ends slow bodies by their rate. A large upload on a slow line takes hours.
    requestTimeout: 0,
    headersTimeout: 10_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false,
  })
  server.maxRequestsPerSocket = 10_000
  return server
}

/** How long a refused body is still read after the answer, so that its sender receives the answer. */
const LINGER_MS = 5_000
/** How often failures to accept a connection are logged. */
const LOG_EVERY_MS = 60_000

export interface ConnectionLimits {
  /** How long a body may take to arrive. An upload keeps a rate instead, counted over twice this time. */
  bodyMs?: number
  /** How long a connection may be idle within a request. A client that does not read its answer is disconnected. */
  idleMs?: number
  /** Most open connections of one IPv4 address or IPv6 /64. */
  perAddress?: number | undefined
}

/**
 * Guards the connections, which no route sees. A request that cannot be parsed is answered in JSON. Idle connections
 * are closed, and an address may hold a limited number. A slow body is cut off after `bodyMs`, an upload when it falls
 * below SLOWEST_UPLOAD. Call it before the server listens.
 */
export function guardConnections(
  server: Server,
  logger: Logger,
  { bodyMs = 30_000, idleMs = 60_000, perAddress = 256 }: ConnectionLimits = {},
): void {
  const refused = openRefusalLog(logger)
  const addressOf = addressReader(0)
  server.on('clientError', (error: ParseError, socket: Socket) => {
    try {
      if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
      refused(addressOf({ socket }), { code: error.code }, 'request could not be parsed')
      const [status, message] = PARSE_FAULTS[error.code ?? ''] ?? NOT_HTTP
      const isHead = error.rawPacket?.subarray(0, 5).toString() === 'HEAD '
      answerBare(socket, { status, code: 'invalid_request', message, isHead })
    } catch {
      // No request handler is around this: an error would end the process.
      socket.destroy()
    }
  })
  // Connections that could not be accepted, for want of descriptors. Without a listener they would end the process.
  let loggedAt = Number.NEGATIVE_INFINITY
  server.on('error', (error) => {
    if (!server.listening || performance.now() - loggedAt < LOG_EVERY_MS) return
    loggedAt = performance.now()
    logger.error({ err: error }, 'connections not accepted')
  })
  // Without a listener Node closes the connection without an answer.
  server.on('connect', (_req, socket: Socket) => {
    socket.on('error', () => undefined)
    refused(addressOf({ socket }), { code: 'method_not_allowed' }, 'request could not be parsed')
    answerBare(socket, { status: 405, code: 'method_not_allowed', message: NO_PROXY, more: ['Allow: GET, HEAD, POST'] })
    // Node stops reading. What came behind the request must be drained, or the descriptor leaks and holds up a stop.
    socket.resume()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  })
  boundConnections(server, perAddress, { addressOf, refused })
  // `Expect` with anything but 100-continue is ignored.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  server.setTimeout(idleMs)
  server.on('request', (req, res) => {
    if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) return
    // Checked once the current packet is read: most bodies arrive with their head and need no timer.
    setImmediate(() => {
      if (!req.complete) watchBody(req, res, bodyMs)
    })
  })
}

function boundConnections(
  server: Server,
  max: number,
  { addressOf, refused }: { addressOf: ReturnType<typeof addressReader>; refused: RefusalLog },
): void {
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = addressOf({ socket })
    const count = open.get(address) ?? 0
    if (count >= max) {
      refused(address, { connections: count }, 'connection refused')
      socket.destroy()
      return
    }
    open.set(address, count + 1)
    socket.once('close', () => {
      const left = open.get(address)! - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
  })
}

type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer }

const PARSE_FAULTS: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The URL and headers are too long together. Send at most 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive. Send it again.'],
}

const NOT_HTTP: [status: number, message: string] = [
  400,
  'This is not a valid HTTP request. Check its method and headers, and percent-encode its address.',
]

const NO_PROXY = 'CONNECT is not allowed here, because this is no proxy. See /llms.txt.'

interface BareAnswer {
  status: number
  code: ErrorCode
  message: string
  /** Headers of its own. */
  more?: readonly string[]
  isHead?: boolean
}

/** For a socket whose request reaches no route. */
function answerBare(socket: Socket, { status, code, message, more = [], isHead = false }: BareAnswer): void {
  const body = JSON.stringify({ code, message })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
    ...more,
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${isHead ? '' : body}`)
}

/** As the router matches them: without regard to letter case and a slash at the end. */
const UPLOAD = /^POST (\/api\/videos|\/web\/videos\/file)\/?$/i
/** Bytes a second: three uploads at once over a line of 1 Mbit/s. */
const SLOWEST_UPLOAD = 32 * 1024

function watchBody(req: IncomingMessage, res: ServerResponse, bodyMs: number): void {
  const cut = () => {
    if (!req.complete) req.socket.destroy()
  }
  const linger = () => {
    if (!req.complete) setTimeout(cut, LINGER_MS).unref()
  }
  let seen = req.socket.bytesRead
  const cutSlow = () => {
    const came = req.socket.bytesRead - seen
    seen += came
    // Bytes that wait here are our delay, not the sender's. Where reading has just begun again, they come in the next
    // turn of the event loop.
    if (req.readableLength > 0 || came >= (SLOWEST_UPLOAD * 2 * bodyMs) / 1_000) return
    setImmediate(() => {
      if (req.socket.bytesRead === seen) cut()
    })
  }
  const isUpload = UPLOAD.test(`${req.method} ${req.url?.split('?', 1)[0]}`)
  // Timers run before sockets are read: after a pause of this process the bytes of the sender still wait in the kernel.
  const lookSoon = () => setImmediate(cutSlow)
  const timer = isUpload ? setInterval(lookSoon, 2 * bodyMs).unref() : setTimeout(cut, bodyMs).unref()
  req.once('end', () => clearTimeout(timer))
  res.once('close', () => clearTimeout(timer))
  if (res.writableFinished) linger()
  else res.once('finish', linger)
}

export interface Drain {
  /**
   * Serves for another `graceMs` with `Connection: close`, as a load balancer checks /readyz twice before it leaves.
   * Then calls `endStreams`, accepts no connections and lets requests in flight finish, at most `deadlineMs` from now.
   */
  drain(options: { graceMs: number; deadlineMs: number; endStreams?: () => void }): Promise<void>
}

/**
 * Call it before the server listens. `server.close()` alone serves busy kept-alive connections for ever,
 * and waits for clients that hang.
 */
export function drainable(server: Server): Drain {
  let draining = false
  const open = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.prependListener('request', (_req, res: ServerResponse) => {
    open.add(res)
    res.once('close', () => open.delete(res))
    if (draining) res.setHeader('Connection', 'close')
  })
  return {
    async drain({ graceMs, deadlineMs, endStreams }) {
      draining = true
      for (const res of open) if (!res.headersSent) res.setHeader('Connection', 'close')
      if (graceMs > 0) await new Promise((resolve) => setTimeout(resolve, graceMs))
      endStreams?.()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      // Browsers open connections ahead. Node counts one as idle only after its first request.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      const timer = setTimeout(() => server.closeAllConnections(), Math.max(0, deadlineMs - graceMs))
      await closed
      clearTimeout(timer)
    },
  }
}
