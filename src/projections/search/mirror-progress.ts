import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { isConnectionLoss } from '../../db/connection-loss.ts'
import type { MeiliSink } from '../../search/meilisearch/sink.ts'
import { rowsOf } from '../../search/postgres/tables.ts'
import { WORDS_VERSION } from '../../search/text/tokens.ts'

/** The mirror's progress, and the lock of its one writer. */

const LOCK = 'search-mirror'

export interface MirrorDeps {
  db: Db
  sink: MeiliSink
  signal?: AbortSignal | undefined
}

/** A state of the read model. Versions compare within one generation only. */
export interface ModelState {
  version: string
  generation: string
}

/** The last state of the read model that was copied as a whole. */
export interface CopiedState extends ModelState {
  /** `WORDS_VERSION` of the code that copied it. */
  words: number
}

export async function readModelState(db: Db): Promise<ModelState> {
  const [row] = await rowsOf<ModelState>(db, sql`select version, generation from read_models where engine = 'postgres'`)
  return row!
}

export async function readCopiedState(db: Db): Promise<CopiedState | undefined> {
  const [row] = await rowsOf<CopiedState>(
    db,
    sql`select version, generation, words from read_models where engine = 'meilisearch'`,
  )
  return row
}

/** From now on searches may use Meilisearch. */
export async function recordCopied(db: Db, { version, generation }: ModelState): Promise<void> {
  await db.execute(sql`
    insert into read_models (engine, generation, version, applied_at, ready, words)
    values ('meilisearch', ${generation}::uuid, ${version}, now(), true, ${WORDS_VERSION})
    on conflict (engine) do update set generation = excluded.generation, version = excluded.version,
      applied_at = now(), ready = true, words = excluded.words`)
}

/** From now on searches use the read model, until the next `recordCopied`. */
export async function recordNotReady(db: Db): Promise<void> {
  await db.execute(sql`update read_models set ready = false where engine = 'meilisearch'`)
}

/**
 * Lets one process at a time write to Meilisearch.
 * The lock belongs to a session of its own, so no transaction stays open while tasks run.
 */
export async function withMirrorLock<T>(db: Db, act: () => Promise<T>): Promise<T> {
  const session = await db.$client.connect()
  let broken: unknown
  try {
    await session.query('set statement_timeout = 0')
    await session.query('select pg_advisory_lock(hashtextextended($1, 0))', [LOCK])
    return await act()
  } catch (error) {
    if (isConnectionLoss(error)) broken = error
    throw error
  } finally {
    await session.query('select pg_advisory_unlock(hashtextextended($1, 0))', [LOCK]).catch((error: unknown) => {
      broken = error
    })
    await session.query('reset statement_timeout').catch((error: unknown) => {
      broken = error
    })
    session.release(broken !== undefined)
  }
}
