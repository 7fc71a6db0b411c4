import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'

/**
 * All workers share one limit. It is a sorted set of leases (score: expiry) and a counter per minute, checked and taken
 * in one atomic step. Returns 1, or 0 when there is none to give.
 */
const ACQUIRE = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
local held = redis.call('ZCARD', KEYS[1])
if held >= tonumber(ARGV[3]) then return 0 end
if tonumber(ARGV[4]) > 0 then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  if used >= tonumber(ARGV[4]) then return 0 end
  redis.call('INCR', KEYS[2])
  redis.call('PEXPIRE', KEYS[2], 120000)
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[5])
redis.call('PEXPIRE', KEYS[1], 600000)
return 1`

const RETRY_MS = 50

interface Lease {
  /** Idempotent. */
  release(): void
}

interface LimitOptions {
  name: string
  concurrency: number
  perMinute: number
  /** Longer than any call may take, and less than ten minutes. A dead worker's lease expires by itself. */
  leaseMs: number
}

export interface SharedLimit {
  /** Waits for a lease. @throws the signal's reason. */
  acquire(signal: AbortSignal): Promise<Lease>
}

/**
 * At most `concurrency` leases at once and `perMinute` acquisitions a minute (0: no limit), over all processes that
 * share the Redis. While Redis is unavailable the limit holds within this process.
 */
export function sharedLimit(redis: Redis, { name, concurrency, perMinute, leaseMs }: LimitOptions): SharedLimit {
  let localHolders = 0
  /** This process's waiters, in order. A lease released here wakes the first; one released elsewhere is polled for. */
  const waiting: (() => void)[] = []

  async function tryAcquire(id: string): Promise<{ shared: boolean } | undefined> {
    const now = Date.now()
    const keys = [`limit:${name}`, `limit:${name}:${Math.floor(now / 60_000)}`]
    try {
      const given = await redis.eval(ACQUIRE, 2, ...keys, now, now + leaseMs, concurrency, perMinute, id)
      if (Number(given) === 0) return undefined
      localHolders++
      return { shared: true }
    } catch {
      // Check and count without an await between: many callers learn at once that Redis is unavailable.
      if (localHolders >= concurrency) return undefined
      localHolders++
      return { shared: false }
    }
  }

  async function untilWoken(signal: AbortSignal): Promise<void> {
    const woken = Promise.withResolvers<void>()
    waiting.push(woken.resolve)
    const done = new AbortController()
    try {
      await Promise.race([
        woken.promise,
        sleep(RETRY_MS, undefined, { signal: AbortSignal.any([signal, done.signal]) }),
      ])
    } finally {
      done.abort()
      const at = waiting.indexOf(woken.resolve)
      if (at >= 0) waiting.splice(at, 1)
    }
  }

  return {
    async acquire(signal) {
      const id = randomUUID()
      for (;;) {
        signal.throwIfAborted()
        const granted = await tryAcquire(id)
        if (granted) {
          let held = true
          return {
            release() {
              if (!held) return
              held = false
              localHolders--
              // An answer that came too late may have left a lease there.
              const freed = redis.zrem(`limit:${name}`, id).catch(() => undefined)
              void (granted.shared ? freed : Promise.resolve()).then(() => waiting.shift()?.())
            },
          }
        }
        await untilWoken(signal)
      }
    },
  }
}
