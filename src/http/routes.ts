import { type RequestHandler, Router } from 'express'
import { match } from 'path-to-regexp'
import type { Price } from './rate-limit/budgets.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'all'] as const
type Method = (typeof METHODS)[number]

interface Route {
  method: Method
  path: string
  /** Of a page or an action for signed-in people: who may, and what it costs. */
  who?: string
  price?: Price
}

/** Routes of an Express router, and a list of them: Express does not say what it was given. */
export interface Routes extends Pick<Router, Method | 'use'> {
  readonly router: Router
  readonly list: readonly Route[]
  /** Adds a route that says who may use it. */
  guarded(route: Route, ...handlers: RequestHandler[]): void
}

export function openRoutes(): Routes {
  const router = Router()
  const list: Route[] = []
  const guarded = (route: Route, ...handlers: RequestHandler[]) => {
    list.push(route)
    router[route.method](route.path, ...handlers)
  }
  const declare =
    (method: Method) =>
    (path: string, ...handlers: RequestHandler[]) => {
      guarded({ method, path }, ...handlers)
      return router
    }
  const methods = Object.fromEntries(METHODS.map((method) => [method, declare(method)]))
  return { ...(methods as Pick<Router, Method>), use: router.use.bind(router) as Router['use'], router, list, guarded }
}

/** Every route, for the tests that hold documents and guards against the routes. */
export function listRoutes(routes: readonly Routes[]): (Omit<Route, 'method'> & { methods: string[] })[] {
  const listed = routes.flatMap(({ list }) => list).filter(({ method }) => method !== 'all')
  return listed.map(({ method, ...route }) => ({ ...route, methods: [method.toUpperCase()] }))
}

/** Finds the methods of a path as an Allow header; undefined for an unknown path and for one that takes all. */
export type AllowedMethods = (path: string) => string | undefined

export function openAllowedMethods(routes: readonly Routes[]): AllowedMethods {
  const listed = routes.flatMap(({ list }) => list).map((route) => ({ ...route, fits: fitting(route.path) }))
  return (path) => {
    const fitted = listed.filter(({ fits }) => fits(path))
    // `/api/favourites/export` is a place of its own, not the frame of that name.
    const literal = fitted.filter(isLiteral)
    const methods = new Set((literal.length > 0 ? literal : fitted).map(({ method }) => method.toUpperCase()))
    if (methods.size === 0 || methods.has('ALL')) return undefined
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods].sort().join(', ')
  }
}

/** Literal paths that also fit a route with a parameter, which would read the word as an id. */
export function listShadowed(routes: readonly Routes[]): string[] {
  const listed = routes.flatMap(({ list }) => list)
  const open = listed.filter((route) => !isLiteral(route)).map(({ path }) => fitting(path))
  const literal = new Set(listed.filter(isLiteral).map(({ path }) => path))
  return [...literal].filter((path) => open.some((fits) => fits(path)))
}

const isLiteral = ({ path }: Route) => !/[:*{]/.test(path)

/** As Express matches paths. @throws URIError for a part that cannot be decoded */
function fitting(pattern: string): (path: string) => boolean {
  const find = match(pattern, { sensitive: false, trailing: true })
  return (path) => find(path) !== false
}
