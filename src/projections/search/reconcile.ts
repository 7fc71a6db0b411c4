import { createHash } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { EventType, StoredEvent } from '../../events/catalogue.ts'
import type { FrameDocument } from '../../search/library-search.ts'
import { DOCUMENTS, ENTRIES, FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { findDamagedFrames, lockReadModel } from '../../search/postgres/write.ts'
import {
  type Affected,
  affectedBy,
  nothingAffected,
  nothingFound,
  piecesOf,
  type Reconciliation,
  SAVE_EVENTS,
  SEARCH_EVENTS,
} from './affected.ts'
import { allGroups, groupPieces, projectGroups } from './groups.ts'
import { loadFramesOfVideos, publicVideoIds } from './load.ts'
import { type ProjectionDeps, project, refreshSaveCounts, SAVE_COUNTS } from './project.ts'

interface Comparison extends ProjectionDeps {
  found: Reconciliation
  /** Groups counted already: repairs of several frames can change the same group. */
  counted: Set<string>
}

/**
 * Compares the read model with the rows, rewrites what differs, and counts it.
 * Safe beside the live projection: each page is compared and repaired under the writer's lock.
 * Runs hourly in the workers, and by `frames reconcile`.
 */
export async function reconcileSearch({
  db,
  deepLink,
  signal,
}: ProjectionDeps & { signal?: AbortSignal }): Promise<Reconciliation> {
  // Save counts that only wait for their batch are not a difference.
  await refreshSaveCounts({ db, deepLink })
  const comparison: Comparison = { db, deepLink, found: nothingFound(), counted: new Set() }
  const { found } = comparison

  for await (const ids of publicVideoIds(db, signal)) await db.transaction((tx) => repairFrames(tx, comparison, ids))
  await db.transaction((tx) => removeExtraFrames(tx, comparison))

  const groups = await db.transaction((tx) => allGroups(tx))
  for (const piece of groupPieces(groups)) {
    signal?.throwIfAborted()
    await db.transaction(async (tx) => {
      await lockReadModel(tx)
      await countGroups(tx, comparison, async () => {
        await tx.execute(
          sql`update ${DOCUMENTS} d set revision = '' where kind <> 'frames' and doc is not null
               and not exists (select 1 from ${ENTRIES} e where e.kind = d.kind and e.id = d.id)`,
        )
        await projectGroups(tx, piece)
      })
    })
  }
  const [row] = await rowsOf<{ n: number }>(
    db,
    sql`select count(*)::int as n from ${DOCUMENTS} where kind <> 'frames' and doc is not null`,
  )
  found.checked += row?.n ?? 0
  return found
}

async function repairFrames(tx: Tx, comparison: Comparison, videoIds: readonly string[]): Promise<void> {
  const { deepLink, found } = comparison
  await lockReadModel(tx)
  const expected = await loadFramesOfVideos(tx, videoIds, deepLink)
  const { missing, stale } = await compareFrames(tx, expected)
  found.checked += expected.length
  if (missing.length + stale.length === 0) return
  const videoOf = new Map(expected.map((frame) => [frame.id, frame.video_id]))
  const pending = await loadPending(tx)
  const isFault = (id: string) => !pending.frames.has(id) && !pending.videos.has(videoOf.get(id)!)
  found.missing += missing.filter(isFault).length
  found.stale += stale.filter(isFault).length
  // Repairing a frame also rewrites its video, brand and technique.
  await countGroups(tx, comparison, () => rewriteFrames(tx, deepLink, [...missing, ...stale]))
}

/** Removes documents and searchable rows of frames that are not public, or no longer exist. */
async function removeExtraFrames(tx: Tx, comparison: Comparison): Promise<void> {
  await lockReadModel(tx)
  const extra = await rowsOf<{ id: string; video_id: string | null }>(
    tx,
    sql`with public_frames as (
          select f.id from frames f join videos v on v.id = f.video_id where v.first_ready_at is not null)
        select id, doc->>'video_id' as video_id from ${DOCUMENTS} d
         where kind = 'frames' and doc is not null and not exists (select 1 from public_frames p where p.id = d.id)
        union
        select id, video_id from ${FRAMES} f where not exists (select 1 from public_frames p where p.id = f.id)`,
  )
  if (extra.length === 0) return
  const pending = await loadPending(tx)
  const faults = extra.filter(
    ({ id, video_id }) => !pending.frames.has(id) && !(video_id !== null && pending.videos.has(video_id)),
  )
  comparison.found.extra += new Set(faults.map(({ id }) => id)).size
  const ids = extra.map(({ id }) => id)
  await countGroups(tx, comparison, () => rewriteFrames(tx, comparison.deepLink, ids))
}

/**
 * Counts the videos, brands and techniques that `act` changes, under the writer's lock: they were wrong.
 * Those that only wait for an event are not counted.
 */
async function countGroups(tx: Tx, { found, counted }: Comparison, act: () => Promise<void>): Promise<void> {
  const before = await groupDigests(tx)
  await act()
  const now = await groupDigests(tx)
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
    (key) => before.get(key) !== now.get(key) && !counted.has(key),
  )
  if (changed.length === 0) return
  const { ofVideos, any } = await loadPending(tx)
  for (const key of changed) {
    counted.add(key)
    if (key.startsWith('videos ') ? ofVideos.has(key.slice(7)) : any) continue
    if (!before.has(key)) found.missing++
    else if (!now.has(key)) found.extra++
    else found.stale++
  }
}

async function compareFrames(
  tx: Tx,
  expected: readonly FrameDocument[],
): Promise<{ missing: string[]; stale: string[] }> {
  const held = await rowsOf<{ id: string; digest: string }>(
    tx,
    sql`select id, md5(doc::text) as digest from ${DOCUMENTS}
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

/** Clears the revisions first: a document that is right is not written again, and its damaged row would stay. */
async function rewriteFrames(tx: Tx, deepLink: ProjectionDeps['deepLink'], ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.execute(
    sql`update ${DOCUMENTS} set revision = '' where kind = 'frames' and id = any(${sql.param([...ids])})`,
  )
  for (const piece of piecesOf({ ...nothingAffected(), frames: new Set(ids) }))
    await project(tx, deepLink, piece, { recount: true })
}

/** Digests of the videos, brands and techniques; an empty one without a searchable row. */
async function groupDigests(tx: Tx): Promise<Map<string, string>> {
  const rows = await rowsOf<{ key: string; digest: string }>(
    tx,
    sql`select d.kind || ' ' || d.id as key, case when e.id is null then '' else md5(d.doc::text) end as digest
          from ${DOCUMENTS} d left join ${ENTRIES} e on e.kind = d.kind and e.id = d.id
         where d.kind <> 'frames' and d.doc is not null`,
  )
  return new Map(rows.map(({ key, digest }) => [key, digest]))
}

/** Documents that wait for an event that is not projected yet. */
interface Pending extends Affected {
  /** Videos with any such event: a change of a frame shows in its video, too. */
  ofVideos: Set<unknown>
  any: boolean
}

/**
 * Call it under the writer's lock, after reading the rows that are compared.
 * Every change seen in them then has a visible event, and the projection cannot move.
 */
async function loadPending(tx: Tx): Promise<Pending> {
  const rows = await rowsOf<StoredEvent>(
    tx,
    sql`select type, data from events
         where ${isPending('search', SEARCH_EVENTS)} or ${isPending(SAVE_COUNTS, SAVE_EVENTS)}`,
  )
  return {
    ...(await affectedBy(tx, rows)),
    ofVideos: new Set(rows.map(({ data }) => data.video_id)),
    any: rows.length > 0,
  }
}

function isPending(consumer: string, types: readonly EventType[]): SQL {
  return sql`((xid, seq) > (coalesce((select xid from checkpoints where consumer = ${consumer}), '0'::xid8),
                            coalesce((select seq from checkpoints where consumer = ${consumer}), 0))
              and type = any(${sql.param([...types])}::text[]))`
}
