import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgSession, PreparedQueryConfig } from 'drizzle-orm/pg-core'
import pg from 'pg'
import type { Logger } from '../logger.ts'

export type Db = NodePgDatabase & { $client: pg.Pool }
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0]
/** Either may carry a read; only a `Tx` may carry a write with its event. */
export type DbOrTx = Db | Tx

export interface OpenDbOptions {
  url: string
  max?: number
  applicationName?: string
  statementTimeoutMs?: number
  logger?: Logger
}

/** A pool with the timeouts every part of the service needs: an open write transaction holds back every reader of the event log. */
export function openDb({
  url,
  max = 10,
  applicationName = 'frame-library',
  statementTimeoutMs = 30_000,
  logger,
}: OpenDbOptions): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: applicationName,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: 15_000,
    connectionTimeoutMillis: 10_000,
  })
  // A dropped idle connection (a database restart) must not end the process; the next query opens a new one.
  pool.on('error', (error) => logger?.warn({ err: error }, 'database connection lost'))
  // Nor one dropped between two queries of a transaction: the pool does not listen to a connection that is lent out. The transaction's next query fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const db = drizzle(pool) as Db
  db.transaction = transactionOf(pool)
  return db
}

/** Drizzle's own keeps a connection lent out for ever when its `begin` fails, as it does after every restart of the database (0.45, node-postgres/session.ts). */
function transactionOf(pool: pg.Pool): Db['transaction'] {
  const byClient = new WeakMap<pg.PoolClient, NodePgDatabase>()
  return async (act, config) => {
    const client = await pool.connect()
    try {
      const db = byClient.get(client) ?? drizzle(client)
      byClient.set(client, db)
      return await db.transaction(act, config)
    } finally {
      client.release()
    }
  }
}

/** Runs in the caller's transaction if it has one, else in one of its own. */
export function inTransaction<T>(db: DbOrTx, act: (tx: Tx) => Promise<T>): Promise<T> {
  return '$client' in db ? (db as Db).transaction(act) : act(db)
}

export interface Statement {
  name: string
  text: string
}

/**
 * A statement that each connection parses and plans once: for the few that run on every request. The text behind a name never changes; what varies goes into
 * `$1`, `$2` …, and only scalars let PostgreSQL keep the plan.
 */
export async function executePrepared<T>(
  db: DbOrTx,
  { name, text }: Statement,
  values: unknown[],
): Promise<{ rows: T[] }> {
  const session = db._.session as unknown as PgSession
  return session
    .prepareQuery<PreparedQueryConfig & { execute: { rows: T[] } }>(
      { sql: text, params: values },
      undefined,
      name,
      false,
    )
    .execute()
}
