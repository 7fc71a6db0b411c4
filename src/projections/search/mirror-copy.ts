import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { DocumentChanges, DocumentKind, LibraryDocuments } from '../../search/library-search.ts'
import { DOCUMENTS, rowsOf } from '../../search/postgres/tables.ts'

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
