import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { type Consumer, checkpointOf } from '../../events/consume.ts'
import { isMeiliOutage } from '../../search/meilisearch/request.ts'
import { DOCUMENTS, FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { lockReadModel } from '../../search/postgres/write.ts'
import { WORDS_VERSION } from '../../search/text/tokens.ts'
import { nothingFound, type Reconciliation, SEARCH_EVENTS } from './affected.ts'
import {
  CHUNK,
  type CopiedState,
  copySince,
  loadChanges,
  type MirrorDeps,
  type ModelState,
  readCopiedState,
  readModelState,
  recordCopied,
  recordNotReady,
  withMirrorLock,
} from './mirror-progress.ts'

/**
 * Meilisearch as a mirror of the read model.
 * Every document of the read model carries the version that last changed it, and the mirror copies newer ones.
 * Projecting once, in PostgreSQL, and copying keeps both engines on the same documents.
 */

/** The consumer that keeps Meilisearch. */
export const MIRROR = 'search-meilisearch'

/** Frames that are worth a task of their own while a long batch of events is still being projected. */
const BACKLOG = 4_000

/**
 * Mirrors the read model once it includes a batch of events; the checkpoint moves when the engine's tasks succeeded.
 * During a long batch it copies frames as they arrive.
 */
export function meiliProjection(deps: MirrorDeps): Consumer {
  return {
    name: MIRROR,
    types: SEARCH_EVENTS,
    async handle(events, signal) {
      const last = events.at(-1)!.cursor
      const seen = async () => {
        const { xid, seq } = await checkpointOf(deps.db, 'search')
        const [a, b] = [BigInt(xid), BigInt(last.xid)]
        return a > b || (a === b && seq >= last.seq)
      }
      const isLong = await untilSeen(seen, () => hasBacklog(deps.db, undefined), signal)
      await withMirrorLock(deps.db, async () => {
        const early = isLong ? await copyDuringBacklog({ ...deps, signal }, seen) : undefined
        await sync({ ...deps, signal }, early)
      })
      return undefined
    },
    outageOf(error) {
      if (error instanceof ReadModelBehind) return 'the read model'
      return isMeiliOutage(error) ? 'Meilisearch' : undefined
    },
  }
}

/** Waits for `seen`, or returns true as soon as `enough` is. @throws ReadModelBehind after five seconds of neither. */
async function untilSeen(
  seen: () => Promise<boolean>,
  enough: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waited = 0; ; waited += 25) {
    signal.throwIfAborted()
    if (await seen()) return false
    if (await enough()) return true
    if (waited > 5_000) throw new ReadModelBehind()
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

class ReadModelBehind extends Error {
  constructor() {
    super('The read model has not seen these events yet.')
  }
}

/** Whether many frames wait to be copied, beyond those copied early. */
async function hasBacklog(db: Db, early: EarlyCopy | undefined): Promise<boolean> {
  const [row] = await rowsOf<{ n: number }>(
    db,
    sql`select count(*)::int as n from (
          select 1 from ${DOCUMENTS}
           where kind = 'frames' and version > (
             select greatest(version, ${early?.version ?? -1}) from read_models where engine = 'meilisearch')
           limit ${BACKLOG}) newer`,
  )
  return row!.n >= BACKLOG
}

/**
 * Copies the frames of a long batch as its pieces are projected; the engine works on one copy while the next is read.
 * Videos, brands and techniques change with every piece and are copied once, by the sync at the end.
 */
async function copyDuringBacklog(
  deps: MirrorDeps & { signal: AbortSignal },
  seen: () => Promise<boolean>,
): Promise<EarlyCopy | undefined> {
  const { db, sink, signal } = deps
  const copied = await readCopiedState(db)
  let early: EarlyCopy | undefined
  do {
    const live = await readModelState(db)
    if (copied?.generation !== live.generation || (!early && !(await isWhole(deps, copied)))) break
    await early?.written
    const range = { version: live.version, frames: early?.version ?? copied.version, until: live.version }
    const written = copySince(db, range, sink.apply, signal)
    written.catch(() => undefined)
    early = { ...live, written }
  } while (await untilSeen(seen, () => hasBacklog(db, early), signal))
  return early
}

/**
 * Copies what changed since the last time.
 * Rebuilds beside the live indexes and swaps them when an index is missing, was emptied, or has old settings or words.
 * Resolves when the engine's tasks have succeeded.
 */
export async function syncMirror(deps: MirrorDeps): Promise<{ rebuilt: boolean }> {
  return withMirrorLock(deps.db, () => sync(deps))
}

/** Rebuilds everything, for `frames reindex`. */
export async function rebuildMirror(deps: MirrorDeps): Promise<void> {
  await withMirrorLock(deps.db, () => rebuild(deps))
}

/** Compares ids and revisions with the read model's and repairs what differs. */
export async function reconcileMirror(deps: MirrorDeps): Promise<Reconciliation> {
  return withMirrorLock(deps.db, async () => {
    const { rebuilt } = await sync(deps)
    const found = nothingFound()
    const copied = await readCopiedState(deps.db)
    if (!rebuilt && copied) await repairFrames(deps, found, copied.version)
    await raiseVersionIfWrong(deps.db, found)
    return found
  })
}

/** Frames that were copied before the mirror's version includes them. */
interface EarlyCopy extends ModelState {
  /** Resolves when the engine has the last of them. */
  written: Promise<void>
}

/** The caller holds the mirror's lock. */
async function sync(deps: MirrorDeps, early?: EarlyCopy): Promise<{ rebuilt: boolean }> {
  const { db, sink, signal } = deps
  const live = await readModelState(db)
  const copied = await readCopiedState(db)
  const sameGeneration = copied !== undefined && copied.generation === live.generation
  if (!sameGeneration) await early?.written
  if (!copied || !(await isWhole(deps, copied))) {
    await early?.written
    await rebuild(deps)
    return { rebuilt: true }
  }
  if (!sameGeneration) {
    // The read model was rebuilt and its versions start over, so revisions are compared.
    await repairFrames(deps, nothingFound(), live.version)
  } else if (copied.version !== live.version) {
    const frames = early?.generation === live.generation ? early.version : copied.version
    await copySince(db, { version: copied.version, frames }, sink.apply, signal)
    await early?.written
  } else await repairCounts(deps, live)
  await recordCopied(db, live)
  return { rebuilt: false }
}

/** Whether the indexes have the settings, words and documents that this version gave them. */
async function isWhole(deps: MirrorDeps, copied: CopiedState): Promise<boolean> {
  return copied.words === WORDS_VERSION && (await deps.sink.intact()) && !(await wasEmptied(deps, copied))
}

async function rebuild({ db, sink, signal }: MirrorDeps): Promise<void> {
  // Empty indexes are not searched until they are filled. Indexes that only have old settings still serve.
  if ((await sink.count()) === 0) await recordNotReady(db)
  const live = await readModelState(db)
  const target = await sink.beginRebuild()
  try {
    await copySince(
      db,
      { version: '-1', frames: '-1' },
      (changes) => target.apply({ put: changes.put, remove: {} }),
      signal,
    )
    await target.swap()
  } catch (error) {
    await target.abandon().catch(() => undefined)
    throw error
  }
  // The version was read before the first document, so the next sync copies what has changed since.
  await recordCopied(db, live)
}

/** Compares the frames with the read model's at `version` by id and revision. It repairs them, and skips later ones. */
async function repairFrames({ db, sink, signal }: MirrorDeps, found: Reconciliation, version: string): Promise<void> {
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
async function repairCounts(deps: MirrorDeps, live: ModelState): Promise<void> {
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
async function raiseVersionIfWrong(db: Db, { missing, stale, extra }: Reconciliation): Promise<void> {
  if (missing + stale + extra === 0) return
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    await tx.execute(sql`update read_models set version = version + 1 where engine = 'postgres'`)
  })
}

/** Whether the engine has no frame although some were copied. */
async function wasEmptied({ db, sink }: MirrorDeps, copied: CopiedState): Promise<boolean> {
  if ((await sink.count()) > 0) return false
  const [row] = await rowsOf<{ some: boolean }>(
    db,
    sql`select exists (select 1 from ${DOCUMENTS}
                        where kind = 'frames' and doc is not null and version <= ${copied.version}) as some`,
  )
  return row!.some
}
