import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import type { Commit, Consumer } from '../../events/consume.ts'
import type { FrameDocument } from '../../search/library-search.ts'
import { LIVE, rowsOf } from '../../search/postgres/tables.ts'
import { applyToReadModel, lockReadModel } from '../../search/postgres/write.ts'
import { type Affected, affectedBy, piecesOf, SEARCH_EVENTS } from './affected.ts'
import type { DeepLink } from './document.ts'
import { type Groups, type Growth, projectGroups } from './groups.ts'
import { loadFramesByIds, loadFramesOfVideos } from './load.ts'

export interface ProjectionDeps {
  db: Db
  deepLink: DeepLink
}

/**
 * The search projection. An event is only a signal: the documents are made from what the rows say now.
 * The last piece commits with the checkpoint. Earlier pieces commit before it, which a repeat tolerates.
 * The next piece is loaded while one is written.
 */
export function searchProjection({ db, deepLink }: ProjectionDeps): Consumer {
  return {
    name: 'search',
    types: SEARCH_EVENTS,
    batchSize: 500,
    async handle(events, signal): Promise<Commit> {
      const pieces = [...piecesOf(await affectedBy(db, events))]
      let ahead: LoadedAhead | undefined

      async function step(tx: Tx, n: number): Promise<LoadedAhead | undefined> {
        await lockReadModel(tx)
        const known = ahead && ahead.state === (await stateOf(tx)) ? await ahead.frames : undefined
        const frames = known ?? (await loadFrames(tx, deepLink, pieces[n]!))
        const next = pieces[n + 1]
        let loading: Promise<FrameDocument[] | undefined> | undefined
        await projectLoaded(tx, pieces[n]!, frames, {
          meanwhile() {
            // Starts under the lock, so no earlier writer has read newer rows. A failed load is repeated in its turn.
            loading = next && loadFrames(db, deepLink, next).catch(() => undefined)
          },
        })
        return loading && { state: (await stateOf(tx)) ?? '', frames: loading }
      }

      for (let n = 0; n < pieces.length - 1; n++) {
        signal.throwIfAborted()
        ahead = await db.transaction((tx) => step(tx, n))
      }
      return async (tx) => void (await step(tx, pieces.length - 1))
    },
  }
}

/**
 * Frames of the next piece. Any other write to the read model makes them stale: its writer may have read newer rows.
 */
interface LoadedAhead {
  state: string
  frames: Promise<FrameDocument[] | undefined>
}

async function stateOf(tx: Tx): Promise<string | undefined> {
  const [row] = await rowsOf<{ state: string }>(
    tx,
    sql`select generation::text || ' ' || version as state from read_models where engine = 'postgres'`,
  )
  return row?.state
}

export async function projectLocked(tx: Tx, deepLink: DeepLink, affected: Affected): Promise<void> {
  await lockReadModel(tx)
  await project(tx, deepLink, affected)
}

/**
 * Updates the documents of everything affected, by default in the live read model, whose lock the caller holds.
 * `recount`: the frames of brands and techniques are counted anew, because rows or documents may be damaged.
 */
export async function project(
  tx: Tx,
  deepLink: DeepLink,
  affected: Affected,
  options: { schema?: string; recount?: boolean } = {},
): Promise<void> {
  await projectLoaded(tx, affected, await loadFrames(tx, deepLink, affected), options)
}

async function loadFrames(db: Db | Tx, deepLink: DeepLink, { videos, frames }: Affected): Promise<FrameDocument[]> {
  return [
    ...(await loadFramesOfVideos(db, [...videos], deepLink)),
    ...(await loadFramesByIds(db, [...frames], deepLink)),
  ]
}

/** `put`: the affected frames as they are now. `meanwhile` is called when writing them has begun. */
async function projectLoaded(
  tx: Tx,
  affected: Affected,
  put: readonly FrameDocument[],
  { schema = LIVE, recount = false, meanwhile }: { schema?: string; recount?: boolean; meanwhile?: () => void } = {},
): Promise<void> {
  const model = sql.raw(schema)
  const videoIds = [...affected.videos]
  const frameIds = [...affected.frames]
  const current = new Set(put.map(({ id }) => id))
  const held = await rowsOf<{ id: string; video_id: string; author: string | null; technique: string | null }>(
    tx,
    sql`select id, video_id, author, technique from ${model}.frames
         where video_id = any(${sql.param(videoIds)}) or id = any(${sql.param(frameIds)})`,
  )
  const heldVideos = await rowsOf<{ author: string }>(
    tx,
    sql`select author from ${model}.entries
         where kind = 'videos' and id = any(${sql.param(videoIds)}) and author is not null`,
  )
  const gone = new Set([...held.map(({ id }) => id), ...frameIds].filter((id) => !current.has(id)))
  const writing = applyToReadModel(tx, { put: { frames: [...put] }, remove: { frames: [...gone] } }, schema)
  meanwhile?.()
  await writing

  const groups: Groups = { videos: new Set(videoIds), authors: new Set(), techniques: new Set(affected.techniques) }
  for (const { video_id, author, technique } of [...held, ...put]) {
    groups.videos.add(video_id)
    if (author !== null) groups.authors.add(author)
    if (technique !== null) groups.techniques.add(technique)
  }
  for (const { author } of heldVideos) groups.authors.add(author)
  if (!recount) groups.growth = growthBetween(held, put)
  await projectGroups(tx, groups, schema)
}

type Membership = Pick<FrameDocument, 'id' | 'author' | 'technique'>

/** How the frames of each author and technique change in number when `now` takes the place of `before`. */
function growthBetween(before: readonly Membership[], now: readonly Membership[]): Growth {
  const growth: Growth = { authors: new Map(), techniques: new Map() }
  const add = (frames: readonly Membership[], by: 1 | -1) => {
    for (const { author, technique } of new Map(frames.map((frame) => [frame.id, frame])).values()) {
      if (author !== null) growth.authors.set(author, (growth.authors.get(author) ?? 0) + by)
      if (technique !== null) growth.techniques.set(technique, (growth.techniques.get(technique) ?? 0) + by)
    }
  }
  add(before, -1)
  add(now, 1)
  return growth
}
