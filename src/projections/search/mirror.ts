import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { isConnectionLoss } from '../../db/connection-loss.ts'
import type { Consumer } from '../../events/consume.ts'
import { checkpointOf } from '../../events/consume.ts'
import type { DocumentChanges, DocumentKind, LibraryDocuments } from '../../search/library-search.ts'
import { isMeiliOutage, type MeiliSink } from '../../search/meilisearch/sink.ts'
import { LIVE, lockReadModel, rowsOf } from '../../search/postgres/sink.ts'
import { WORDS_VERSION } from '../../search/text/tokens.ts'
import { SEARCH_EVENTS } from './project.ts'
import type { Reconciliation } from './reconcile.ts'

/**
 * Meilisearch as a mirror of the read model: every document there carries the version that last changed it, so the mirror copies what is newer than what it has.
 * Projecting once, in PostgreSQL's transactions, and copying means that both engines hold the same documents.
 */

const KINDS: readonly DocumentKind[] = ['frames', 'videos', 'brands', 'techniques']
/** Documents read and handed over at once: a task costs about the same for few as for many, and tasks that wait together become one. */
const CHUNK = 10_000
/** Frames that are worth a task of their own while a long batch of events is still being projected. */
const AHEAD = 4_000
const LOCK = 'search-mirror'
const model = sql.raw(LIVE)

interface Deps {
  db: Db
  sink: MeiliSink
  signal?: AbortSignal
}

interface State {
  version: string
  generation: string
}

/**
 * Brings Meilisearch up to the read model: what has changed since the last time, or everything anew beside the live indexes and then swapped when an index is
 * missing, emptied, or of older settings or words. Resolves when its tasks have succeeded.
 */
export async function syncMirror(deps: Deps): Promise<{ rebuilt: boolean }> {
  return alone(deps.db, () => sync(deps))
}

/** Everything anew, for `frames reindex`. */
export async function rebuildMirror(deps: Deps): Promise<void> {
  await alone(deps.db, () => rebuild(deps))
}

/** Compares ids and revisions of Meilisearch with the read model's and heals what differs. */
export async function reconcileMirror(deps: Deps): Promise<Reconciliation> {
  return alone(deps.db, async () => {
    const { rebuilt } = await sync(deps)
    const found: Reconciliation = { checked: 0, missing: 0, stale: 0, extra: 0 }
    const held = await heldState(deps.db)
    if (!rebuilt && held) for (const kind of KINDS) await reconcileKind(deps, kind, found, held.version)
    await renewIfWrong(deps.db, found)
    return found
  })
}

/**
 * Goes by the log like every consumer: it waits until the read model has seen the events, copying what is there already meanwhile, and lets the checkpoint move once
 * the tasks succeeded.
 */
export function meiliProjection(deps: Deps): Consumer {
  return {
    name: 'search-meilisearch',
    types: SEARCH_EVENTS,
    async handle(events, signal) {
      const last = events.at(-1)!.cursor
      const seen = async () => {
        const { xid, seq } = await checkpointOf(deps.db, 'search')
        const [a, b] = [BigInt(xid), BigInt(last.xid)]
        return a > b || (a === b && seq >= last.seq)
      }
      const isLong = await untilSeen(seen, () => isFarBehind(deps.db, undefined), signal)
      await alone(deps.db, async () => {
        const ahead = isLong ? await copyAhead({ ...deps, signal }, seen) : undefined
        await sync({ ...deps, signal }, ahead)
      })
      return undefined
    },
    isOutage: (error) => error instanceof ReadModelBehind || isMeiliOutage(error),
  }
}

/** Waits for `seen`; true when `enough` was true before it. @throws ReadModelBehind after five seconds of neither. */
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

interface Held extends State {
  words: number
}

/** Frames that are there before the mirror's version says so. */
interface Ahead extends State {
  /** When the last of them are. */
  written: Promise<void>
}

async function isFarBehind(db: Db, ahead: Ahead | undefined): Promise<boolean> {
  const [row] = await rowsOf<{ n: number }>(
    db,
    sql`select count(*)::int as n from (
          select 1 from ${model}.documents
           where kind = 'frames' and version > (select greatest(version, ${ahead?.version ?? -1}) from read_models where engine = 'meilisearch')
           limit ${AHEAD}) newer`,
  )
  return row!.n >= AHEAD
}

/**
 * A batch of many videos comes piece by piece: its frames are copied as they come, and the next are handed over while the engine is at work on those before. The
 * videos, brands and techniques that every piece changes come once, with the sync at the end.
 */
async function copyAhead(
  { db, sink, signal }: Deps & { signal: AbortSignal },
  seen: () => Promise<boolean>,
): Promise<Ahead | undefined> {
  const held = await heldState(db)
  let ahead: Ahead | undefined
  do {
    const live = await liveState(db)
    if (held?.generation !== live.generation || (!ahead && !(await isWhole({ db, sink }, held)))) break
    await ahead?.written
    const range = { version: live.version, frames: ahead?.version ?? held.version, until: live.version }
    const written = copySince(db, range, sink.apply, signal)
    written.catch(() => undefined)
    ahead = { ...live, written }
  } while (await untilSeen(seen, () => isFarBehind(db, ahead), signal))
  return ahead
}

class ReadModelBehind extends Error {
  constructor() {
    super('the read model has not seen these events yet')
  }
}

async function sync({ db, sink, signal }: Deps, ahead?: Ahead): Promise<{ rebuilt: boolean }> {
  const live = await liveState(db)
  const held = await heldState(db)
  const follows = held !== undefined && held.generation === live.generation
  if (!follows) await ahead?.written
  if (!held || !(await isWhole({ db, sink }, held))) {
    await ahead?.written
    await rebuild({ db, sink, ...(signal ? { signal } : {}) })
    return { rebuilt: true }
  }
  if (!follows) {
    // The read model was built anew: versions begin again, revisions tell.
    for (const kind of KINDS)
      await reconcileKind(
        { db, sink, ...(signal ? { signal } : {}) },
        kind,
        { checked: 0, missing: 0, stale: 0, extra: 0 },
        live.version,
      )
  } else if (held.version !== live.version) {
    const frames = ahead?.generation === live.generation ? ahead.version : held.version
    await copySince(db, { version: held.version, frames }, sink.apply, signal)
    await ahead?.written
  } else await healPart({ db, sink, ...(signal ? { signal } : {}) }, live)
  await remember(db, live)
  return { rebuilt: false }
}

/** Set up and filled as this version does it. */
async function isWhole(deps: Deps, held: Held): Promise<boolean> {
  return held.words === WORDS_VERSION && (await deps.sink.intact()) && !(await emptied(deps, held))
}

/** Nothing there of a kind although some was copied: somebody emptied it. */
async function emptied({ db, sink }: Deps, held: State): Promise<boolean> {
  for (const kind of KINDS) {
    if ((await sink.count(kind)) > 0) continue
    const [row] = await rowsOf<{ some: boolean }>(
      db,
      sql`select exists (select 1 from ${model}.documents where kind = ${kind} and doc is not null and version <= ${held.version}) as some`,
    )
    if (row?.some) return true
  }
  return false
}

/** Another number of documents than the read model's, while nothing waits to be copied: somebody took some away, or put some in. */
async function healPart(deps: Deps, live: State): Promise<void> {
  const { db, sink } = deps
  const found: Reconciliation = { checked: 0, missing: 0, stale: 0, extra: 0 }
  const rows = await rowsOf<{ kind: DocumentKind; n: number; version: string }>(
    db,
    sql`select kind, n, version from read_models, (
          select 'frames' as kind, count(*)::int as n from ${model}.frames
          union all select kind, count(*)::int from ${model}.entries group by kind) held where engine = 'postgres'`,
  )
  const { version } = rows[0]!
  if (version !== live.version) return
  for (const kind of KINDS) {
    if ((await sink.count(kind)) === (rows.find((row) => row.kind === kind)?.n ?? 0)) continue
    await db.execute(sql`update read_models set ready = false where engine = 'meilisearch'`)
    await reconcileKind(deps, kind, found, version)
  }
  await renewIfWrong(db, found)
}

/** What was answered from wrong documents is kept under the version of right ones, so that has to be another. */
async function renewIfWrong(db: Db, { missing, stale, extra }: Reconciliation): Promise<void> {
  if (missing + stale + extra === 0) return
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    await tx.execute(sql`update read_models set version = version + 1 where engine = 'postgres'`)
  })
}

async function rebuild({ db, sink, signal }: Deps): Promise<void> {
  // Readers go to the read model until the mirror can be trusted; one that only has older settings still serves.
  if (!(await sink.count('frames').then((n) => n > 0)))
    await db.execute(sql`update read_models set ready = false where engine = 'meilisearch'`)
  const live = await liveState(db)
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
  // What changed meanwhile comes with the next sync: it begins at the version read before the first document.
  await remember(db, live)
}

const MAX_VERSION = String(2n ** 63n - 1n)

/** Documents changed after a version (frames: after one of their own), oldest change first, tombstones as removals. */
async function copySince(
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
    const rows = await rowsOf<{
      kind: DocumentKind
      id: string
      version: string
      doc: LibraryDocuments[DocumentKind] | null
    }>(
      db,
      sql`select kind, id, version, doc from ${model}.documents
           where version >= ${after.version} and (version, kind, id) > (${after.version}::bigint, ${after.kind}, ${after.id})
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

function toChanges(
  rows: readonly { kind: DocumentKind; id: string; doc: LibraryDocuments[DocumentKind] | null }[],
): DocumentChanges {
  const put: Record<string, unknown[]> = {}
  const remove: Record<string, string[]> = {}
  for (const { kind, id, doc } of rows) {
    if (doc === null) remove[kind] = [...(remove[kind] ?? []), id]
    else {
      const list = put[kind] ?? []
      put[kind] = list
      list.push(doc)
    }
  }
  return { put: put as DocumentChanges['put'], remove: remove as DocumentChanges['remove'] }
}

/** Compares what the mirror should hold at `version`; what has changed since comes with the next sync and is left alone. */
async function reconcileKind(
  { db, sink, signal }: Deps,
  kind: DocumentKind,
  found: Reconciliation,
  version: string,
): Promise<void> {
  const wanted = new Map<string, string>()
  const later = new Set<string>()
  for (let after = ''; ; ) {
    const rows = await rowsOf<{ id: string; revision: string; later: boolean }>(
      db,
      sql`select id, revision, version > ${version} as later from ${model}.documents
           where kind = ${kind} and id > ${after} and (doc is not null or version > ${version}) order by id limit 20000`,
    )
    if (rows.length === 0) break
    for (const row of rows) {
      if (row.later) later.add(row.id)
      else wanted.set(row.id, row.revision)
    }
    after = rows.at(-1)!.id
  }
  found.checked += wanted.size
  const extra: string[] = []
  const put: string[] = []
  for await (const batch of sink.revisions(kind)) {
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
  if (extra.length > 0) await sink.apply({ put: {}, remove: { [kind]: extra } })
  for (let from = 0; from < put.length; from += CHUNK) {
    signal?.throwIfAborted()
    const rows = await rowsOf<{ kind: DocumentKind; id: string; doc: LibraryDocuments[DocumentKind] | null }>(
      db,
      sql`select kind, id, doc from ${model}.documents where kind = ${kind} and id = any(${sql.param(put.slice(from, from + CHUNK))})`,
    )
    await sink.apply(toChanges(rows))
  }
}

async function liveState(db: Db): Promise<State> {
  const [row] = await rowsOf<State>(db, sql`select version, generation from read_models where engine = 'postgres'`)
  return row!
}

async function heldState(db: Db): Promise<Held | undefined> {
  const [row] = await rowsOf<Held>(
    db,
    sql`select version, generation, words from read_models where engine = 'meilisearch'`,
  )
  return row
}

async function remember(db: Db, { version, generation }: State): Promise<void> {
  await db.execute(sql`
    insert into read_models (engine, generation, version, applied_at, ready, words)
    values ('meilisearch', ${generation}::uuid, ${version}, now(), true, ${WORDS_VERSION})
    on conflict (engine) do update set generation = excluded.generation, version = excluded.version, applied_at = now(), ready = true,
      words = excluded.words`)
}

/** One writer of Meilisearch at a time, over all processes. The lock is the session's: no transaction stays open while tasks run. */
async function alone<T>(db: Db, act: () => Promise<T>): Promise<T> {
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
