import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { WORDS_VERSION } from '../text/tokens.ts'

/** Anything that runs SQL: a pool or a transaction. */
export interface Executor {
  execute(query: SQL): PromiseLike<{ rows: unknown[] }>
}

export async function rowsOf<T>(db: Executor, query: SQL): Promise<T[]> {
  return (await db.execute(query)).rows as T[]
}

/** The version of the read model, which changes with any of its documents. */
export async function versionOf(db: Executor): Promise<string> {
  const [row] = await rowsOf<{ version: string }>(
    db,
    sql`select left(generation::text, 8) || '-' || version as version from read_models where engine = 'postgres'`,
  )
  return row?.version ?? '0'
}

/** The schema of the live read model. A rebuild fills another schema and then swaps the two. */
export const LIVE = 'library_search'

export const DOCUMENTS = sql.raw(`${LIVE}.documents`)
/** Frames with their attributes, order and words, without the documents. */
export const FRAMES = sql.raw(`${LIVE}.frames`)
/** The same for videos, brands and techniques. */
export const ENTRIES = sql.raw(`${LIVE}.entries`)

/** Reads that see the library at one moment. */
export interface Snapshot extends Executor {
  /** Runs a statement of fixed text: each connection plans it once, for any values. */
  prepared<T>(name: string, text: string, values: readonly unknown[]): Promise<T[]>
}

/** The words of a question and its frames must be of one moment: a word that comes in between is not looked for. */
export async function inSnapshot<T>(pool: pg.Pool, read: (reads: Snapshot) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  const db = drizzle(client)
  try {
    await client.query('begin isolation level repeatable read read only')
    const answer = await read({
      execute: (query: SQL) => db.execute(query),
      prepared: async <R>(name: string, text: string, values: readonly unknown[]) =>
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

/** A rebuild fills this schema beside the live one. */
export const NEXT = 'library_search_next'
/** In the next generation, until the swap: the version of a document that the live one does not have so. */
export const AT_SWAP = 0

/** Whether another version cut the words of the live generation. An empty generation is marked as current. */
export async function hasOldWords(tx: Executor): Promise<boolean> {
  await tx.execute(sql`
    update read_models set words = ${WORDS_VERSION}
     where engine = 'postgres' and words <> ${WORDS_VERSION} and not exists (select from ${sql.raw(LIVE)}.documents)`)
  const [row] = await rowsOf<{ old: boolean }>(
    tx,
    sql`select words <> ${WORDS_VERSION} as old from read_models where engine = 'postgres'`,
  )
  return row!.old
}
