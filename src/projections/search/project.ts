import type { Db, Tx } from '../../db/client.ts'
import { beginCheckpoint, type Commit, type Consumer, checkpointOf, moveCheckpoint } from '../../events/consume.ts'
import type { READS_ONLY } from '../../events/lag.ts'
import { readEvents } from '../../events/read.ts'
import { LIVE, rowsOf } from '../../search/postgres/tables.ts'
import { applyToReadModel, lockReadModel } from '../../search/postgres/write.ts'
import { sql } from '../../sql/orm.ts'
import { type Affected, affectedBy, piecesOf, SAVE_EVENTS, SEARCH_EVENTS } from './affected.ts'
import type { DeepLink } from './document.ts'
import { countGroups, type Groups, markGroups, noGroups, projectVideos } from './groups.ts'
import { loadFramesByIds, loadFramesOfVideos } from './load.ts'

export interface ProjectionDeps {
  db: Db
  deepLink: DeepLink
}

/**
 * The search projection. An event is only a signal: the documents are made from what the rows say now.
 * The last piece commits with the checkpoint. Earlier pieces commit before it, which a repeat tolerates.
 */
export function searchProjection({ db, deepLink }: ProjectionDeps): Consumer {
  return {
    name: 'search',
    types: SEARCH_EVENTS,
    batchSize: 500,
    async handle(events, signal): Promise<Commit> {
      const pieces = [...piecesOf(await affectedBy(db, events))]
      const last = pieces.pop()!
      const groups = noGroups()
      for (const piece of pieces) {
        signal.throwIfAborted()
        await db.transaction((tx) => projectLocked(tx, deepLink, piece, groups))
      }
      return async (tx) => {
        await projectLocked(tx, deepLink, last, groups)
        await countGroups(tx, groups)
      }
    },
  }
}

async function projectLocked(tx: Tx, deepLink: DeepLink, affected: Affected, groups: Groups): Promise<void> {
  await lockReadModel(tx)
  await project(tx, deepLink, affected, groups)
}

/**
 * Updates the frames and videos of everything affected, by default in the live read model, whose lock the caller
 * holds. Adds to `groups` the brands and techniques to count at the end.
 */
export async function project(
  tx: Tx,
  deepLink: DeepLink,
  affected: Affected,
  groups: Groups,
  schema: string = LIVE,
): Promise<void> {
  const model = sql.raw(schema)
  const videoIds = [...affected.videos]
  const frameIds = [...affected.frames]
  const put = [
    ...(await loadFramesOfVideos(tx, videoIds, deepLink, schema)),
    ...(await loadFramesByIds(tx, frameIds, deepLink, schema)),
  ]
  const current = new Map(put.map((frame) => [frame.id, frame]))
  const held = await rowsOf<{ id: string; video_id: string; author: string | null; technique: string | null }>(
    tx,
    sql`select id, video_id, author, technique from ${model}.frames
         where video_id = any(${sql.param(videoIds)}) or id = any(${sql.param(frameIds)})`,
  )
  const videos = [...new Set([...videoIds, ...[...held, ...put].map(({ video_id }) => video_id)])]
  const heldVideos = await rowsOf<{ id: string; author: string }>(
    tx,
    sql`select id, author from ${model}.entries
         where kind = 'videos' and id = any(${sql.param(videos)}) and author is not null`,
  )
  const gone = new Set([...held.map(({ id }) => id), ...frameIds].filter((id) => !current.has(id)))
  await applyToReadModel(tx, { put: { frames: put }, remove: { frames: [...gone] } }, schema)
  const authorOf = new Map((await projectVideos(tx, videos, groups, schema)).map(({ id, author }) => [id, author]))

  const left = noGroups()
  for (const { id, author } of heldVideos) if (authorOf.get(id) !== author) left.authors.add(author)
  for (const { id, author, technique } of held) {
    const now = current.get(id)
    if (author !== null && now?.author !== author) left.authors.add(author)
    if (technique !== null && now?.technique !== technique) left.techniques.add(technique)
  }
  await markGroups(tx, left, schema)
  for (const { author, technique } of put) {
    if (author !== null) groups.authors.add(author)
    if (technique !== null) groups.techniques.add(technique)
  }
  for (const slug of affected.techniques) groups.techniques.add(slug)
}

export const SAVE_COUNTS = 'search-save-counts' satisfies keyof typeof READS_ONLY

/**
 * Projects the counts and strengths of frames saved or unsaved since the last run; returns the number of events.
 * Run it at most every five minutes: the version stays until then, and a busy library still answers 304.
 * Two runs at once repeat the same work and do no harm. A replay that comes meanwhile is carried out too.
 */
export async function refreshSaveCounts({ db, deepLink }: ProjectionDeps): Promise<number> {
  await beginCheckpoint(db, SAVE_COUNTS)
  let count = 0
  for (;;) {
    const after = await checkpointOf(db, SAVE_COUNTS)
    const { events, next } = await readEvents(db, { after, types: SAVE_EVENTS, limit: 5_000 })
    if (events.length === 0) return count
    const groups = noGroups()
    for (const piece of piecesOf(await affectedBy(db, events)))
      await db.transaction((tx) => projectLocked(tx, deepLink, piece, groups))
    await db.transaction(async (tx) => {
      await lockReadModel(tx)
      await countGroups(tx, groups)
    })
    // Where it was moved meanwhile, the next turn reads from there.
    await moveCheckpoint(db, SAVE_COUNTS, { after, next })
    count += events.length
  }
}
