import { randomUUID } from 'node:crypto'
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

/** A generation is one build of the read model. A rebuild fills the next one and swaps it for the live one. */

export const NEXT = 'library_search_next'
const OLD = 'library_search_old'

/** An empty generation beside the live one, without indexes. */
export async function beginGeneration(tx: Executor): Promise<void> {
  await tx.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
  await tx.execute(sql`select create_read_model(${NEXT})`)
}

export async function indexGeneration(db: Executor): Promise<void> {
  await db.execute(sql`select index_read_model(${NEXT})`)
  for (const table of ['documents', 'frames', 'entries', 'words']) await db.execute(sql.raw(`analyze ${NEXT}.${table}`))
}

/** Readers of the old generation finish on it. Call `dropOldGeneration` once this is committed. */
export async function swapGeneration(tx: Executor): Promise<void> {
  await tx.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
  await tx.execute(sql`alter schema ${sql.raw(LIVE)} rename to ${sql.raw(OLD)}`)
  await tx.execute(sql`alter schema ${sql.raw(NEXT)} rename to ${sql.raw(LIVE)}`)
  await tx.execute(
    sql`update read_models
           set version = version + 1, generation = ${randomUUID()}::uuid, words = ${WORDS_VERSION}
         where engine = 'postgres'`,
  )
}

/** One table per transaction: dropping all could deadlock with a reader that holds one and waits for another. */
export async function dropOldGeneration(db: Executor): Promise<void> {
  for (const table of ['frames', 'entries', 'words', 'documents'])
    await db.execute(sql`drop table if exists ${sql.raw(`${OLD}.${table}`)}`)
  await db.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
}

export async function abandonGeneration(db: Executor): Promise<void> {
  await db.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
}

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
