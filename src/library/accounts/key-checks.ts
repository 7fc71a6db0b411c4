import { LRUCache } from 'lru-cache'
import type { Db } from '../../db/client.ts'
import { openSharedLookup } from '../../shared-lookup.ts'
import { sha256 } from '../ids.ts'
import { type Caller, isWellFormedKey, lookUpKey } from './keys.ts'

export interface KeyChecks {
  /** The owner of a presented key; undefined for every key that does not work. */
  check(bearer: string | undefined): Promise<Caller | undefined>
}

/** Keys that were valid here. Such a key is still looked up at every request. */
const MAX_KNOWN = 10_000
/** Keys that never work again: revoked, expired and unknown ones. That of a disabled account may. */
const MAX_DEAD = 20_000
const DEAD_MS = 60_000
const MAX_BATCH = 1_000

/**
 * Checks keys so that floods cost little. A wrong checksum needs no query. Unknown keys are looked up together, one
 * query at a time, and so are concurrent requests with one key: they cannot take all connections. `used` is told once
 * for each look-up of a valid key.
 */
export function openKeyChecks(
  db: Pick<Db, '$client'>,
  used: (key: Caller['key']) => void = () => undefined,
): KeyChecks {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN })
  const dead = new LRUCache<string, true>({ max: MAX_DEAD, ttl: DEAD_MS })
  const exists = openExistence(db)
  const shared = openSharedLookup<Caller | undefined>()

  async function lookUp(bearer: string, hash: string): Promise<Caller | undefined> {
    const found = known.has(hash) || (await exists(hash)) ? await lookUpKey(db, bearer) : 'dead'
    if (typeof found !== 'string') {
      known.set(hash, true)
      used(found.key)
      return found
    }
    if (found === 'dead') {
      known.delete(hash)
      dead.set(hash, true)
    }
    return undefined
  }

  return {
    async check(bearer) {
      if (bearer === undefined || !isWellFormedKey(bearer)) return undefined
      const hash = sha256(bearer)
      return dead.has(hash) ? undefined : shared(hash, () => lookUp(bearer, hash))
    },
  }
}

const EXISTING = {
  name: 'existing keys',
  text: 'select hash from api_keys where hash = any(string_to_array($1, $2))',
}

/** Whether a key of this hash is stored. All who wait share the next query. */
function openExistence({ $client }: Pick<Db, '$client'>): (hash: string) => Promise<boolean> {
  const waiting = new Map<string, PromiseWithResolvers<boolean>>()
  let isAsking = false

  async function ask(): Promise<void> {
    isAsking = true
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [hash] of batch) waiting.delete(hash)
      try {
        const values = [batch.map(([hash]) => hash).join(' '), ' ']
        const { rows } = await $client.query<{ hash: string }>({ ...EXISTING, values })
        const found = new Set(rows.map((row) => row.hash))
        for (const [hash, { resolve }] of batch) resolve(found.has(hash))
      } catch (error) {
        for (const [, { reject }] of batch) reject(error)
      }
    }
    isAsking = false
  }

  return (hash) => {
    const answer = waiting.get(hash) ?? Promise.withResolvers<boolean>()
    waiting.set(hash, answer)
    if (!isAsking) void ask()
    return answer.promise
  }
}
