import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'

/** Leases in a sorted set (score: when they lapse) and a count per minute, decided in one step so that all workers share one limit. */
const ACQUIRE = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
if tonumber(ARGV[4]) > 0 then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  if used >= tonumber(ARGV[4]) then return 0 end
  redis.call('INCR', KEYS[2])
  redis.call('PEXPIRE', KEYS[2], 120000)
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[5])
redis.call('PEXPIRE', KEYS[1], 600000)
return 1`

/** Longer than any call may take: a dead worker's lease lapses by itself. */
const LEASE_MS = 180_000
const RETRY_MS = 50

export interface SharedLimit {
  /** Waits for a place. @throws the signal's reason */
  acquire(signal: AbortSignal): Promise<() => Promise<void>>
}

/**
 * At most `concurrency` holders at once and `perMinute` acquisitions a minute (0: any number) over all processes that share the Redis. While Redis is away the
 * limit holds within this process.
 */
export function sharedLimit(
  redis: Redis,
  { name, concurrency, perMinute }: { name: string; concurrency: number; perMinute: number },
): SharedLimit {
  let localHolders = 0
  return {
    async acquire(signal) {
      const id = randomUUID()
      for (;;) {
        signal.throwIfAborted()
        const now = Date.now()
        const keys = [`limit:${name}`, `limit:${name}:${Math.floor(now / 60_000)}`]
        let granted: boolean
        let shared = true
        try {
          granted = (await redis.eval(ACQUIRE, 2, ...keys, now, now + LEASE_MS, concurrency, perMinute, id)) === 1
        } catch {
          shared = false
          granted = localHolders < concurrency
        }
        if (granted) {
          localHolders++
          return async () => {
            localHolders--
            if (shared) await redis.zrem(`limit:${name}`, id).catch(() => undefined)
          }
        }
        await sleep(RETRY_MS, undefined, { signal })
      }
    },
  }
}
