import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import type { ZodOpenApiContentObject } from 'zod-openapi'
import type { Db, Tx } from '../db/client.ts'
import { invalid, namingFields } from '../errors.ts'
import { runIdempotently, type StoredResponse } from '../library/accounts/idempotency.ts'
import type { Caller, Scope } from '../library/accounts/key-checks.ts'
import { type Parameters, readParameters, type Values } from '../parameters.ts'
import { type Authentication, callerOf } from './authenticate.ts'
import type { Budget, Holding, Price } from './rate-limit/budgets.ts'
import { holdUntilSent, priced, type RateLimits } from './rate-limit/rate-limits.ts'
import { jsonBody } from './request-body.ts'
import type { SendPieces } from './response-body.ts'
import { openRoutes, type Routes } from './routes.ts'

/**
 * The declaration of an endpoint. The router, OpenAPI, /docs, /llms.txt and the authorisation tests are made from it.
 */
export interface Operation {
  /** The operation's name in generated clients. It never changes. */
  id: string
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As mounted: `/api/videos/:id/frames`. */
  path: string
  tag: string
  summary: string
  description?: string
  /** The query by its table; `{}` refuses every parameter. An operation with a key refuses them without a table too. */
  parameters?: Parameters
  body?: z.ZodType
  example?: unknown
  /** An absent body counts as `{}`. */
  bodyOptional?: boolean
  /** Instead of `body`: the media types of a body that the handler reads itself, like the query. */
  otherBody?: ZodOpenApiContentObject
  /** JSON of this shape, or another media type. */
  answer: z.ZodType | string
  /** Other media types of the same answer. */
  alternatives?: readonly string[]
  /** The status of a success; 200 if absent. */
  status?: number
  /** Headers of a success, each with its meaning. */
  answerHeaders?: Readonly<Record<string, string>>
  /** Other statuses of a success, without a body, each with its meaning. */
  emptyAnswers?: Readonly<Record<number, string>>
  /** Absent: open to everyone. */
  scope?: Scope
  /** The plan is not checked: removals and exports stay open when a plan has lapsed. */
  allowLapsedPlan?: boolean
  /** READS=members: asks for a key, with whatever scopes. */
  anyKey?: boolean
  /** Open to everyone. With a key the answer holds more. */
  keyOptional?: boolean
  /** Statuses beyond those that every operation of its kind may answer. */
  errors?: readonly number[]
  /** Honours Range. */
  ranges?: boolean
  /** The shape of errors, where it is not the usual one. */
  problem?: z.ZodType
  /** Answers carry an ETag and may be cached. */
  cached?: boolean
  /** Takes an Idempotency-Key. */
  idempotent?: boolean
  /** What it costs; absent: a GET is a read, all else a write. */
  price?: Price
  /** Another of the address's budgets than the usual one. */
  budget?: Budget
  /** Depends on no store: only the `errors` above and 429 can occur. */
  plain?: boolean
  /** Takes no points. */
  free?: boolean
  /** Headers of every answer, refusals included. */
  headers?: Readonly<Record<string, string>>
}

/** What a declaration of a fixed method leaves out. */
export type Methodless = Omit<Operation, 'method'>

/** An operation and its handler. `D`: what the handler needs, `G`: what it is given, `A`: its answer. */
export interface Endpoint<D, G = never, A = unknown> extends Operation {
  toHandler: (deps: D, tools: EndpointTools) => RequestHandler
  /** The same deed for commands, tools and forms, which have checked what they give it, and the right to it. */
  act(deps: D, given: G): Promise<A>
  /** What is lost for good, as people read it: commands ask first. @throws AppError not_found */
  loses?(deps: D, given: G): Promise<string>
  /** The answer holds a secret that is not shown again. */
  secret?: boolean
  /** The handler takes the points, once it knows what is asked. */
  charges?: true
}

/** The dependencies of the endpoint router. */
export interface EndpointTools {
  db: Db
  authentication: Pick<Authentication, 'requireScope'>
  limits: RateLimits
  sendPieces: SendPieces
}

type PathParams<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & PathParams<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

/** The input of a handler, parsed and checked by the operation's schemas. */
export interface Input<O extends Methodless> {
  params: PathParams<O['path']>
  query: O extends { parameters: infer P extends Parameters } ? Values<P> : Record<never, never>
  body: O extends { body: infer B extends z.ZodType } ? z.output<B> : undefined
  caller: O extends { scope: Scope } ? Caller : undefined
  req: Request
  res: Response
  /** Takes one of the caller's concurrent slots of this kind until the answer is sent. @throws AppError rate_limited */
  hold(kind: Holding): void
  /** Streams a body of any length, one at a time for an account. @throws AppError rate_limited */
  sendPieces(pieces: AsyncIterable<string>, type: string): Promise<void>
}

/** The answer as the operation's schema has it. */
export type Answer<O extends Methodless> = O['answer'] extends z.ZodType ? z.input<O['answer']> : never

/** What a handler is given where there is no request. */
export type Given<O extends Methodless> = Partial<Pick<Input<O>, 'params' | 'query' | 'body' | 'caller'>>

interface EndpointOptions<D, O extends Methodless> {
  loses?: (deps: D, given: Given<O>) => Promise<string>
  /** The path of what was created. */
  locationOf?: (answer: Answer<O>) => string
}

/** Declares an endpoint. A handler that sends the answer itself returns undefined. */
export function endpoint<D, const O extends Operation>(
  operation: O,
  handle: (deps: D, input: Input<O>) => Promise<Answer<O> | undefined> | Answer<O> | undefined,
  { loses, locationOf }: EndpointOptions<D, O> = {},
): Endpoint<D, Given<O>, Answer<O>> {
  return {
    ...operation,
    ...(loses ? { loses } : {}),
    ...(locationOf ? { answerHeaders: { ...operation.answerHeaders, ...LOCATION } } : {}),
    act: async (deps, given) => (await handle(deps, withoutRequest(given))) as Answer<O>,
    toHandler: (deps, tools) => async (req, res) => {
      const answer = await handle(deps, readInput(operation, tools, req, res))
      if (operation.status !== undefined) res.status(operation.status)
      if (answer === undefined) return
      if (locationOf) res.location(locationOf(answer))
      res.json(answer)
    },
  }
}

/** Commands and pages have their own limits. A handler that sends the answer itself cannot be asked so. */
function withoutRequest<O extends Methodless>(given: Given<O>): Input<O> {
  return { params: {}, query: {}, hold: () => undefined, ...given } as unknown as Input<O>
}

interface PostOptions<O extends Methodless> {
  /** The answer holds a secret, so it is not stored for replays. */
  secret?: boolean
  /** The path of what was created. */
  locationOf?: (answer: Answer<O>) => string
}

/** Declares a POST that runs in one transaction, and at most once per Idempotency-Key. */
export function idempotentPost<D extends { db: Db }, const O extends Methodless & { scope: Scope }>(
  operation: O,
  write: (deps: D, input: Input<O> & { tx: Tx }) => Promise<Answer<O>>,
  { secret = false, locationOf }: PostOptions<O> = {},
): Endpoint<D, Given<O>, Answer<O>> {
  const { status = 200 } = operation
  return {
    ...operation,
    method: 'post',
    ...(locationOf ? { answerHeaders: { ...operation.answerHeaders, ...LOCATION } } : {}),
    idempotent: true,
    ...(secret ? { secret } : {}),
    act(deps, given) {
      const act = (tx: Tx) => write(deps, { ...withoutRequest(given), tx })
      return given.caller ? deps.db.transactionOf(given.caller.account.id, act) : deps.db.transaction(act)
    },
    toHandler: (deps, tools) => async (req, res) => {
      const input = readInput(operation, tools, req, res)
      const act = async (tx: Tx) => ({ status, body: await write(deps, { ...input, tx }), secret })
      const answer = await inOneTransaction(tools.db, req, act)
      if (answer.replayed) res.set('Idempotent-Replayed', 'true')
      if (locationOf) res.location(locationOf(answer.body as Answer<O>))
      res.status(answer.status).json(answer.body)
    },
  }
}

export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Runs a write of the caller; with an `Idempotency-Key` at most once. */
async function inOneTransaction(
  db: Db,
  req: Request,
  act: (tx: Tx) => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed?: boolean }> {
  const accountId = callerOf(req).account.id
  const key = req.get('Idempotency-Key')
  if (key === undefined) return db.transactionOf(accountId, act)
  if (!IDEMPOTENCY_KEY.test(key))
    throw invalid('Idempotency-Key', 'An Idempotency-Key has 1 to 255 visible ASCII characters.')
  const request = `${req.method} ${req.path}\n${JSON.stringify(req.body ?? null)}`
  return runIdempotently(db, { accountId, key, request }, act)
}

/** Header of an answer that created a resource. */
const LOCATION = { Location: 'The path of what was created.' } as const

/** Fields in camel case, `frameId`, are taken in snake case too, as all others are written. */
function asNamed(schema: z.ZodType, given: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || typeof given !== 'object' || given === null || Array.isArray(given))
    return given
  const { shape } = schema
  const nameOf = (key: string) => {
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return !Object.hasOwn(shape, key) && Object.hasOwn(shape, camel) && !Object.hasOwn(given, camel) ? camel : key
  }
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [nameOf(key), value]))
}

function readInput<O extends Methodless>(
  operation: O,
  { limits, sendPieces }: EndpointTools,
  req: Request,
  res: Response,
): Input<O> {
  const { parameters, body, bodyOptional, otherBody, scope } = operation
  // A check of health is asked with whatever a proxy adds. What a key does must not be asked for in vain.
  const table = parameters ?? (scope ? {} : undefined)
  const input: Record<keyof Input<O>, unknown> = {
    params: req.params,
    query: table && !otherBody ? readParameters(req.originalUrl, table) : {},
    body: body?.parse(asNamed(body, bodyOptional ? (req.body ?? {}) : req.body), { error: namingFields }),
    caller: scope && callerOf(req),
    req,
    res,
    hold: (kind: Holding) => holdUntilSent(limits, { req, res }, kind),
    sendPieces: (pieces: AsyncIterable<string>, type: string) => sendPieces(req, res, pieces, type),
  }
  return input as Input<O>
}

/** The router of declared endpoints: guards, body, handler. Express passes on what a handler throws. */
export function endpointRouter<D>(endpoints: readonly Endpoint<D>[], deps: D, tools: EndpointTools): Routes {
  const router = openRoutes()
  for (const endpoint of endpoints)
    router[endpoint.method](endpoint.path, ...guardsOf(endpoint, tools), endpoint.toHandler(deps, tools))
  return router
}

export function operationNamed<D>(operations: readonly Endpoint<D>[], id: string): Endpoint<D> {
  const found = operations.find((one) => one.id === id)
  if (!found) throw new Error(`no operation is called ${id}`)
  return found
}

export const priceOf = ({ price, method }: Pick<Operation, 'price' | 'method'>): Price =>
  price ?? (method === 'get' ? 'read' : 'write')

function guardsOf(endpoint: Operation & { charges?: true }, tools: EndpointTools): RequestHandler[] {
  const { headers, scope, allowLapsedPlan, plain, free, cached, budget, body, charges } = endpoint
  const { authentication, limits } = tools
  const price = priceOf(endpoint)
  const guards: RequestHandler[] = []
  if (headers)
    guards.push((_req, res, next) => {
      res.set(headers)
      next()
    })
  if (scope) guards.push(authentication.requireScope(scope, { price, allowLapsedPlan }))
  else if (!free && !charges) guards.push(priced(limits, { price, budget, noStore: !cached && !plain }))
  // After the scope, so that a caller without a key learns nothing about the body.
  if (body) guards.push(jsonBody)
  return guards
}
