import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Db, DbOrTx } from '../../db/client.ts'
import type { apiKeys, grants, Role } from '../../db/schema/accounts.ts'
import { AppError } from '../../errors.ts'
import { sql } from '../../sql/orm.ts'
import type { Plan } from '../../vocabulary.ts'
import { BASE62, randomBase62, sha256 } from '../ids.ts'

export const MEMBER_SCOPES = ['saves:read', 'saves:write', 'boards:read', 'boards:write'] as const
export const OPERATOR_SCOPES = [
  'videos:write',
  'library:write',
  'accounts:write',
  'webhooks:write',
  'events:read',
] as const
export const SCOPES = [...MEMBER_SCOPES, ...OPERATOR_SCOPES] as const
export type Scope = (typeof SCOPES)[number]

const PREFIX = 'flk_live_'
/** The brand and the first four random characters: enough to tell keys apart, far too few to guess one. */
const VISIBLE_PREFIX_LENGTH = PREFIX.length + 4
const WELL_FORMED = /^flk_live_[0-9A-Za-z]{38}$/

export interface Caller {
  key: { id: string; scopes: readonly Scope[]; lastUsedAt: Date | null }
  account: { id: string; role: Role; plan: Plan }
}

/**
 * `flk_live_` + 32 random base62 characters (190 bits) + 6 of their CRC32. The checksum lets scanners and servers
 * recognise a key offline.
 */
export function generateKey(): string {
  const body = PREFIX + randomBase62(32)
  return body + checksum(body)
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let n = 0; n < 6; n++) {
    text = BASE62[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

export function isWellFormedKey(text: string): boolean {
  return WELL_FORMED.test(text) && checksum(text.slice(0, -6)) === text.slice(-6)
}

/** The first characters of a well-formed key. Failed checks are counted by them. */
export function prefixOf(text: string | undefined): string | undefined {
  return text !== undefined && isWellFormedKey(text) ? text.slice(0, VISIBLE_PREFIX_LENGTH) : undefined
}

/** A key or a token with its account. */
export interface AuthenticationRow {
  hash: string
  id: string
  scopes: Scope[]
  last_used_at: Date | null
  account_id: string
  role: Role
  plan: Plan
  is_disabled: boolean
}

/** SQL: a key `k` that is neither revoked nor expired. */
export const VALID_KEY = `(k.revoked_at is null or k.revoked_at > now())
  and (k.expires_at is null or k.expires_at > now())`
const DISABLED = 'a.disabled_at is not null'

const AUTHENTICATE = {
  name: 'authenticate',
  text: `select k.hash, k.id, k.scopes, k.last_used_at, a.id as account_id, a.role, a.plan,
                ${VALID_KEY} as is_valid, ${DISABLED} as is_disabled
           from api_keys k join accounts a on a.id = k.account_id
          where k.hash = any($1::text[])`,
}

/**
 * The owners of the keys of these hashes, read live in one indexed query: a revocation or a change of plan applies from
 * the next request on, in every process. A key of a disabled account may work again; one without an entry is dead.
 */
async function lookUpKeys(
  { $client }: Pick<Db, '$client'>,
  hashes: readonly string[],
): Promise<Map<string, Caller | 'disabled'>> {
  const { rows } = await $client.query<AuthenticationRow & { is_valid: boolean }>({ ...AUTHENTICATE, values: [hashes] })
  const valid = rows.filter(({ is_valid }) => is_valid)
  return new Map(valid.map((row) => [row.hash, row.is_disabled ? 'disabled' : toCaller(row)]))
}

/**
 * The owners of these keys, without the invalid keys, in one query. For streams, which outlive the check of their key.
 */
export async function findCallers(db: DbOrTx, keyIds: readonly string[]): Promise<Caller[]> {
  const { rows } = await db.execute<AuthenticationRow & Record<string, unknown>>(
    sql`select k.id, k.scopes, k.last_used_at, a.id as account_id, a.role, a.plan
          from api_keys k join accounts a on a.id = k.account_id
         where k.id = any(${sql.param([...keyIds])}::text[]) and ${sql.raw(`${VALID_KEY} and not ${DISABLED}`)}`,
  )
  return rows.map(toCaller)
}

export function toCaller(row: Omit<AuthenticationRow, 'hash' | 'is_disabled'>): Caller {
  return {
    key: { id: row.id, scopes: row.scopes, lastUsedAt: row.last_used_at },
    account: { id: row.account_id, role: row.role, plan: row.plan },
  }
}

const LAST_USED_EVERY_MS = 60_000

/**
 * Records the use of a key, or of an app's grant, at most once a minute and by one of many concurrent processes. Do not
 * await it in the request path.
 */
export async function recordUse(db: Db, table: typeof apiKeys | typeof grants, key: Caller['key']): Promise<void> {
  if (key.lastUsedAt && Date.now() - key.lastUsedAt.getTime() < LAST_USED_EVERY_MS) return
  await db.execute(
    sql`update ${table} set last_used_at = now()
         where id = (select id from ${table}
                      where id = ${key.id} and (last_used_at is null or last_used_at < now() - interval '1 minute')
                        for no key update skip locked)`,
  )
}

export interface KeyChecks {
  /** The owner of a presented key or token; undefined for every one that does not work. */
  check(bearer: string | undefined): Promise<Caller | undefined>
}

export interface CheckOptions {
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

/** Those that never work again: revoked, expired and unknown ones. That of a disabled account may. */
const MAX_DEAD = 20_000
const DEAD_MS = 60_000
const MAX_BATCH = 1_000

/**
 * Checks keys and tokens so that floods cost little. All are looked up together, one query at a time: they cannot take
 * all connections. A look-up begins after the request came, so a revocation applies from the next request on.
 */
export function openChecks({ isWellFormed, lookUp, used }: CheckOptions): KeyChecks {
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
