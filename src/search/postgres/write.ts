import { type SQL, sql } from 'drizzle-orm'
import { DOCUMENT_KINDS, type DocumentChanges, type DocumentKind, type LibraryDocuments } from '../library-search.ts'
import { putEntryRows, putFrameRows, type RowTarget, type WordsByScope } from './rows.ts'
import { type Executor, LIVE, rowsOf } from './tables.ts'

/** Documents per statement: about 7 MB of JSON. */
const CHUNK = 2_000
const WRITER_LOCK = 7_310_011

/**
 * Lets one transaction at a time write the read model, until it ends.
 * Take it before loading what is then written, so that an older state cannot overwrite a newer one.
 */
export async function lockReadModel(tx: Executor): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${WRITER_LOCK})`)
}

/** Writes the documents that differ from the stored ones. The version rises only if there are any. */
export async function applyToReadModel(tx: Executor, changes: DocumentChanges, schema: string = LIVE): Promise<void> {
  const [row] = await rowsOf<{ version: string }>(
    tx,
    sql`select version + 1 as version from read_models where engine = 'postgres'`,
  )
  const { version } = row!
  const target = { tx, schema, version }
  let changed = false
  for (const kind of DOCUMENT_KINDS) {
    for (const ids of chunksOf(changes.remove[kind])) {
      if (await removeChunk(target, kind, ids)) changed = true
    }
    for (const documents of chunksOf<LibraryDocuments[DocumentKind]>(changes.put[kind])) {
      if (await putChunk(target, kind, documents)) changed = true
    }
  }
  if (schema !== LIVE) return
  await tx.execute(
    changed
      ? sql`update read_models set version = ${version}, applied_at = now() where engine = 'postgres'`
      : sql`update read_models set applied_at = now() where engine = 'postgres'`,
  )
}

function* chunksOf<T>(list: readonly T[] = []): Iterable<T[]> {
  for (let from = 0; from < list.length; from += CHUNK) yield list.slice(from, from + CHUNK)
}

interface Target extends RowTarget {
  /** The version that the changed documents get. */
  version: string
}

/** Removes documents and their rows. A removed document stays as a tombstone, so that the mirror copies the removal. */
async function removeChunk({ tx, schema, version }: Target, kind: DocumentKind, ids: string[]): Promise<boolean> {
  const from = sql.raw(schema)
  const rows: SQL =
    kind === 'frames'
      ? sql`delete from ${from}.frames where id = any(${sql.param(ids)}) returning id`
      : sql`delete from ${from}.entries where kind = ${kind} and id = any(${sql.param(ids)}) returning id`
  const gone = await rowsOf(
    tx,
    sql`with gone as (update ${from}.documents set doc = null, revision = '', version = ${version}
                       where kind = ${kind} and id = any(${sql.param(ids)}) and doc is not null returning id),
             rows as (${rows})
        select id from gone union select id from rows`,
  )
  return gone.length > 0
}

/** True when a document differs from the stored one. */
async function putChunk<K extends DocumentKind>(
  target: Target,
  kind: K,
  documents: LibraryDocuments[K][],
): Promise<boolean> {
  const { tx, schema, version } = target
  const into = sql.raw(schema)
  // The last document of an id wins: a statement cannot touch a row twice.
  const byId = new Map(documents.map((document) => [idOf(document), document]))
  const input = [...byId].map(([id, doc]) => ({ id, revision: doc.revision, doc }))
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`
    insert into ${into}.documents as held (kind, id, revision, version, doc)
    select ${kind}, id, revision, ${version}, doc
      from json_to_recordset(${JSON.stringify(input)}::json) as x(id text, revision text, doc json)
    on conflict (kind, id) do update set revision = excluded.revision, version = excluded.version, doc = excluded.doc
      where held.revision <> excluded.revision or held.doc::text is distinct from excluded.doc::text
    returning id`,
  )
  if (rows.length === 0) return false
  const fresh = rows.map(({ id }) => byId.get(id)!)
  const words: WordsByScope = new Map()
  if (kind === 'frames') await putFrameRows(target, fresh as LibraryDocuments['frames'][], words)
  else await putEntryRows(target, kind, fresh as LibraryDocuments[Exclude<DocumentKind, 'frames'>][], words)
  for (const [scope, list] of words) {
    await tx.execute(
      sql`insert into ${into}.words (scope, word)
          select ${scope}, unnest(${sql.param([...list].sort())}::text[]) on conflict do nothing`,
    )
  }
  return true
}

const idOf = (document: LibraryDocuments[DocumentKind]): string => ('slug' in document ? document.slug : document.id)
