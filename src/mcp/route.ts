import type { IncomingMessage } from 'node:http'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { z } from 'zod'
import { isLoopback } from '../config.ts'
import { AppError } from '../errors.ts'
import { type Authentication, payerOf, type SignIn } from '../http/authenticate.ts'
import type { TakeTurn } from '../http/cached-reads.ts'
import { contextOf } from '../http/edge.ts'
import type { Operation } from '../http/endpoint.ts'
import { toAppError } from '../http/problem.ts'
import { type Charging, charge } from '../http/rate-limit/rate-limits.ts'
import { MAX_BODY_BYTES, readBody, refuseDeclared, requireUtf8 } from '../http/request-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import type { Caller } from '../library/accounts/key-checks.ts'
import { type Dispatch, MAX_BATCH } from './dispatcher.ts'
import {
  budgetReply,
  errorReply,
  type McpReply,
  PARSE_ERROR,
  parseBody,
  RpcError,
  type RpcId,
  readId,
  refusalReply,
  refuse,
  sendReply,
} from './protocol.ts'
import type { CallContext } from './tool-call.ts'

const rpcId = z.union([z.string(), z.number(), z.null()])
const RpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId.optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'RpcRequest' })
const RpcResponse = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'RpcResponse' })

/** The tool server as the API's documents describe it. */
export const TOOL_SERVER = {
  id: 'callToolServer',
  method: 'post',
  path: '/api/mcp',
  tag: 'Tool server',
  summary: 'The Model Context Protocol: JSON-RPC 2.0, one request per call, no session',
  description: [
    'Readers of the library have six tools. Any key adds four of films, a Pro key saves, boards and pins.',
    'It speaks the revisions 2026-07-28 (stateless) and 2025-03-26 to 2025-11-25.',
    'Where apps can sign in (OAuth), `POST /mcp` is the same server for a key or a token.',
    `A list of up to ${MAX_BATCH} requests is a batch, in revision 2025-03-26 or without a version.`,
    'A tool costs what its operation over HTTP does; those that search frames or everything cost 5.',
    'Errors are JSON-RPC errors, except a 401, a 405 and a 500.',
  ].join(' '),
  price: 'read',
  body: z.union([RpcRequest, z.array(RpcRequest).min(1).max(MAX_BATCH)]),
  example: {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search_frames', arguments: { query: 'dark terminal' } },
  },
  answer: z.union([RpcResponse, z.array(RpcResponse)]),
  emptyAnswers: { 202: 'Taken: there were only notifications' },
  keyOptional: true,
  errors: [401, 403, 404],
  problem: RpcResponse,
} as const satisfies Operation

export interface McpRouteOptions {
  dispatch: Dispatch
  publicUrl: string
  authentication: Pick<Authentication, 'identify'>
  /** Absent: there is no signed-in door. */
  signIn?: SignIn | undefined
  /** The one budget that HTTP uses too. */
  limits: Charging
  takeTurn: TakeTurn
}

/**
 * `POST /api/mcp` (docs/interface.md §4.4), open to everyone, and `POST /mcp`, for a key or a token only: what HTTP
 * adds before and after the protocol. Every answer is JSON; only 202 and a preflight have no body.
 */
export function mcpRouter(options: McpRouteOptions): Routes {
  const { dispatch, publicUrl, authentication, limits, takeTurn, signIn } = options

  function contextFor(req: Request, res: Response, { caller, door }: Identified): CallContext {
    res.setHeader('Cache-Control', 'no-store')
    const context = contextOf(req)
    if (caller) context.payer = payerOf(caller)
    return {
      caller,
      signIn: door,
      inTurn: (act) => takeTurn(context.address, act),
      charge: (points) => charge(limits, { req, res }, points),
    }
  }

  /** An invalid key gets the HTTP API's 401. When keys cannot be checked, the answer is a JSON-RPC error. */
  async function identify(req: Request, res: Response, door: SignIn | undefined): Promise<Identified> {
    if (!door && req.headers.authorization === undefined) return {}
    try {
      return { caller: await (door ?? authentication).identify(req, res), door }
    } catch (error) {
      const refusal = toAppError(error)
      if (refusal.code !== 'rate_limited' && refusal.code !== 'unavailable') throw error
      return { refusal }
    }
  }

  const answerAt = (door?: SignIn) => async (req: Request, res: Response) => {
    const identified = await identify(req, res, door)
    if (!isJson(req)) return refuse(limits, req, res, WRONG_TYPE)
    let body: string
    try {
      refuseDeclared(req, MAX_BODY_BYTES)
      body = String((await readBody(parse, req, res)) ?? '')
    } catch (error) {
      // What is left of the body is discarded, so that its sender receives the answer.
      req.resume()
      return refuse(limits, req, res, bodyFault(error))
    }
    const { refusal } = identified
    if (refusal) return refuse(limits, req, res, budgetReply(idOf(body), refusal))
    sendReply(res, await dispatch(body, req.headers, contextFor(req, res, identified)))
  }

  const router = openRoutes()
  router.all('/api/mcp', originGuard(publicUrl, limits), postOnly)
  router.post('/api/mcp', answerAt())
  if (signIn) {
    router.all('/mcp', originGuard(publicUrl, limits), postOnly)
    router.post('/mcp', answerAt(signIn))
  }
  return router
}

interface Identified {
  caller?: Caller | undefined
  refusal?: AppError
  door?: SignIn | undefined
}

function idOf(body: string): RpcId | null {
  try {
    return readId(parseBody(body))
  } catch {
    return null
  }
}

const WRONG_TYPE = refusalReply(415, 'Unsupported media type: send content-type: application/json (UTF-8)')

function isJson(req: IncomingMessage): boolean {
  const header = req.headers['content-type'] ?? ''
  if (header === 'application/json') return true
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  return type === 'application/json' && /^("?)(utf-8|utf8)\1$/.test(charset ?? 'utf-8')
}

function bodyFault(error: unknown): McpReply {
  const { code, type, status } = error as { code?: string; type?: string; status?: number }
  if (type === 'entity.too.large' || code === 'payload_too_large')
    return refusalReply(413, `Payload too large: a body holds at most ${MAX_BODY_BYTES} bytes`)
  if (status === 415) return refusalReply(415, 'Unsupported content encoding: send gzip, deflate, br or none')
  if (error instanceof AppError)
    return errorReply(null, new RpcError(PARSE_ERROR, `Parse error: ${error.message}`, { status: 400 }))
  return refusalReply(400, 'Invalid request: the body cannot be read')
}

const parse = express.text({ type: () => true, limit: MAX_BODY_BYTES, defaultCharset: 'utf-8', verify: requireUtf8 })

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
  'Last-Event-ID',
  'X-Request-Id',
].join(', ')
const EXPOSED_HEADERS = 'WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'

/**
 * Lets only our own pages call from a browser, which names the page's origin. Else any site could use a server in
 * its visitors' private network (DNS rebinding). A service on loopback belongs to one person, so any page of that
 * machine may call it. Programs send no Origin.
 */
function originGuard(publicUrl: string, limits: Charging): RequestHandler {
  const own = new URL(publicUrl)
  return async (req, res, next) => {
    const { origin } = req.headers
    res.setHeader('Vary', 'Origin')
    if (origin === undefined) return next()
    if (origin !== own.origin && !(isLoopback(own.hostname) && isLoopback(toUrl(origin)?.hostname))) {
      await refuse(limits, req, res, refusalReply(403, 'Forbidden: this origin may not call the tool server'))
      return
    }
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    next()
  }
}

function toUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Refuses all methods but POST: there is no stream to GET and no session to DELETE. */
const postOnly: RequestHandler = (req, res, next) => {
  if (req.method === 'POST') return next()
  res.setHeader('Allow', 'POST')
  if (req.method !== 'OPTIONS') throw new AppError('method_not_allowed', `${req.method} is not allowed here. Use POST.`)
  res.writeHead(204, {
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': '86400',
  })
  res.end()
}
