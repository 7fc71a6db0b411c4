import { createHash } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { EventType, StoredEvent } from '../../events/catalogue.ts'
import type { FrameDocument } from '../../search/library-search.ts'
import { findDamagedFrames, LIVE, lockReadModel, rowsOf } from '../../search/postgres/sink.ts'
import { loadFramesOfVideos, loadPublicVideoIds } from './load.ts'
import {
  type Affected,
  affectedBy,
  allGroups,
  groupPieces,
  nothingAffected,
  type ProjectionDeps,
  piecesOf,
  project,
  projectGroups,
  SAVE_EVENTS,
  SEARCH_EVENTS,
} from './project.ts'
import { refreshSaveCounts, SAVE_COUNTS } from './save-counts.ts'

/** Documents of all four kinds. What only waits for its event is healed on the way and is not counted. */
export interface Reconciliation {
  checked: number
  missing: number
  stale: number
  extra: number
}

const VIDEOS_AT_ONCE = 25
const model = sql.raw(LIVE)

/**
 * Compares the read model with what the rows say now, writes anew what differs and says how many of each. Safe beside the live projection: each page is compared
 * and healed under the writer's lock. Hourly in the workers, and by `frames reconcile`.
 */
export async function reconcileSearch({
  db,
  deepLink,
  signal,
}: ProjectionDeps & { signal?: AbortSignal }): Promise<Reconciliation> {
  // Counts that only wait for their batch are no fault.
  await refreshSaveCounts({ db, deepLink })
  const found: Reconciliation = { checked: 0, missing: 0, stale: 0, extra: 0 }
  /** Videos, brands and techniques told once, however often they were looked at. */
  const told = new Set<string>()

  for (let after = ''; ; ) {
    signal?.throwIfAborted()
    const ids = await loadPublicVideoIds(db, { after, limit: VIDEOS_AT_ONCE })
    if (ids.length === 0) break
    await db.transaction(async (tx) => {
      await lockReadModel(tx)
      const expected = await loadFramesOfVideos(tx, ids, deepLink)
      const { missing, stale } = await compareFrames(tx, expected)
      found.checked += expected.length
      if (missing.length + stale.length === 0) return
      const videoOf = new Map(expected.map((frame) => [frame.id, frame.video_id]))
      const waits = await waiting(tx)
      const isFault = (id: string) => !waits.frames.has(id) && !waits.videos.has(videoOf.get(id)!)
      found.missing += missing.filter(isFault).length
      found.stale += stale.filter(isFault).length
      // Healing a frame also writes what it tells of its video, brand and technique.
      await countGroups(tx, () => heal(tx, deepLink, [...missing, ...stale]))
    })
    after = ids.at(-1)!
  }

  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    const extra = await rowsOf<{ id: string; video_id: string | null }>(
      tx,
      sql`with public_frames as (select f.id from frames f join videos v on v.id = f.video_id where v.first_ready_at is not null)
          select id, doc->>'video_id' as video_id from ${model}.documents d
           where kind = 'frames' and doc is not null and not exists (select 1 from public_frames p where p.id = d.id)
          union
          select id, video_id from ${model}.frames f where not exists (select 1 from public_frames p where p.id = f.id)`,
    )
    if (extra.length === 0) return
    const waits = await waiting(tx)
    const faults = extra.filter(
      ({ id, video_id }) => !waits.frames.has(id) && !(video_id !== null && waits.videos.has(video_id)),
    )
    found.extra += new Set(faults.map(({ id }) => id)).size
    await countGroups(tx, () =>
      heal(
        tx,
        deepLink,
        extra.map(({ id }) => id),
      ),
    )
  })

  const groups = await db.transaction((tx) => allGroups(tx))
  for (const piece of groupPieces(groups)) {
    signal?.throwIfAborted()
    await db.transaction(async (tx) => {
      await lockReadModel(tx)
      await countGroups(tx, async () => {
        await tx.execute(
          sql`update ${model}.documents d set revision = '' where kind <> 'frames' and doc is not null
               and not exists (select 1 from ${model}.entries e where e.kind = d.kind and e.id = d.id)`,
        )
        await projectGroups(tx, piece)
      })
    })
  }
  const [row] = await rowsOf<{ n: number }>(
    db,
    sql`select count(*)::int as n from ${model}.documents where kind <> 'frames' and doc is not null`,
  )
  found.checked += row?.n ?? 0
  return found

  /** What `act` changes of videos, brands and techniques, under the writer's lock, is what was wrong with them: but for what an event on its way tells of. */
  async function countGroups(tx: Tx, act: () => Promise<void>): Promise<void> {
    const before = await heldGroups(tx)
    await act()
    const now = await heldGroups(tx)
    const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
      (key) => before.get(key) !== now.get(key) && !told.has(key),
    )
    if (changed.length === 0) return
    const { ofVideos, any } = await waiting(tx)
    for (const key of changed) {
      told.add(key)
      if (key.startsWith('videos ') ? ofVideos.has(key.slice(7)) : any) continue
      if (!before.has(key)) found.missing++
      else if (!now.has(key)) found.extra++
      else found.stale++
    }
  }
}

/**
 * What the events tell of that the live projection or the batch of save counts has not come to yet. Asked after the rows were read, under the writer's lock: every change seen in them has its
 * event in sight, and the projection cannot move meanwhile.
 */
async function waiting(tx: Tx): Promise<Affected & { ofVideos: Set<unknown>; any: boolean }> {
  const rows = await rowsOf<StoredEvent>(
    tx,
    sql`select type, data from events where ${ahead('search', SEARCH_EVENTS)} or ${ahead(SAVE_COUNTS, SAVE_EVENTS)}`,
  )
  // A frame's change shows in what is told of its video, too.
  return {
    ...(await affectedBy(tx, rows)),
    ofVideos: new Set(rows.map(({ data }) => data.video_id)),
    any: rows.length > 0,
  }
}

function ahead(consumer: string, types: readonly EventType[]): SQL {
  return sql`((xid, seq) > (coalesce((select xid from checkpoints where consumer = ${consumer}), '0'::xid8),
                            coalesce((select seq from checkpoints where consumer = ${consumer}), 0))
              and type = any(${sql.param([...types])}::text[]))`
}

async function compareFrames(
  tx: Tx,
  expected: readonly FrameDocument[],
): Promise<{ missing: string[]; stale: string[] }> {
  const held = await rowsOf<{ id: string; digest: string }>(
    tx,
    sql`select id, md5(doc::text) as digest from ${model}.documents
         where kind = 'frames' and id = any(${sql.param(expected.map(({ id }) => id))}) and doc is not null`,
  )
  const digests = new Map(held.map(({ id, digest }) => [id, digest]))
  const damaged = new Set(await findDamagedFrames(tx, expected))
  const missing: string[] = []
  const stale: string[] = []
  for (const frame of expected) {
    const digest = digests.get(frame.id)
    if (digest === undefined) missing.push(frame.id)
    else if (digest !== createHash('md5').update(JSON.stringify(frame)).digest('hex') || damaged.has(frame.id))
      stale.push(frame.id)
  }
  return { missing, stale }
}

/** A document that is right is not written again, so that its searchable row would stay damaged: its revision goes first. */
async function heal(tx: Tx, deepLink: ProjectionDeps['deepLink'], ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.execute(
    sql`update ${model}.documents set revision = '' where kind = 'frames' and id = any(${sql.param([...ids])})`,
  )
  for (const piece of piecesOf({ ...nothingAffected(), frames: new Set(ids) })) await project(tx, deepLink, piece)
}

/** What is held of videos, brands and techniques; nothing for one that could not be found by its searchable row. */
async function heldGroups(tx: Parameters<typeof rowsOf>[0]): Promise<Map<string, string>> {
  const rows = await rowsOf<{ key: string; digest: string }>(
    tx,
    sql`select d.kind || ' ' || d.id as key, case when e.id is null then '' else md5(d.doc::text) end as digest
          from ${model}.documents d left join ${model}.entries e on e.kind = d.kind and e.id = d.id where d.kind <> 'frames' and d.doc is not null`,
  )
  return new Map(rows.map(({ key, digest }) => [key, digest]))
}
