import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { AppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { contextOf } from '../edge.ts'
import { AT_ONCE, BUDGETS, type Budget, type Holding, type Payer, POINTS, RateLimited, type Usage } from './budgets.ts'

export interface RateLimits {
  /**
   * Takes points from the count that all processes share in Redis. A budget that is used up is remembered here. While
   * Redis is unavailable each process counts by itself, with the same budgets. @throws RateLimited
   */
  consume(budget: Budget, subject: string, points: number): Promise<Usage>
  /** Takes points from this process's own count. For answers that an edge cache may keep. @throws RateLimited */
  consumeLocally(budget: Budget, subject: string, points: number): void
  /** Points per window of this installation, with RATE_LIMIT_SCALE applied. */
  pointsOf(budget: Budget): number
  /** What is left, without taking any. */
  peek(budget: Budget, subject: string): Promise<Usage>
  /** Takes a slot of a kind whose concurrency is limited (`AT_ONCE`). */
  hold: Hold
  /**
   * Counts one failed key check of an address or key prefix. After too many of them it returns the seconds for which
   * they are refused, else 0.
   */
  countFailure(subject: string): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

export interface RateLimitOptions {
  redisUrl: string
  scale: number
  logger: Logger
  prefix?: string
  /**
   * How long to wait for an answer of Redis, and four times as long for its first connection, before counting locally.
   */
  patienceMs?: number
}

/** Opens a Redis connection of its own that fails fast: a limit must never hold a request back. */
export function openRateLimits(options: RateLimitOptions): RateLimits {
  const { redis, settled } = connect(options)
  const limiters = openLimiters(redis, options)
  const windows = new Map(
    BUDGET_NAMES.map((budget) => [budget, openLocalWindows(limiters[budget].points, limiters[budget].duration)]),
  )

  async function consume(budget: Budget, subject: string, points: number): Promise<Usage> {
    await settled
    const limiter = limiters[budget]
    try {
      return toUsage(limiter, await limiter.consume(subject, points))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      throw new RateLimited(toUsage(limiter, refusal))
    }
  }

  return {
    consume,
    consumeLocally: (budget, subject, points) => windows.get(budget)!(subject, points),
    pointsOf: (budget) => limiters[budget].points,
    hold: openHoldings(),
    async peek(budget, subject) {
      const limiter = limiters[budget]
      const { points: limit, duration: windowSec } = limiter
      const result = await limiter.get(subject)
      if (!result) return { limit, windowSec, remaining: limit, resetSec: windowSec }
      return toUsage(limiter, result)
    },
    async countFailure(subject) {
      try {
        await consume('failures', subject, 1)
        return 0
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error
        return error.usage.resetSec
      }
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}

function connect({ redisUrl, logger, patienceMs = 250 }: RateLimitOptions): { redis: Redis; settled: Promise<void> } {
  const redis = new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: patienceMs,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 200, 5_000),
  })
  let unavailable = false
  redis.on('error', (error) => {
    if (!unavailable) logger.warn({ err: error }, 'Redis is unavailable: rate limits count per process')
    unavailable = true
  })
  redis.on('ready', () => {
    unavailable = false
  })
  // The first requests wait briefly for the connection. Otherwise some would be counted locally and some in Redis.
  const settled = new Promise<void>((resolve) => {
    setTimeout(resolve, 4 * patienceMs).unref()
    redis.once('ready', resolve)
    redis.once('error', () => resolve())
  })
  return { redis, settled }
}

const BUDGET_NAMES = Object.keys(BUDGETS) as Budget[]

type Limiters = Record<Budget, RateLimiterRedis>

function openLimiters(redis: Redis, { scale, prefix = 'rate' }: RateLimitOptions): Limiters {
  const limiters = {} as Limiters
  for (const budget of BUDGET_NAMES) {
    const options = {
      points: Math.max(1, Math.round(BUDGETS[budget].points * scale)),
      duration: BUDGETS[budget].windowSec,
      keyPrefix: `${prefix}:${familyOf(budget)}`,
    }
    limiters[budget] = new RateLimiterRedis({
      ...options,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      inMemoryBlockOnConsumed: options.points,
      insuranceLimiter: new RateLimiterMemory(options),
    })
  }
  return limiters
}

/** An account keeps its count when its plan changes. */
function familyOf(budget: Budget): string {
  return budget === 'free' || budget === 'pro' ? 'account' : budget
}

function toUsage({ points, duration }: { points: number; duration: number }, result: RateLimiterRes): Usage {
  return {
    limit: points,
    windowSec: duration,
    remaining: Math.max(0, result.remainingPoints),
    resetSec: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  }
}

/** How many subjects one process remembers. */
const MAX_SUBJECTS = 50_000

interface Window {
  spent: number
  untilMs: number
}

/**
 * Counts fixed windows of one budget in this process, without a promise or a timer, because it precedes every warm
 * read. The returned function takes a subject's points. @throws RateLimited
 */
export function openLocalWindows(limit: number, windowSec: number): (subject: string, points: number) => void {
  const windows = new LRUCache<string, Window>({ max: MAX_SUBJECTS })
  return (subject, points) => {
    const now = performance.now()
    let window = windows.get(subject)
    if (!window || now >= window.untilMs) {
      window = { spent: 0, untilMs: now + windowSec * 1000 }
      windows.set(subject, window)
    }
    window.spent += points
    if (window.spent <= limit) return
    const resetSec = Math.max(1, Math.ceil((window.untilMs - now) / 1000))
    throw new RateLimited({ limit, windowSec, remaining: 0, resetSec })
  }
}

/** Takes one slot for each subject; the returned function releases them. @throws AppError rate_limited */
type Hold = (kind: Holding, subjects: readonly string[]) => () => void

const RETRY_AFTER_SEC = 5
const HELD: Record<Holding, string> = {
  longAnswers: 'long responses',
  uploads: 'uploads',
  documents: 'documents of apps',
}

/** Counts the slots in use in this process, by kind and subject. */
function openHoldings(): Hold {
  const held = new Map<string, number>()
  const count = (name: string) => held.get(name) ?? 0
  return (kind, subjects) => {
    // An anonymous request has its address as its payer too.
    const names = [...new Set(subjects)].map((subject) => `${kind} ${subject}`)
    if (names.some((name) => count(name) >= AT_ONCE[kind]))
      throw new AppError(
        'rate_limited',
        `At most ${AT_ONCE[kind]} ${HELD[kind]} may run at a time. Let one end first.`,
        {
          retryAfterSec: RETRY_AFTER_SEC,
        },
      )
    for (const name of names) held.set(name, count(name) + 1)
    return () => {
      for (const name of names) {
        const left = count(name) - 1
        if (left > 0) held.set(name, left)
        else held.delete(name)
      }
    }
  }
}

interface Exchange {
  req: IncomingMessage
  res: ServerResponse
}

/**
 * Takes points and sets the limit headers (draft-ietf-httpapi-ratelimit-headers): for no-store answers only, because an
 * edge cache would hand one reader's count to another. A request that costs more than the whole budget takes all of it.
 * @throws RateLimited, with the headers already set
 */
export async function spend(limits: RateLimits, { req, res }: Exchange, payer: Payer, points: number): Promise<void> {
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
export async function spendMore(limits: RateLimits, exchange: Exchange, points: number): Promise<void> {
  const { payer } = contextOf(exchange.req)
  if (!payer) throw new Error('spendMore was called on a request that nothing has charged')
  const most = limits.pointsOf(payer.budget) - POINTS.write
  if (points > 0) await spend(limits, exchange, payer, Math.max(1, Math.min(points, most)))
}

/** Takes a slot until the answer is sent or its client has gone. @throws AppError rate_limited */
export function holdUntilSent({ hold }: Pick<RateLimits, 'hold'>, { req, res }: Exchange, kind: Holding): void {
  const { address, payer } = contextOf(req)
  const release = hold(kind, payer ? [address, payer.subject] : [address])
  if (res.closed) release()
  else res.once('close', release)
}

/** The part of the limits that a local charge needs. */
export type LocalLimits = Pick<RateLimits, 'consumeLocally'>

/** Precedes cacheable reads and pages: counts by address or session in this process, and sets no headers. */
export function limitOpenReads(
  limits: LocalLimits,
  { budget = 'anonymous', points = POINTS.read }: { budget?: Budget; points?: number } = {},
): RequestHandler {
  return (req, _res, next) => {
    const context = contextOf(req)
    context.charged = true
    limits.consumeLocally(budget, context.subject, points)
    next()
  }
}

/** Precedes an open answer that no cache may keep: counts by address across all processes. */
export function limitOpen(
  limits: RateLimits,
  { budget = 'anonymous', points = POINTS.read }: { budget?: Budget; points?: number } = {},
): RequestHandler {
  return async (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store')
    await spend(limits, { req, res }, { budget, subject: contextOf(req).address }, points)
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
  limits.consumeLocally('anonymous', context.subject, POINTS.read)
}
