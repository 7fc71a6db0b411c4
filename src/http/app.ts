import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { type CountRequest, contextOf, isPreflight, openEdge, originForm, sendPreflight } from './edge.ts'
import { problemHandler, sendBareProblem } from './problem.ts'
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
    if (isPreflight(req, context)) return sendPreflight(res)
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
