import type { SQL } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type { Executor } from './tables.ts'

/** Reads that see the library at one moment. */
export interface Snapshot extends Executor {
  /** Runs a statement of fixed text: each connection plans it once, for any values. */
  kept<T>(name: string, text: string, values: readonly unknown[]): Promise<T[]>
}

/** The words of a question and its frames must be of one moment: a word that comes in between is not looked for. */
export async function inSnapshot<T>(pool: pg.Pool, read: (reads: Snapshot) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  const db = drizzle(client)
  try {
    await client.query('begin isolation level repeatable read read only')
    const answer = await read({
      execute: (query: SQL) => db.execute(query),
      kept: async <R>(name: string, text: string, values: readonly unknown[]) =>
        (await client.query({ name, text, values: [...values] })).rows as R[],
    })
    await client.query('commit')
    client.release()
    return answer
  } catch (error) {
    // Closes the connection: its transaction may be open.
    client.release(true)
    throw error
  }
}
