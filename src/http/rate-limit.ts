import type { IncomingMessage } from 'node:http'
import type { Request, RequestHandler } from 'express'
import { Redis } from 'ioredis'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Plan } from '../db/schema/accounts.ts'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'

/** What a request costs. */
export const POINTS = { read: 1, search: 2, write: 5 } as const

/** Points per window before RATE_LIMIT_SCALE. */
export const BUDGETS = {
  anonymous: { points: 600, windowSec: 60 },
  free: { points: 1_200, windowSec: 60 },
  pro: { points: 6_000, windowSec: 60 },
  /** Images are many and cheap: a bucket of their own, so that looking at the wall does not use up the API. */
  media: { points: 6_000, windowSec: 60 },
  /** Failed key checks per address. */
  failures: { points: 60, windowSec: 60 },
  /** Sign-in: a form costs one point of its address, a mail LINK_POINTS of its mailbox. */
  links: { points: 30, windowSec: 900 },
} as const
export type Budget = keyof typeof BUDGETS
export const LINK_POINTS = 5

export interface Usage {
  limit: number
  windowSec: number
  remaining: number
  resetSec: number
}

export interface RateLimits {
  /**
   * Counts in Redis, one count for all instances; at once where this process holds points already. While Redis is away each process counts by itself, with the same
   * budgets. @throws AppError rate_limited.
   */
  consume(budget: Budget, subject: string, points: number): Usage | Promise<Usage>
  /** Counts in this process only: for answers an edge may keep. @throws AppError rate_limited. */
  consumeLocally(budget: Budget, subject: string, points: number): void
  /** Points per window of this installation, RATE_LIMIT_SCALE counted in. */
  pointsOf(budget: Budget): number
  /** What is left, without using any. */
  peek(budget: Budget, subject: string): Promise<Usage>
  /** Seconds this address still has to wait after too many failed key checks; 0 when it may go on. Looks in this process only. */
  failureWaitSec(address: string): number
  /** Notes one failed key check. */
  noteFailure(address: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens a Redis connection of its own, which gives up after `patienceMs`: a limit must never hold a request back. */
export function openRateLimits({
  redisUrl,
  scale,
  logger,
  prefix = 'rate',
  patienceMs = 250,
}: {
  redisUrl: string
  scale: number
  logger: Logger
  prefix?: string
  /** How long one answer of Redis is waited for, and four times as long for the first connection; then this process counts by itself. */
  patienceMs?: number
}): RateLimits {
  const redis = new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: patienceMs,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 200, 5_000),
  })
  let away = false
  redis.on('error', (error) => {
    if (!away) logger.warn({ err: error }, 'rate limits count in this process: Redis is away')
    away = true
  })
  redis.on('ready', () => {
    away = false
  })
  // The first requests wait (briefly) until it is known whether Redis is there, or they would be counted twice: here, then there.
  const settled = new Promise<void>((resolve) => {
    setTimeout(resolve, 4 * patienceMs).unref()
    redis.once('ready', resolve)
    redis.once('error', () => resolve())
  })
  const blocked = new LRUCache<string, number>({ max: 10_000 })
  const shared = {} as Record<Budget, RateLimiterRedis>
  for (const budget of Object.keys(BUDGETS) as Budget[]) {
    const { points, windowSec } = BUDGETS[budget]
    const options = {
      points: Math.max(1, Math.round(points * scale)),
      duration: windowSec,
      keyPrefix: `${prefix}:${family(budget)}`,
    }
    shared[budget] = new RateLimiterRedis({
      ...options,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(options),
    })
  }

  async function use(limiter: RateLimiterRedis | RateLimiterMemory, subject: string, points: number): Promise<Usage> {
    if (limiter instanceof RateLimiterRedis) await settled
    try {
      return toUsage(limiter, await limiter.consume(subject, points))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      const usage = toUsage(limiter, refusal)
      throw new RateLimited(usage)
    }
  }

  const blocks = inBlocks((budget, subject, points) => use(shared[budget], subject, points))

  return {
    consume: (budget, subject, points) => blocks.spend(budget, subject, points, shared[budget].points),
    consumeLocally: inProcess((budget) => ({ points: shared[budget].points, windowSec: BUDGETS[budget].windowSec })),
    pointsOf: (budget) => shared[budget].points,
    async peek(budget, subject) {
      const limiter = shared[budget]
      const result = await limiter.get(subject)
      if (!result)
        return {
          limit: limiter.points,
          windowSec: limiter.duration,
          remaining: limiter.points,
          resetSec: limiter.duration,
        }
      const usage = toUsage(limiter, result)
      return { ...usage, remaining: usage.remaining + blocks.held(budget, subject) }
    },
    failureWaitSec: (address) => Math.max(0, Math.ceil(((blocked.get(address) ?? 0) - Date.now()) / 1000)),
    async noteFailure(address) {
      try {
        const { remaining, resetSec } = await use(shared.failures, address, 1)
        if (remaining === 0) blocked.set(address, Date.now() + resetSec * 1000)
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error
        blocked.set(address, Date.now() + error.usage.resetSec * 1000)
      }
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}

/** Counts fixed windows for a bounded number of subjects, without a promise or a timer: it stands in front of every warm read. */
function inProcess(budgetOf: (budget: Budget) => { points: number; windowSec: number }): RateLimits['consumeLocally'] {
  const windows = new LRUCache<string, { spent: number; untilMs: number }>({ max: 50_000 })
  return (budget, subject, points) => {
    const key = `${budget} ${subject}`
    const { points: limit, windowSec } = budgetOf(budget)
    const now = performance.now()
    let window = windows.get(key)
    if (!window || now >= window.untilMs) {
      window = { spent: 0, untilMs: now + windowSec * 1000 }
      windows.set(key, window)
    }
    window.spent += points
    if (window.spent > limit)
      throw new RateLimited({
        limit,
        windowSec,
        remaining: 0,
        resetSec: Math.max(1, Math.ceil((window.untilMs - now) / 1000)),
      })
  }
}

/** Points of a block: a fiftieth of the budget, and no more than this. */
const MAX_BLOCK = 1_000

interface Block {
  left: number
  /** What the shared count said last. */
  usage: Usage | undefined
  untilMs: number
  filling: Promise<void> | undefined
}

/**
 * Takes points from the shared count in blocks and spends a block in this process: one round trip for many requests. The shared count is never exceeded; what
 * a process has left of its block is not there for the others until the window ends. Small budgets have blocks of one request: they are exact everywhere.
 */
function inBlocks(take: (budget: Budget, subject: string, points: number) => Promise<Usage>) {
  const blocks = new LRUCache<string, Block>({ max: 10_000 })

  function find(key: string): Block | undefined {
    const block = blocks.get(key)
    return block && (block.filling || performance.now() < block.untilMs) ? block : undefined
  }

  function spendHeld(block: Block | undefined, points: number): Usage | undefined {
    if (!block?.usage || block.left < points) return undefined
    block.left -= points
    return toldOf(block, block.usage)
  }

  async function spendTaken(budget: Budget, subject: string, points: number, limit: number): Promise<Usage> {
    const key = `${budget}:${subject}`
    for (;;) {
      const block: Block = find(key) ?? { left: 0, usage: undefined, untilMs: 0, filling: undefined }
      const spent = spendHeld(block, points)
      if (spent) return spent
      if (block.filling) {
        await block.filling
        continue
      }
      const { left } = block
      const size = Math.min(MAX_BLOCK, Math.floor(limit / 50), block.usage?.remaining ?? limit)
      const wanted = Math.max(points - left, size)
      block.left = 0
      const taking = take(budget, subject, wanted)
      // Those who wait look again; a refusal is theirs to meet by themselves.
      block.filling = taking.then(
        () => undefined,
        () => undefined,
      )
      blocks.set(key, block)
      try {
        block.usage = await taking
        block.untilMs = performance.now() + block.usage.resetSec * 1000
        block.left += left + wanted - points
        return toldOf(block, block.usage)
      } catch (error) {
        block.left += left
        throw error
      } finally {
        block.filling = undefined
      }
    }
  }

  return {
    /** Points taken and not yet spent. */
    held: (budget: Budget, subject: string) => find(`${budget}:${subject}`)?.left ?? 0,
    spend: (budget: Budget, subject: string, points: number, limit: number) =>
      spendHeld(find(`${budget}:${subject}`), points) ?? spendTaken(budget, subject, points, limit),
  }
}

function toldOf({ left, untilMs }: Block, { limit, windowSec, remaining }: Usage): Usage {
  return {
    limit,
    windowSec,
    remaining: remaining + left,
    resetSec: Math.max(1, Math.ceil((untilMs - performance.now()) / 1000)),
  }
}

/** A key keeps its count when its account's plan changes. */
function family(budget: Budget): string {
  return budget === 'free' || budget === 'pro' ? 'key' : budget
}

class RateLimited extends AppError {
  readonly usage: Usage

  constructor(usage: Usage) {
    super(
      'rate_limited',
      `That was more than ${usage.limit} points in ${usage.windowSec} s. Try again in ${usage.resetSec} s.`,
      {
        retryAfterSec: usage.resetSec,
      },
    )
    this.usage = usage
  }
}

function toUsage({ points, duration }: { points: number; duration: number }, result: RateLimiterRes): Usage {
  return {
    limit: points,
    windowSec: duration,
    remaining: Math.max(0, result.remainingPoints),
    resetSec: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  }
}

export function budgetOf(plan: Plan): 'free' | 'pro' {
  return plan
}

/** Whom an anonymous request counts for: the IPv4 address, or the /64 an IPv6 address lies in. */
export function addressOf(req: Pick<Request, 'ip'>): string {
  const text = req.ip ?? ''
  if (!ipaddr.isValid(text)) return 'unknown'
  const address = ipaddr.process(text)
  return address.kind() === 'ipv4'
    ? address.toString()
    : `${(address as ipaddr.IPv6).parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
}

/**
 * Counts, and tells by the limit fields of draft-ietf-httpapi-ratelimit-headers: for every no-store route (an edge would hand one reader's count to another).
 * At once where it can. @throws AppError rate_limited, with the fields already told.
 */
export function spend(
  limits: RateLimits,
  tell: (name: string, value: string) => void,
  budget: Budget,
  subject: string,
  points: number,
): undefined | Promise<void> {
  const spending = limits.consume(budget, subject, points)
  if (!(spending instanceof Promise)) {
    tellUsage(tell, spending)
    return undefined
  }
  return spending.then(
    (usage) => tellUsage(tell, usage),
    (error: unknown) => {
      if (error instanceof RateLimited) tellUsage(tell, error.usage)
      throw error
    },
  )
}

function tellUsage(
  tell: (name: string, value: string) => void,
  { limit, windowSec, remaining, resetSec }: Usage,
): void {
  tell('RateLimit-Policy', `"default";q=${limit};w=${windowSec}`)
  tell('RateLimit', `"default";r=${remaining};t=${resetSec}`)
}

/** Before cacheable reads and `/media`: counted in this process, by address, without headers. */
export function limitOpenReads(limits: RateLimits): RequestHandler {
  return (req, _res, next) => {
    const { path } = req
    limits.consumeLocally(path.startsWith('/media/') ? 'media' : 'anonymous', addressOf(req), pointsOfRead(path))
    next()
  }
}

function pointsOfRead(path: string): number {
  return path === '/api/search' || path.endsWith('/similar') ? POINTS.search : POINTS.read
}

/** The same count in front of Express: true where it refuses (and Express, which counts again, then tells so). */
export function refuseReads(limits: RateLimits, trustProxy: number): (req: IncomingMessage) => boolean {
  const addressOf = addressFinder(trustProxy)
  return (req) => {
    try {
      limits.consumeLocally('anonymous', addressOf(req), pointsOfRead(req.url!.split('?', 1)[0]!))
      return false
    } catch (error) {
      if (error instanceof RateLimited) return true
      throw error
    }
  }
}

/** `addressOf` without Express. */
export function addressFinder(trustProxy: number): (req: Pick<IncomingMessage, 'headers' | 'socket'>) => string {
  const addresses = new LRUCache<string, string>({ max: 10_000 })
  return (req) => {
    const ip = clientIp(req, trustProxy)
    let address = addresses.get(ip)
    if (address === undefined) {
      address = addressOf({ ip })
      // Behind a proxy this is a header's text, of any length.
      if (ip.length <= 64) addresses.set(ip, address)
    }
    return address
  }
}

/** As Express has it for a number of trusted hops: the entry of X-Forwarded-For that the outermost of them wrote. */
export function clientIp(req: Pick<IncomingMessage, 'headers' | 'socket'>, trustProxy: number): string {
  const own = req.socket.remoteAddress ?? ''
  const forwarded = trustProxy > 0 ? req.headers['x-forwarded-for'] : undefined
  if (forwarded === undefined) return own
  const hops = [
    own,
    ...String(forwarded)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .reverse(),
  ]
  return hops[Math.min(trustProxy, hops.length - 1)]!
}
