import { sql } from 'drizzle-orm'
import { type Db, isConnectionLoss } from '../../db/client.ts'
import type { DocumentChanges, DocumentKind, LibraryDocuments } from '../../search/library-search.ts'
import type { MeiliSink } from '../../search/meilisearch/sink.ts'
import { DOCUMENTS, rowsOf } from '../../search/postgres/tables.ts'
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
    insert into read_models (engine, generation, version, ready, words)
    values ('meilisearch', ${generation}::uuid, ${version}, true, ${WORDS_VERSION})
    on conflict (engine) do update set generation = excluded.generation, version = excluded.version, ready = true,
      words = excluded.words`)
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

/** Documents per task. A task costs about the same for few as for many, and waiting tasks are merged. */
export const CHUNK = 10_000
const MAX_VERSION = String(2n ** 63n - 1n)

interface StoredRow {
  kind: DocumentKind
  id: string
  /** Null for a removed document. */
  doc: LibraryDocuments[DocumentKind] | null
}

/**
 * Copies the documents changed after `version`, oldest change first; removed ones as removals.
 * `frames`: the version to start from for frames. `until`: the last version to copy.
 */
export async function copySince(
  db: Db,
  { version, frames, until }: { version: string; frames: string; until?: string },
  apply: (changes: DocumentChanges) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let after = { version: BigInt(version) < BigInt(frames) ? version : frames, kind: 'zzz', id: '' }
  // One page is written while the next is read.
  let applying: Promise<void> = Promise.resolve()
  for (;;) {
    signal?.throwIfAborted()
    const rows = await rowsOf<StoredRow & { version: string }>(
      db,
      sql`select kind, id, version, doc from ${DOCUMENTS}
           where version >= ${after.version}
             and (version, kind, id) > (${after.version}::bigint, ${after.kind}, ${after.id})
             and version > case kind when 'frames' then ${frames}::bigint else ${version}::bigint end
             and version <= ${until ?? MAX_VERSION}
           order by version, kind, id limit ${CHUNK}`,
    )
    await applying
    if (rows.length === 0) return
    applying = apply(toChanges(rows))
    applying.catch(() => undefined)
    const last = rows.at(-1)!
    after = { version: last.version, kind: last.kind, id: last.id }
  }
}

/** The current frames of these ids; unknown ids are left out. */
export async function loadChanges(db: Db, ids: readonly string[]): Promise<DocumentChanges> {
  const rows = await rowsOf<StoredRow>(
    db,
    sql`select kind, id, doc from ${DOCUMENTS} where kind = 'frames' and id = any(${sql.param([...ids])})`,
  )
  return toChanges(rows)
}

function toChanges(rows: readonly StoredRow[]): DocumentChanges {
  const put: Record<string, unknown[]> = {}
  const remove: Record<string, string[]> = {}
  for (const { kind, id, doc } of rows) {
    if (doc === null) {
      remove[kind] ??= []
      remove[kind].push(id)
    } else {
      put[kind] ??= []
      put[kind].push(doc)
    }
  }
  return { put: put as DocumentChanges['put'], remove: remove as DocumentChanges['remove'] }
}
