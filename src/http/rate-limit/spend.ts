import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { contextOf } from '../edge.ts'
import { type Budget, type Holding, type Payer, POINTS, RateLimited, type Usage } from './budgets.ts'
import type { RateLimits } from './rate-limits.ts'

/**
 * Takes points and sets the limit headers (draft-ietf-httpapi-ratelimit-headers): for no-store answers only, because an
 * edge cache would hand one reader's count to another. A request that costs more than the whole budget takes all of it.
 * @throws RateLimited, with the headers already set
 */
export async function spend(
  limits: RateLimits,
  { req, res }: { req: IncomingMessage; res: ServerResponse },
  payer: Payer,
  points: number,
): Promise<void> {
  const { budget, subject } = payer
  const context = contextOf(req)
  context.charged = true
  context.payer = payer
  try {
    setRateLimitHeaders(res, await limits.consume(budget, subject, Math.min(points, limits.pointsOf(budget))))
  } catch (error) {
    if (error instanceof RateLimited) setRateLimitHeaders(res, error.usage)
    throw error
  }
}

/** For answers that no cache may keep. */
export function setRateLimitHeaders(res: ServerResponse, { limit, windowSec, remaining, resetSec }: Usage): void {
  res.setHeader('RateLimit-Policy', `"default";q=${limit};w=${windowSec}`)
  res.setHeader('RateLimit', `"default";r=${remaining};t=${resetSec}`)
}

/**
 * Takes more points from the budget that the request was charged to, once its work is known. At most a whole budget
 * minus the points of a write, so that the most expensive request can be made at all.
 * @throws RateLimited
 */
export async function spendMore(
  limits: RateLimits,
  exchange: { req: IncomingMessage; res: ServerResponse },
  points: number,
): Promise<void> {
  const { payer } = contextOf(exchange.req)
  if (!payer) throw new Error('spendMore was called on a request that nothing has charged')
  const most = limits.pointsOf(payer.budget) - POINTS.write
  if (points > 0) await spend(limits, exchange, payer, Math.max(1, Math.min(points, most)))
}

/** Takes a slot until the answer is sent or its client has gone. @throws AppError rate_limited */
export function holdUntilSent(
  { hold }: Pick<RateLimits, 'hold'>,
  { req, res }: { req: IncomingMessage; res: ServerResponse },
  kind: Holding,
): void {
  const { address, payer } = contextOf(req)
  const release = hold(kind, payer ? [address, payer.subject] : [address])
  if (res.closed) release()
  else res.once('close', release)
}

/** The part of the limits that a local charge needs. */
export type LocalLimits = Pick<RateLimits, 'consumeLocally'>

/** Precedes cacheable reads and pages: counts by address in this process, and sets no headers. */
export function limitOpenReads(
  limits: LocalLimits,
  { budget = 'anonymous', points = POINTS.read }: { budget?: Budget; points?: number } = {},
): RequestHandler {
  return (req, _res, next) => {
    const context = contextOf(req)
    context.charged = true
    limits.consumeLocally(budget, context.address, points)
    next()
  }
}

/**
 * Takes a point for a request that was not charged yet: an unknown path or method, a bad request, OPTIONS.
 * @throws RateLimited
 */
export function chargeOnce(limits: LocalLimits, req: IncomingMessage): void {
  const context = contextOf(req)
  if (context.charged) return
  context.charged = true
  limits.consumeLocally('anonymous', context.address, POINTS.read)
}
