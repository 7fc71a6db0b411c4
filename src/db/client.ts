import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import type { Logger } from '../logger.ts'
import * as schema from './schema.ts'

export type Db = NodePgDatabase<typeof schema> & { $client: pg.Pool }
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
export function openDb({ url, max = 10, applicationName = 'frame-library', statementTimeoutMs = 30_000, logger }: OpenDbOptions): Db {
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
  return drizzle(pool, { schema }) as Db
}

/** Runs in the caller's transaction if it has one, else in one of its own. */
export function inTransaction<T>(db: DbOrTx, act: (tx: Tx) => Promise<T>): Promise<T> {
  return '$client' in db ? (db as Db).transaction(act) : act(db)
}
