import type { RequestHandler } from 'express'
import { contextOf } from '../edge.ts'
import { type Budget, POINTS, RateLimited, type Usage } from './budgets.ts'
import type { RateLimits } from './rate-limits.ts'

type SetHeader = (name: string, value: string) => void

/**
 * Takes points and sets the limit headers (draft-ietf-httpapi-ratelimit-headers): for no-store answers only, because
 * an edge cache would hand one reader's count to another. At once where it can.
 * @throws RateLimited, with the headers already set
 */
export function spend(
  limits: RateLimits,
  setHeader: SetHeader,
  budget: Budget,
  subject: string,
  points: number,
): undefined | Promise<void> {
  const spending = limits.consume(budget, subject, points)
  if (!(spending instanceof Promise)) {
    setRateLimitHeaders(setHeader, spending)
    return undefined
  }
  return spending.then(
    (usage) => setRateLimitHeaders(setHeader, usage),
    (error: unknown) => {
      if (error instanceof RateLimited) setRateLimitHeaders(setHeader, error.usage)
      throw error
    },
  )
}

function setRateLimitHeaders(setHeader: SetHeader, { limit, windowSec, remaining, resetSec }: Usage): void {
  setHeader('RateLimit-Policy', `"default";q=${limit};w=${windowSec}`)
  setHeader('RateLimit', `"default";r=${remaining};t=${resetSec}`)
}

/** Precedes cacheable reads: counts by address in this process, and sets no headers. */
export function limitOpenReads(
  limits: RateLimits,
  { budget = 'anonymous', points = POINTS.read }: { budget?: Budget; points?: number } = {},
): RequestHandler {
  return (req, _res, next) => {
    limits.consumeLocally(budget, contextOf(req).address, points)
    next()
  }
}
