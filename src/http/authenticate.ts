import type { Request, RequestHandler, Response } from 'express'
import type { Db } from '../db/client.ts'
import { apiKeys } from '../db/schema/accounts.ts'
import { AppError } from '../errors.ts'
import {
  type Caller,
  findCallers,
  openKeyChecks,
  prefixOf,
  recordUse,
  refusalOf,
  type Scope,
} from '../library/accounts/key-checks.ts'
import type { Logger } from '../logger.ts'
import { contextOf } from './edge.ts'
import type { StreamGuard } from './event-stream.ts'
import { type Payer, PRICES, type Price } from './rate-limit/budgets.ts'
import { charge, type RateLimits } from './rate-limit/rate-limits.ts'

export interface AuthenticationDeps {
  db: Db
  limits: RateLimits
  logger: Logger
  publicUrl: string
}

export interface Authentication {
  /**
   * Guards a route, in this order: 401, 429, 403 for the plan, 403 for the scope. The route's own 400 and 404 come
   * after. No cache may store the answer.
   */
  requireScope(scope: Scope, asked: { price: Price; allowLapsedPlan?: boolean | undefined }): RequestHandler
  /**
   * The caller of a request that may come with a key; undefined without an Authorization header.
   * @throws AppError unauthenticated for any key that does not work, rate_limited after too many of them.
   */
  identify(req: Request, res: Response): Promise<Caller | undefined>
  /** Opens the signed-in door. Without `tokens` only keys open it. */
  openSignIn(tokens?: TokenAccess): SignIn
}

/** A door that nobody passes without a key or a token. */
export interface SignIn {
  /** @throws AppError unauthenticated, with the challenge on the answer; rate_limited after too many failures */
  identify(req: Request, res: Response): Promise<Caller>
  /** `WWW-Authenticate` of a refusal for want of these scopes. */
  challenge(missing: readonly Scope[]): string
}

interface TokenAccess {
  /** Where a client reads how it gets a token (RFC 9728). */
  metadataUrl: string
  /** What a client asks for at first. */
  scopes: readonly Scope[]
  check(bearer: string | undefined): Promise<Caller | undefined>
}

const callers = new WeakMap<Request, Caller>()

/** The caller. Use it only behind `requireScope`. */
export function callerOf(req: Request): Caller {
  const caller = callers.get(req)
  if (!caller) throw new Error('callerOf is used on a route without requireScope')
  return caller
}

/** All keys of an account share one budget: a new key gives no new points. */
export function payerOf({ account }: Pick<Caller, 'account'>): Payer {
  return { budget: account.plan, subject: account.id }
}

/** The guard of open streams, whose holders are the ids of keys: a stream stays open while its key may read events. */
export function guardStreams(db: Db): StreamGuard {
  return async (keyIds) => {
    const callers = await findCallers(db, keyIds)
    return new Set(callers.filter((caller) => !refusalOf(caller, 'events:read')).map(({ key }) => key.id))
  }
}

const SIGN_IN_AGAIN = 'The key or token does not work. Sign in again, or send a valid key.'

export function createAuthentication({ db, limits, logger, publicUrl }: AuthenticationDeps): Authentication {
  const help = `Send Authorization: Bearer <key>. Keys are made at ${publicUrl}/keys`
  const challenge = `Bearer realm="frame-library", error="invalid_token", error_description="${help}"`

  // Not awaited, because no answer depends on it.
  const keys = openKeyChecks(db, (key) => {
    recordUse(db, apiKeys, key).catch((error: unknown) => logger.warn({ err: error }, 'last use of a key not recorded'))
  })

  /** Failed checks are limited by address and by key. A valid key is never refused for the failures of others. */
  async function failure(req: Request, res: Response, bearer: string | undefined, told: string): Promise<AppError> {
    const subjects = [contextOf(req).address, prefixOf(bearer)].filter((subject) => subject !== undefined)
    const waitSec = Math.max(...(await Promise.all(subjects.map(limits.countFailure))))
    if (waitSec > 0)
      return new AppError(
        'rate_limited',
        `Too many requests came with invalid keys. Try again in ${waitSec} seconds.`,
        {
          retryAfterSec: waitSec,
        },
      )
    res.set('WWW-Authenticate', told)
    return new AppError('unauthenticated', 'This endpoint needs a valid key.')
  }

  async function check(req: Request, res: Response): Promise<Caller> {
    const bearer = bearerOf(req)
    const caller = await keys.check(bearer)
    if (!caller) throw await failure(req, res, bearer, challenge)
    return caller
  }

  function openSignIn(tokens?: TokenAccess): SignIn {
    const where = tokens ? `, resource_metadata="${tokens.metadataUrl}"` : ''
    const asked = tokens ? `, scope="${tokens.scopes.join(' ')}"` : ''
    const anonymous = `Bearer realm="frame-library"${where}${asked}`
    const fault = `error="invalid_token", error_description="${SIGN_IN_AGAIN}"`
    const invalid = `Bearer realm="frame-library", ${fault}${where}${asked}`
    return {
      challenge: (missing) =>
        `Bearer realm="frame-library", error="insufficient_scope", scope="${missing.join(' ')}"${where}`,
      async identify(req, res) {
        res.set('Cache-Control', 'no-store')
        if (req.headers.authorization === undefined) {
          // A client learns here where it signs in. That is no failed check.
          res.set('WWW-Authenticate', anonymous)
          throw new AppError('unauthenticated', `Sign in first, or use the open tools at ${publicUrl}/api/mcp.`)
        }
        const bearer = bearerOf(req)
        const caller = (await keys.check(bearer)) ?? (await tokens?.check(bearer))
        if (!caller) throw await failure(req, res, bearer, invalid)
        return caller
      },
    }
  }

  return {
    requireScope(scope, asked) {
      return async (req, res, next) => {
        res.set('Cache-Control', 'no-store')
        const caller = await check(req, res)
        contextOf(req).payer = payerOf(caller)
        await charge(limits, { req, res }, PRICES[asked.price])
        const refusal = refusalOf(caller, scope, asked)
        if (refusal) throw refusal
        callers.set(req, caller)
        next()
      }
    },
    openSignIn,
    identify: async (req, res) => (req.headers.authorization === undefined ? undefined : check(req, res)),
  }
}

function bearerOf(req: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1]
}
