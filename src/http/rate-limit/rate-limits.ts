import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type Admission, openAdmission } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { contextOf, subjectOf } from '../edge.ts'
import { AT_ONCE, BUDGETS, type Budget, type Holding, PRICES, type Price, RateLimited, type Usage } from './budgets.ts'

export interface RateLimits {
  /**
   * Takes points from the count that all processes share in Redis. A budget that is used up is remembered here. While
   * Redis is unavailable each process counts by itself, with the same budgets. @throws RateLimited
   */
  consume(budget: Budget, subject: string, points: number): Promise<Usage>
  /** Takes points from this process's own count. For requests without a key or a session. @throws RateLimited */
  consumeLocally(budget: Budget, subject: string, points: number): Usage
  /** Points per window of this installation, with RATE_LIMIT_SCALE applied. */
  pointsOf(budget: Budget): number
  /** What is left, without taking any. */
  peek(budget: Budget, subject: string): Promise<Usage>
  /** Takes a slot of a kind whose concurrency is limited (`AT_ONCE`). */
  hold: Hold
  /** Waits for the turn of an account, or of an address: it has one long answer at a time in a process. */
  longAnswer: Admission
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
      return toUsage(limiter, await limiter.consume(subject, Math.min(points, limiter.points)))
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
    longAnswer: openAdmission({
      ...LONG_ANSWERS,
      refusal: 'Another long response of yours is still being sent. Read it to its end first.',
      code: 'rate_limited',
    }),
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
export function openLocalWindows(limit: number, windowSec: number): (subject: string, points: number) => Usage {
  const windows = new LRUCache<string, Window>({ max: MAX_SUBJECTS })
  return (subject, points) => {
    const now = performance.now()
    let window = windows.get(subject)
    if (!window || now >= window.untilMs) {
      window = { spent: 0, untilMs: now + windowSec * 1000 }
      windows.set(subject, window)
    }
    window.spent += Math.min(points, limit)
    const resetSec = Math.max(1, Math.ceil((window.untilMs - now) / 1000))
    const usage = { limit, windowSec, remaining: Math.max(0, limit - window.spent), resetSec }
    if (window.spent > limit) throw new RateLimited(usage)
    return usage
  }
}

/** Takes one slot for each subject; the returned function releases them. @throws AppError rate_limited */
type Hold = (kind: Holding, subjects: readonly string[]) => () => void

const LONG_ANSWERS = { max: Number.POSITIVE_INFINITY, ofOne: 1, waitMs: 10_000 }
const RETRY_AFTER_SEC = 5
const HELD: Record<Holding, string> = {
  uploads: 'uploads',
  documents: 'documents of apps',
}

/** Counts the slots in use in this process, by kind and subject. */
function openHoldings(): Hold {
  const held = new Map<string, number>()
  const count = (name: string) => held.get(name) ?? 0
  return (kind, subjects) => {
    const names = subjects.map((subject) => `${kind} ${subject}`)
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

/** The part of the limits that a charge needs. */
export type Charging = Pick<RateLimits, 'consume' | 'consumeLocally'>

/**
 * Takes the points of a request: of the account whose key or session it comes with, else of its address in this
 * process. Sets the limit headers (draft-ietf-httpapi-ratelimit-headers) on no-store answers and refusals only, because
 * an edge cache would hand one reader's count to another. A warm read waits for no promise.
 * @throws RateLimited
 */
export function charge(
  limits: Charging,
  { req, res }: Exchange,
  points: number,
  budget: Budget = 'anonymous',
): void | Promise<void> {
  const context = contextOf(req)
  context.charged = true
  const { payer, address } = context
  const tell = (usage: Usage) => {
    const isUsual = payer !== undefined || budget === 'anonymous'
    if (isUsual && res.getHeader('Cache-Control') === 'no-store') setRateLimitHeaders(res, usage)
  }
  const refuse = (error: unknown) => {
    if (error instanceof RateLimited) setRateLimitHeaders(res, error.usage)
    throw error
  }
  if (payer) return limits.consume(payer.budget, payer.subject, points).then(tell, refuse)
  try {
    tell(limits.consumeLocally(budget, address, points))
  } catch (error) {
    refuse(error)
  }
}

/** For answers that no cache may keep. */
export function setRateLimitHeaders(res: ServerResponse, { limit, windowSec, remaining, resetSec }: Usage): void {
  res.setHeader('RateLimit-Policy', `"default";q=${limit};w=${windowSec}`)
  res.setHeader('RateLimit', `"default";r=${remaining};t=${resetSec}`)
}

/** Takes a point for a request that was not charged yet: an unknown path, a bad request. @throws RateLimited */
export function chargeOnce(limits: Charging, exchange: Exchange): void | Promise<void> {
  if (!contextOf(exchange.req).charged) return charge(limits, exchange, PRICES.read)
}

/** Precedes what everyone may ask for. `noStore`: no cache may keep the answer. */
export function priced(
  limits: Charging,
  {
    price = 'read',
    budget,
    noStore = false,
  }: { price?: Price | undefined; budget?: Budget | undefined; noStore?: boolean } = {},
): RequestHandler {
  return async (req, res, next) => {
    if (noStore) res.setHeader('Cache-Control', 'no-store')
    await charge(limits, { req, res }, PRICES[price], budget)
    next()
  }
}

/** Takes a slot until the answer is sent or its client has gone. @throws AppError rate_limited */
export function holdUntilSent({ hold }: Pick<RateLimits, 'hold'>, { req, res }: Exchange, kind: Holding): void {
  const { address, payer } = contextOf(req)
  releaseWhenSent(res, hold(kind, payer ? [address, payer.subject] : [address]))
}

/** Waits for the turn of a long answer, and keeps it until that is sent. @throws AppError rate_limited */
export async function takeLongTurn(
  { longAnswer }: Pick<RateLimits, 'longAnswer'>,
  { req, res }: Exchange,
): Promise<void> {
  releaseWhenSent(res, await longAnswer(subjectOf(req)))
}

function releaseWhenSent(res: ServerResponse, release: () => void): void {
  if (res.closed) release()
  else res.once('close', release)
}

const DEEP_PAGE = 100

/** A question to the wall that costs as much as a write: it counts, compares or skips much of the library. */
export function asksMuch({
  facets = false,
  page = 1,
  variety,
  sort,
}: {
  sort?: string | undefined
  facets?: boolean | undefined
  page?: number | undefined
  variety?: 'on' | 'off' | undefined
}): boolean {
  return facets || variety === 'on' || sort === 'meaning' || page >= DEEP_PAGE
}
