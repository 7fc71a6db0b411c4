import { createHash } from 'node:crypto'
import type { Db } from '../../db/client.ts'
import type { Cursor } from '../../events/catalogue.ts'
import { findEnd } from '../../events/read.ts'
import { DOCUMENTS, ENTRIES, FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { findDamagedFrames, lockReadModel } from '../../search/postgres/write.ts'
import { sql } from '../../sql/orm.ts'
import { nothingAffected, piecesOf, SEARCH_EVENTS } from './affected.ts'
import { allGroups, countGroups, loadVideoDocuments } from './groups.ts'
import { loadFramesOfVideos } from './load.ts'
import { type ProjectionDeps, project, refreshSaveCounts } from './project.ts'

/** The videos are compared in so many slices, one an hour. */
const SLICES = 24
const VIDEOS_AT_ONCE = 25

/** What differed at one look. It may only wait for its event. */
export interface Differences {
  checked: number
  videos: ReadonlySet<string>
  /** Of no video that is public. */
  extra: readonly string[]
  /** Events up to here may explain it. */
  end: Cursor
}

/** Compares the videos of a slice, or all, with the rows. It holds no lock and changes nothing. */
export async function findDifferences(
  { db, deepLink, signal }: ProjectionDeps & { signal?: AbortSignal },
  slice?: number,
): Promise<Differences> {
  const ids = await videoIdsOf(db, slice)
  const videos = await differing({ db, deepLink }, ids, signal)
  const extra = await rowsOf<{ id: string }>(
    db,
    sql`with public_frames as (
          select f.id from frames f join videos v on v.id = f.video_id where v.first_ready_at is not null)
        select id from ${DOCUMENTS} d
         where kind = 'frames' and doc is not null and not exists (select 1 from public_frames p where p.id = d.id)
        union select id from ${FRAMES} f where not exists (select 1 from public_frames p where p.id = f.id)`,
  )
  return { checked: ids.length, videos, extra: extra.map(({ id }) => id), end: await findEnd(db) }
}

/**
 * Projects again what differs still, now that the projection has read past the first look, and counts all brands and
 * techniques. Undefined: it has not.
 */
export async function repairDifferences(
  { db, deepLink }: ProjectionDeps,
  found: Differences,
): Promise<{ checked: number; repaired: number } | undefined> {
  if (await isPending(db, found.end)) return undefined
  await refreshSaveCounts({ db, deepLink })
  const videos = await differing({ db, deepLink }, [...found.videos])
  const groups = await db.transaction((tx) => allGroups(tx))
  for (const piece of piecesOf({ ...nothingAffected(), videos, frames: new Set(found.extra) }))
    await db.transaction(async (tx) => {
      await lockReadModel(tx)
      // A document that is right is not written again, and its damaged row would stay.
      const ids = sql.param([...piece.videos])
      await tx.execute(sql`
        update ${DOCUMENTS} set revision = '' where doc is not null
           and (kind = 'videos' and id = any(${ids})
                or kind = 'frames' and id in (select id from frames where video_id = any(${ids})))`)
      await project(tx, deepLink, piece, groups)
    })
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    await tx.execute(sql`
      update ${DOCUMENTS} d set revision = '' where kind in ('brands', 'techniques') and doc is not null
         and not exists (select from ${ENTRIES} e where e.kind = d.kind and e.id = d.id)`)
    await countGroups(tx, groups)
  })
  return { checked: found.checked, repaired: videos.size + found.extra.length }
}

/** Public videos, and those of the read model. */
async function videoIdsOf(db: Db, slice: number | undefined): Promise<string[]> {
  const isOfSlice = slice === undefined ? sql`true` : sql`(hashtext(id) & 1073741823) % ${SLICES} = ${slice % SLICES}`
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`select id from (
          select id from videos where first_ready_at is not null
          union select id from ${DOCUMENTS} where kind = 'videos' and doc is not null
          union select distinct video_id from ${FRAMES}) known where ${isOfSlice} order by id`,
  )
  return rows.map(({ id }) => id)
}

/** The videos of which a document, or the searchable row of one, is missing, differs from the rows, or is too many. */
async function differing(deps: ProjectionDeps, ids: readonly string[], signal?: AbortSignal): Promise<Set<string>> {
  const found = new Set<string>()
  for (let from = 0; from < ids.length; from += VIDEOS_AT_ONCE) {
    signal?.throwIfAborted()
    for (const id of await differingOf(deps, ids.slice(from, from + VIDEOS_AT_ONCE))) found.add(id)
  }
  return found
}

async function differingOf({ db, deepLink }: ProjectionDeps, ids: readonly string[]): Promise<Set<string>> {
  const frames = await loadFramesOfVideos(db, ids, deepLink)
  const videos = await loadVideoDocuments(db, ids)
  const wanted = new Map<string, { video: string; digest: string }>()
  for (const frame of frames) wanted.set(`frames ${frame.id}`, { video: frame.video_id, digest: digestOf(frame) })
  for (const video of videos) wanted.set(`videos ${video.id}`, { video: video.id, digest: digestOf(video) })
  const held = await rowsOf<{ key: string; video: string | null; digest: string }>(
    db,
    sql`select 'frames ' || d.id as key, coalesce(f.video_id, d.doc->>'video_id') as video,
               case when f.id is null then '' else md5(d.doc::text) end as digest
          from ${DOCUMENTS} d left join ${FRAMES} f on f.id = d.id
         where d.kind = 'frames' and d.doc is not null
           and (f.video_id = any(${sql.param([...ids])}) or d.id = any(${sql.param(frames.map(({ id }) => id))}))
        union all
        select 'videos ' || d.id, d.id, case when e.id is null then '' else md5(d.doc::text) end
          from ${DOCUMENTS} d left join ${ENTRIES} e on e.kind = 'videos' and e.id = d.id
         where d.kind = 'videos' and d.doc is not null and d.id = any(${sql.param([...ids])})`,
  )
  const found = new Set<string>()
  for (const { key, video, digest } of held) {
    const right = wanted.get(key)
    if (right?.digest !== digest) found.add(right?.video ?? video!)
    wanted.delete(key)
  }
  for (const { video } of wanted.values()) found.add(video)
  const videoOf = new Map(frames.map((frame) => [frame.id, frame.video_id]))
  for (const id of await findDamagedFrames(db, frames)) found.add(videoOf.get(id)!)
  return found
}

const digestOf = (document: object) => createHash('md5').update(JSON.stringify(document)).digest('hex')

/** Whether the projection still has to read an event from before the cursor. */
async function isPending(db: Db, end: Cursor): Promise<boolean> {
  const [row] = await rowsOf<{ pending: boolean }>(
    db,
    sql`select exists (
          select from events e left join checkpoints c on c.consumer = 'search'
           where (e.xid, e.seq) > (coalesce(c.xid, '0'::xid8), coalesce(c.seq, 0))
             and (e.xid, e.seq) <= (${end.xid}::xid8, ${end.seq}::bigint)
             and e.type = any(${sql.param([...SEARCH_EVENTS])}::text[])) as pending`,
  )
  return row!.pending
}
