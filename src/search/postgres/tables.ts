import { type SQL, sql } from 'drizzle-orm'

/** Anything that runs SQL: a pool or a transaction. */
export interface Executor {
  execute(query: SQL): PromiseLike<{ rows: unknown[] }>
}

export async function rowsOf<T>(db: Executor, query: SQL): Promise<T[]> {
  return (await db.execute(query)).rows as T[]
}

/** The schema of the live read model. A rebuild fills another schema and then swaps the two. */
export const LIVE = 'library_search'

export const DOCUMENTS = sql.raw(`${LIVE}.documents`)
/** Frames with their attributes, order and words, without the documents. */
export const FRAMES = sql.raw(`${LIVE}.frames`)
/** The same for videos, brands and techniques. */
export const ENTRIES = sql.raw(`${LIVE}.entries`)
