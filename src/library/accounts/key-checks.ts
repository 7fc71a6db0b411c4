import { LRUCache } from 'lru-cache'
import type { Db } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import type { Plan } from '../../vocabulary.ts'
import { sha256 } from '../ids.ts'
import { lookUpTokens } from './grants.ts'
import { type Caller, isWellFormedKey, lookUpKeys, OPERATOR_SCOPES, type Scope } from './keys.ts'

export interface KeyChecks {
  /** The owner of a presented key or token; undefined for every one that does not work. */
  check(bearer: string | undefined): Promise<Caller | undefined>
}

interface CheckOptions {
  /** What is not needs no query. */
  isWellFormed(bearer: string): boolean
  /** The owners by the hash of what they present. What has no entry never works again. */
  lookUp(hashes: readonly string[]): Promise<Map<string, Caller | 'disabled'>>
  /** Told once for each look-up of a valid one. */
  used(key: Caller['key']): void
}

type Pool = Pick<Db, '$client'>

export function openKeyChecks(db: Pool, used: CheckOptions['used'] = () => undefined): KeyChecks {
  return openChecks({ isWellFormed: isWellFormedKey, lookUp: (hashes) => lookUpKeys(db, hashes), used })
}

/** `resource`: the address that the tokens were issued for. */
export function openTokenChecks(db: Pool, resource: string, used: CheckOptions['used']): KeyChecks {
  return openChecks({ isWellFormed: isToken, lookUp: (hashes) => lookUpTokens(db, hashes, resource), used })
}

/** As the authorization server makes them. */
const isToken = (bearer: string) => /^[\w-]{43}$/.test(bearer)

/** Those that never work again: revoked, expired and unknown ones. That of a disabled account may. */
const MAX_DEAD = 20_000
const DEAD_MS = 60_000
const MAX_BATCH = 1_000

/**
 * Checks keys and tokens so that floods cost little. All are looked up together, one query at a time: they cannot take
 * all connections. A look-up begins after the request came, so a revocation applies from the next request on.
 */
function openChecks({ isWellFormed, lookUp, used }: CheckOptions): KeyChecks {
  const dead = new LRUCache<string, true>({ max: MAX_DEAD, ttl: DEAD_MS })
  const waiting = new Map<string, PromiseWithResolvers<Caller | undefined>>()
  let isAsking = false

  async function answerAll(): Promise<void> {
    isAsking = true
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, MAX_BATCH)
      for (const [hash] of batch) waiting.delete(hash)
      try {
        const found = await lookUp(batch.map(([hash]) => hash))
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
      if (bearer === undefined || !isWellFormed(bearer)) return undefined
      const hash = sha256(bearer)
      if (dead.has(hash)) return undefined
      const answer = waiting.get(hash) ?? Promise.withResolvers<Caller | undefined>()
      waiting.set(hash, answer)
      if (!isAsking) void answerAll()
      return answer.promise
    },
  }
}

/** The plan that a scope needs. Operators' scopes depend on the role instead. */
const PLAN_OF: Partial<Record<Scope, Plan>> = {
  'saves:read': 'pro',
  'saves:write': 'pro',
  'boards:read': 'pro',
  'boards:write': 'pro',
}

/**
 * Why this caller may not use an endpoint with this scope: the plan is checked before the scope. Undefined when it may.
 * `allowLapsedPlan`: the plan is not checked.
 */
export function refusalOf(
  caller: Caller,
  scope: Scope,
  { allowLapsedPlan = false }: { allowLapsedPlan?: boolean | undefined } = {},
): AppError | undefined {
  const plan = PLAN_OF[scope]
  if (!allowLapsedPlan && plan && caller.account.plan !== plan)
    return new AppError(
      'plan_required',
      `This needs the ${plan} plan; the account is on ${caller.account.plan}. Ask an operator.`,
      {
        details: [{ path: 'plan', message: `must be ${plan}`, allowed: [plan] }],
      },
    )
  const isOperators = (OPERATOR_SCOPES as readonly Scope[]).includes(scope)
  if (!caller.key.scopes.includes(scope) || (isOperators && caller.account.role !== 'operator'))
    return new AppError('forbidden', `This key lacks the scope ${scope}. Use one that has it.`, {
      details: [{ path: 'scope', message: `needs ${scope}`, allowed: [scope] }],
    })
  return undefined
}
