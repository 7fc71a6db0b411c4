import { LRUCache } from 'lru-cache'
import type { Db } from '../../db/client.ts'
import { sha256 } from '../ids.ts'
import { type Caller, isWellFormedKey, lookUpKeys } from './keys.ts'

export interface KeyChecks {
  /** The owner of a presented key; undefined for every key that does not work. */
  check(bearer: string | undefined): Promise<Caller | undefined>
}

/** Keys that never work again: revoked, expired and unknown ones. That of a disabled account may. */
const MAX_DEAD = 20_000
const DEAD_MS = 60_000
const MAX_BATCH = 1_000

/**
 * Checks keys so that floods cost little. A wrong checksum needs no query. All other keys are looked up together, one
 * query at a time: they cannot take all connections. A look-up begins after the request came, so a revocation applies
 * from the next request on. `used` is told once for each look-up of a valid key.
 */
export function openKeyChecks(
  db: Pick<Db, '$client'>,
  used: (key: Caller['key']) => void = () => undefined,
): KeyChecks {
  const dead = new LRUCache<string, true>({ max: MAX_DEAD, ttl: DEAD_MS })
  const waiting = new Map<string, PromiseWithResolvers<Caller | undefined>>()
  let isAsking = false

  async function answerAll(): Promise<void> {
    isAsking = true
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [hash] of batch) waiting.delete(hash)
      try {
        const found = await lookUpKeys(
          db,
          batch.map(([hash]) => hash),
        )
        for (const [hash, { resolve }] of batch) resolve(callerOf(hash, found.get(hash)))
      } catch (error) {
        for (const [, { reject }] of batch) reject(error)
      }
    }
    isAsking = false
  }

  function callerOf(hash: string, found: Caller | 'disabled' | undefined): Caller | undefined {
    if (found === undefined) dead.set(hash, true)
    if (found === undefined || found === 'disabled') return undefined
    used(found.key)
    return found
  }

  return {
    async check(bearer) {
      if (bearer === undefined || !isWellFormedKey(bearer)) return undefined
      const hash = sha256(bearer)
      if (dead.has(hash)) return undefined
      const answer = waiting.get(hash) ?? Promise.withResolvers<Caller | undefined>()
      waiting.set(hash, answer)
      if (!isAsking) void answerAll()
      return answer.promise
    },
  }
}
