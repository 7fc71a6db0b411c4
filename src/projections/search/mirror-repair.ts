import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { DOCUMENTS, FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { lockReadModel } from '../../search/postgres/write.ts'
import { nothingFound, type Reconciliation } from './affected.ts'
import {
  CHUNK,
  type CopiedState,
  loadChanges,
  type MirrorDeps,
  type ModelState,
  recordNotReady,
} from './mirror-progress.ts'

/** Compares the frames with the read model's at `version` by id and revision. It repairs them, and skips later ones. */
export async function repairFrames(
  { db, sink, signal }: MirrorDeps,
  found: Reconciliation,
  version: string,
): Promise<void> {
  const { wanted, later } = await loadRevisions(db, version)
  found.checked += wanted.size
  const extra: string[] = []
  const put: string[] = []
  for await (const batch of sink.revisions()) {
    signal?.throwIfAborted()
    for (const { id, revision } of batch) {
      if (later.has(id)) continue
      const right = wanted.get(id)
      wanted.delete(id)
      if (right === undefined) extra.push(id)
      else if (right !== revision) {
        found.stale++
        put.push(id)
      }
    }
  }
  found.missing += wanted.size
  found.extra += extra.length
  put.push(...wanted.keys())
  if (extra.length > 0) await sink.apply({ put: {}, remove: { frames: extra } })
  for (let from = 0; from < put.length; from += CHUNK) {
    signal?.throwIfAborted()
    await sink.apply(await loadChanges(db, put.slice(from, from + CHUNK)))
  }
}

/** `wanted`: revisions by id at `version`. `later`: ids changed after it. */
async function loadRevisions(db: Db, version: string): Promise<{ wanted: Map<string, string>; later: Set<string> }> {
  const wanted = new Map<string, string>()
  const later = new Set<string>()
  for (let after = ''; ; ) {
    const rows = await rowsOf<{ id: string; revision: string; later: boolean }>(
      db,
      sql`select id, revision, version > ${version} as later from ${DOCUMENTS}
           where kind = 'frames' and id > ${after} and (doc is not null or version > ${version})
           order by id limit 20000`,
    )
    if (rows.length === 0) return { wanted, later }
    for (const row of rows) {
      if (row.later) later.add(row.id)
      else wanted.set(row.id, row.revision)
    }
    after = rows.at(-1)!.id
  }
}

/** Repairs the index if its number of frames differs although all was copied: it was changed from outside. */
export async function repairCounts(deps: MirrorDeps, live: ModelState): Promise<void> {
  const { db, sink } = deps
  const found = nothingFound()
  const [row] = await rowsOf<{ n: number; version: string }>(
    db,
    sql`select (select count(*)::int from ${FRAMES}) as n, version from read_models where engine = 'postgres'`,
  )
  const { n, version } = row!
  if (version !== live.version || (await sink.count()) === n) return
  await recordNotReady(db)
  await repairFrames(deps, found, version)
  await raiseVersionIfWrong(db, found)
}

/** Responses made from wrong documents may be cached under the current version, so repaired documents need another. */
export async function raiseVersionIfWrong(db: Db, { missing, stale, extra }: Reconciliation): Promise<void> {
  if (missing + stale + extra === 0) return
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    await tx.execute(sql`update read_models set version = version + 1 where engine = 'postgres'`)
  })
}

/** Whether the engine has no frame although some were copied. */
export async function wasEmptied({ db, sink }: MirrorDeps, copied: CopiedState): Promise<boolean> {
  if ((await sink.count()) > 0) return false
  const [row] = await rowsOf<{ some: boolean }>(
    db,
    sql`select exists (select 1 from ${DOCUMENTS}
                        where kind = 'frames' and doc is not null and version <= ${copied.version}) as some`,
  )
  return row!.some
}
