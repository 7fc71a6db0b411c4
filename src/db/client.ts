import pg from 'pg'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { drizzle, type NodePgDatabase } from '../sql/orm.ts'

export type Db = NodePgDatabase & {
  $client: pg.Pool
  /** A transaction in the turn of an account. */
  transactionOf<T>(accountId: string, act: (tx: Tx) => Promise<T>): Promise<T>
}
export type Tx = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]
/** Reads accept either. A write with its event needs a `Tx`. */
export type DbOrTx = Db | Tx

export interface OpenDbOptions {
  url: string
  max?: number
  applicationName?: string
  statementTimeoutMs?: number
  /** How long a statement waits for another transaction's lock; without it, as long as a statement may take. */
  lockTimeoutMs?: number
  /** How many transactions may hold a connection at once: the others stay free for reads. All of them if absent. */
  maxTransactions?: number
  /** How many of them one account may hold at once: the others stay free for other accounts. */
  maxTransactionsOfOne?: number
  /** How long a transaction waits for its turn. */
  turnMs?: number
  logger?: Logger
}

/**
 * What PostgreSQL's planner takes for granted. Pages are in memory or on an SSD, where the next page is not four times
 * as near as any other. Compiling a plan takes longer than our statements do. DATABASE_URL may set other `options`.
 */
const PLANNER = '-c random_page_cost=1.1 -c jit=off'

/**
 * A pool with timeouts for statements, idle transactions and connecting: an open write transaction holds back every
 * reader of the event log.
 */
export function openDb({
  url,
  max = 10,
  applicationName = 'frame-library',
  statementTimeoutMs = 30_000,
  lockTimeoutMs,
  maxTransactions = max,
  maxTransactionsOfOne = maxTransactions,
  turnMs = 10_000,
  logger,
}: OpenDbOptions): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: applicationName,
    options: PLANNER,
    statement_timeout: statementTimeoutMs,
    ...(lockTimeoutMs === undefined ? {} : { lock_timeout: lockTimeoutMs }),
    idle_in_transaction_session_timeout: 15_000,
    connectionTimeoutMillis: 10_000,
  })
  // A dropped idle connection (a database restart) must not end the process. The next query opens a new one.
  pool.on('error', (error) => logger?.warn({ err: error }, 'database connection lost'))
  // A connection dropped between two queries of a transaction must not end it either: the pool does not listen to a
  // connection in use. The transaction's next query fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const db = drizzle(pool) as Db
  const transact = transactions(
    pool,
    openAdmission({
      max: maxTransactions,
      ofOne: maxTransactionsOfOne,
      waitMs: turnMs,
      refusal: 'Too many writes are waiting. Try again in a second.',
    }),
  )
  db.transaction = (act, config) => transact(undefined, act, config)
  db.transactionOf = transact
  return db
}

/**
 * Drizzle's own transaction never releases its connection when `begin` fails, as it does after every restart of the
 * database (0.45, node-postgres/session.ts).
 */
function transactions(pool: pg.Pool, admission: Admission) {
  return async <T>(
    accountId: string | undefined,
    act: (tx: Tx) => Promise<T>,
    config?: Parameters<NodePgDatabase['transaction']>[1],
  ): Promise<T> => {
    const leave = await admission(accountId)
    try {
      const client = await pool.connect()
      try {
        return await drizzle(client).transaction(act, config)
      } finally {
        client.release()
      }
    } finally {
      leave()
    }
  }
}

/** Runs in the caller's transaction if there is one, else in a new one. */
export function inTransaction<T>(db: DbOrTx, act: (tx: Tx) => Promise<T>): Promise<T> {
  return '$client' in db ? (db as Db).transaction(act) : act(db)
}

/** As `inTransaction`, in the turn of an account: one account cannot hold every connection that writes may use. */
export function inTransactionOf<T>(accountId: string, db: DbOrTx, act: (tx: Tx) => Promise<T>): Promise<T> {
  return '$client' in db ? (db as Db).transactionOf(accountId, act) : act(db)
}

/** Stops and lost connections; full disk, memory or connections; failed reads; timeouts; deadlocks and conflicts. */
const SQL_STATES = /^(57P0[123]|08\w{3}|53[123]00|58030|25P03|57014|40P01|40001)$/
const CODES = /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|(HOST|NET)(UNREACH|DOWN))|EAI_AGAIN)$/
/** Errors of pg and ioredis that carry no code. */
const MESSAGES = [
  /Connection terminated/,
  /connection error and is not queryable/,
  /timeout exceeded when trying to connect/,
  /^Command timed out$/,
]

/** True for an outage of the database, Redis or the network: retrying later may succeed. */
export function isConnectionLoss(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && (SQL_STATES.test(code) || CODES.test(code))) return true
    const { message } = cause
    if (MESSAGES.some((pattern) => pattern.test(message))) return true
  }
  return false
}

/**
 * Acts while a session of its own holds a lock, so that no transaction stays open meanwhile. It waits for the lock;
 * with a `refusal` it does not. @throws AppError conflict with the refusal
 */
export async function withSessionLock<T>(
  db: Db,
  name: string,
  act: () => Promise<T>,
  { refusal }: { refusal?: string } = {},
): Promise<T> {
  const session = await db.$client.connect()
  try {
    await session.query('set statement_timeout = 0')
    const take = refusal === undefined ? 'pg_advisory_lock' : 'pg_try_advisory_lock'
    const { rows } = await session.query(`select ${take}(hashtextextended($1, 0)) as taken`, [name])
    if (rows[0].taken === false) throw new AppError('conflict', refusal!)
    return await act()
  } finally {
    await session.query('select pg_advisory_unlock(hashtextextended($1, 0))', [name]).catch(() => undefined)
    // Closed instead of released, because it has no statement timeout any more.
    session.release(true)
  }
}

/** Numbers of the advisory locks that several folders take. */

/** Held while the schema changes, and shared while it is copied. */
export const MIGRATION_LOCK = 7_310_001
/** Held by a backup, and shared by what removes files from the media store. */
export const MEDIA_REMOVAL_LOCK = 7_310_003
/** Held while a paid call is reserved, so that two cannot spend the same rest of a budget. */
export const VISION_LEDGER_LOCK = 7_310_005

/** Admits one act of a subject, or of no one; the returned function ends it. @throws AppError with the code */
export type Admission = (subject?: string) => Promise<() => void>

export interface AdmissionOptions {
  max: number
  ofOne: number
  waitMs: number
  /** Why a caller who waited in vain is refused, and what to do. */
  refusal: string
  code?: 'unavailable' | 'rate_limited'
}

interface Waiting {
  subject: string | undefined
  admit: () => void
}

/**
 * At most `max` acts at a time and `ofOne` of one subject. The next is the one whose subject runs the fewest, and of
 * those the first that asked. An act that waits longer than `waitMs` is refused.
 */
export function openAdmission({ max, ofOne, waitMs, refusal, code = 'unavailable' }: AdmissionOptions): Admission {
  let free = max
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()

  const runningOf = (subject: string | undefined) => (subject === undefined ? 0 : (running.get(subject) ?? 0))

  function enter(subject: string | undefined): void {
    free--
    if (subject !== undefined) running.set(subject, runningOf(subject) + 1)
  }

  function leave(subject: string | undefined): void {
    free++
    if (subject !== undefined) {
      const left = runningOf(subject) - 1
      if (left > 0) running.set(subject, left)
      else running.delete(subject)
    }
    const next = nextOf(waiting)
    if (!next) return
    waiting.delete(next)
    enter(next.subject)
    next.admit()
  }

  function nextOf(candidates: Iterable<Waiting>): Waiting | undefined {
    let next: Waiting | undefined
    for (const candidate of candidates) {
      const count = runningOf(candidate.subject)
      if (count < ofOne && (!next || count < runningOf(next.subject))) next = candidate
    }
    return next
  }

  function turn(subject: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(place)
        reject(new AppError(code, refusal, { retryAfterSec: 1 }))
      }, waitMs)
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      const place = { subject, admit }
      waiting.add(place)
    })
  }

  return async (subject) => {
    if (free > 0 && runningOf(subject) < ofOne) enter(subject)
    else await turn(subject)
    return () => leave(subject)
  }
}
