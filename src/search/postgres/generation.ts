import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { WORDS_VERSION } from '../text/tokens.ts'
import { type Executor, LIVE, rowsOf } from './tables.ts'

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
           set version = version + 1, generation = ${randomUUID()}::uuid, applied_at = now(), words = ${WORDS_VERSION}
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
