import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Request, type Response } from 'express'
import { AppError } from '../errors.ts'
import { type Authentication, payerOf, type SignIn } from '../http/authenticate.ts'
import { contextOf } from '../http/edge.ts'
import { toAppError } from '../http/problem.ts'
import { type RateLimits, spend, spendMore } from '../http/rate-limit/rate-limits.ts'
import { requireUtf8 } from '../http/request-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import type { TakeTurn } from '../http/versioned-cache.ts'
import type { Caller } from '../library/accounts/keys.ts'
import type { CallContext, Dispatch } from './dispatcher.ts'
import { parseBody, type RpcId, readId } from './messages.ts'
import { originGuard, postOnly } from './origin.ts'
import {
  budgetReply,
  errorReply,
  type McpReply,
  PARSE_ERROR,
  RpcError,
  refusalReply,
  refuse,
  sendReply,
} from './replies.ts'

export interface McpRouteOptions {
  dispatch: Dispatch
  publicUrl: string
  authentication: Pick<Authentication, 'identify'>
  /** Absent: there is no signed-in door. */
  signIn?: SignIn | undefined
  /** The one budget that HTTP uses too. */
  limits: RateLimits
  takeTurn: TakeTurn
}

/**
 * `POST /api/mcp` (docs/interface.md §4.4), open to everyone, and `POST /mcp`, for a key or a token only: what HTTP
 * adds before and after the protocol. Every answer is JSON; only 202 and a preflight have no body.
 */
export function mcpRouter(options: McpRouteOptions): Routes {
  const { dispatch, publicUrl, authentication, limits, takeTurn, signIn } = options

  function contextFor(req: Request, res: Response, { caller, door }: Identified): CallContext {
    const payer = caller ? payerOf(caller) : ({ budget: 'anonymous', subject: contextOf(req).address } as const)
    let gone: AbortSignal | undefined
    return {
      caller,
      signIn: door,
      signal() {
        gone ??= whenGone(res)
        return gone
      },
      inTurn: (act) => takeTurn(contextOf(req).address, act),
      charge: (points) => spend(limits, { req, res }, payer, points),
      chargeMore: (points) => spendMore(limits, { req, res }, points),
    }
  }

  /** An invalid key gets the HTTP API's 401. When keys cannot be checked, the answer is a JSON-RPC error. */
  async function identify(req: Request, res: Response, door: SignIn | undefined): Promise<Identified> {
    // A caller without a key is identified at once.
    if (!door && req.headers.authorization === undefined) return ANYONE
    try {
      return door
        ? { caller: await door.identify(req, res), door }
        : { caller: await authentication.identify(req, res) }
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
      body = await readBody(req, res)
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
  door?: SignIn
}
const ANYONE: Identified = {}

function idOf(body: string): RpcId | null {
  try {
    return readId(parseBody(body))
  } catch {
    return null
  }
}

/** Aborted when the connection closes before the answer is sent. */
function whenGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.destroyed) gone.abort()
  res.on('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
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
  const { type, status } = error as { type?: string; status?: number }
  if (type === 'entity.too.large')
    return refusalReply(413, `Payload too large: a body holds at most ${MAX_BODY_BYTES} bytes`)
  if (status === 415) return refusalReply(415, 'Unsupported content encoding: send gzip, deflate, br or none')
  if (error instanceof AppError)
    return errorReply(null, new RpcError(PARSE_ERROR, `Parse error: ${error.message}`, { status: 400 }))
  return refusalReply(400, 'Invalid request: the body cannot be read')
}

const MAX_BODY_BYTES = 256 * 1024

const parse = express.text({ type: () => true, limit: MAX_BODY_BYTES, defaultCharset: 'utf-8', verify: requireUtf8 })

/** Reads the body as text. @throws as body-parser, AppError for what is not UTF-8 */
function readBody(req: Request, res: Response): Promise<string> {
  return new Promise((resolve, reject) => {
    // The parser answers for a body that is too large only once it has read all of it.
    if (Number(req.headers['content-length']) > MAX_BODY_BYTES) return reject({ type: 'entity.too.large' })
    parse(req, res, (error?: unknown) => (error ? reject(error) : resolve(req.body ?? '')))
  })
}
