import type { RequestHandler } from 'express'
import type { Authentication } from './authenticate.ts'
import { contextOf } from './edge.ts'
import type { Endpoint, EndpointTools, Operation } from './endpoint.ts'
import { POINTS } from './rate-limit/budgets.ts'
import type { RateLimits } from './rate-limit/rate-limits.ts'
import { limitOpenReads, spend } from './rate-limit/spend.ts'
import { jsonBody } from './request-body.ts'
import { openRoutes, type Routes } from './routes.ts'

interface RouterTools extends EndpointTools {
  authentication: Pick<Authentication, 'requireScope'>
}

/** The router of declared endpoints: guards, body, handler. Express passes on what a handler throws. */
export function endpointRouter<D>(endpoints: readonly Endpoint<D>[], deps: D, tools: RouterTools): Routes {
  const router = openRoutes()
  for (const endpoint of endpoints)
    router[endpoint.method](endpoint.path, ...guardsOf(endpoint, tools), endpoint.toHandler(deps, tools))
  return router
}

function guardsOf(operation: Operation, { authentication, limits }: RouterTools): RequestHandler[] {
  const { headers, scope, everyPlan, plain, free, cached, cost, body } = operation
  const guards: RequestHandler[] = []
  if (headers)
    guards.push((_req, res, next) => {
      res.set(headers)
      next()
    })
  if (scope) guards.push(authentication.requireScope(scope, { ...cost, everyPlan }))
  else if (cached || plain) guards.push(...(free ? [] : [limitOpenReads(limits, cost)]))
  else guards.push(limitOpen(limits, cost))
  // After the scope, so that a caller without a key learns nothing about the body.
  if (body) guards.push(jsonBody)
  return guards
}

/** Counts an open answer that no edge may cache, across all processes. */
function limitOpen(
  limits: RateLimits,
  { budget = 'anonymous', points = POINTS.read }: Operation['cost'] = {},
): RequestHandler {
  return async (req, res, next) => {
    await spend(limits, { req, res }, { budget, subject: contextOf(req).address }, points)
    next()
  }
}
