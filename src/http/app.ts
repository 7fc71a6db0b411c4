import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type RequestHandler, type Router } from 'express'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { contextOf, isPreflight, openEdge, originForm, sendPreflight } from './edge.ts'
import type { Intake } from './intake.ts'
import { problemHandler, sendBareProblem } from './problem.ts'
import { chargeOnce, type LocalLimits } from './rate-limit/spend.ts'
import type { RequestTimes } from './request-times.ts'

export interface AppOptions {
  logger: Logger
  /** The number of proxies in front, which decides whose X-Forwarded-For entry is the client. */
  trustProxy: number
  /** Records the times of requests. Absent: they are not recorded. */
  times?: RequestTimes | undefined
  /** Learns which addresses ask, and slows refused bodies. Absent: none is slowed. */
  intake?: Intake
  /** The limits that requests without a charge of their own count against: refusals and OPTIONS. */
  limits: LocalLimits
  /** Routers in the order in which they are tried. Each holds full paths. */
  routers: readonly Router[]
}

/**
 * The HTTP application: the edge (request context and headers), the routers, then 405 for known paths, 404, and
 * errors as JSON. It holds no state; `server/main.ts` wires it.
 */
export function createApp({ logger, trustProxy, times, intake, limits, routers }: AppOptions): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  times?.watch(app.response)
  // Repeated parameters stay visible and nothing nests: routes read the query by their own table (parameters.ts).
  app.set('query parser', 'simple')
  const allowedMethods = methodTable(routers)
  // Within Express, because it replaces the prototypes of request and response. That is slow for objects that were used
  // before.
  const methods = { allowed: allowedMethods, literal: literalMethods(routers, allowedMethods) }
  app.use(beginRequest(openEdge({ logger, trustProxy, intake }), limits, methods))
  for (const router of routers) app.use(router)
  app.use(refuseMethod(allowedMethods))
  app.use(() => {
    throw new AppError('not_found', 'There is nothing at this address. See /openapi.json for the API.')
  })
  app.use(problemHandler(logger, limits, intake))
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

type AllowedMethods = ReturnType<typeof methodTable>

/**
 * Creates the request's context. Answers requests that must reach no route: a missing Host, OPTIONS, and a literal path
 * with another method.
 */
function beginRequest(
  edge: ReturnType<typeof openEdge>,
  limits: LocalLimits,
  methods: { allowed: AllowedMethods; literal: ReturnType<typeof literalMethods> },
): RequestHandler {
  return (req, res, next) => {
    const context = edge(req, res)
    if (req.headers.host === undefined && req.httpVersion === '1.1')
      throw new AppError('invalid_request', 'The Host header is missing. Send one.')
    if (req.method !== 'OPTIONS') {
      const literal = methods.literal(context.path)
      if (literal && !literal.has(req.method)) throw methodNotAllowed(req, res, [...literal].join(', '))
      return next()
    }
    chargeOnce(limits, req)
    if (isPreflight(req, context)) return sendPreflight(res)
    // Express would answer with the methods as plain text.
    const allow = methods.allowed(context.path)
    if (!allow) return next()
    res.writeHead(204, { Allow: allow }).end()
  }
}

interface Layer {
  route?: { path: string; methods: Record<string, boolean> }
  match(path: string): boolean
}

/** Every mounted route as `{ path, methods }`, for the tests that hold documents and guards against the routers. */
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

/** Finds the methods of a path as an Allow header; undefined for an unknown path and for one that takes all. */
function methodTable(routers: readonly Router[]): (path: string) => string | undefined {
  const layers = layersOf(routers)
  return (path) => {
    const methods = new Set<string>()
    const matching = layers.filter((layer) => layer.match(path))
    // `/api/favourites/export` is a place of its own, not the frame of that name.
    const literal = matching.filter(isLiteral)
    for (const layer of literal.length > 0 ? literal : matching) {
      if (layer.route!.methods._all) return undefined
      for (const method of Object.keys(layer.route!.methods)) methods.add(method.toUpperCase())
    }
    if (methods.has('GET')) methods.add('HEAD')
    return methods.size === 0 ? undefined : [...methods].sort().join(', ')
  }
}

const isLiteral = ({ route }: Layer) => !/[:*{]/.test(route!.path)

/**
 * Finds the methods of a literal path that also fits a route with a parameter, which would read the word as an id.
 * Undefined for any other path.
 */
function literalMethods(routers: readonly Router[], allowedMethods: AllowedMethods) {
  const layers = layersOf(routers)
  const shadowed = new Map<string, Set<string>>()
  for (const layer of layers.filter(isLiteral)) {
    const { path } = layer.route!
    if (layers.some((other) => !isLiteral(other) && other.match(path)))
      shadowed.set(path, new Set(allowedMethods(path)?.split(', ')))
  }
  // The router ignores letter case and a slash at the end.
  return (path: string): ReadonlySet<string> | undefined =>
    shadowed.get(/[A-Z]|\/$/.test(path) ? path.toLowerCase().replace(/\/$/, '') : path)
}

function refuseMethod(allowedMethods: AllowedMethods): RequestHandler {
  return (req, res, next) => {
    const allow = allowedMethods(contextOf(req).path)
    if (!allow) return next()
    throw methodNotAllowed(req, res, allow)
  }
}

function methodNotAllowed(req: IncomingMessage, res: ServerResponse, allow: string): AppError {
  res.setHeader('Allow', allow)
  return new AppError('method_not_allowed', `${req.method} is not allowed here. Use ${allow}.`)
}
