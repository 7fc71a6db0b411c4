import { type Db, type Tx, withSessionLock } from '../../db/client.ts'
import type { Cursor } from '../../events/catalogue.ts'
import { findEnd, readEvents } from '../../events/read.ts'
import { NEXT } from '../../search/postgres/tables.ts'
import { applyToReadModel, lockReadModel } from '../../search/postgres/write.ts'
import { affectedBy, piecesOf, SAVE_EVENTS, SEARCH_EVENTS } from './affected.ts'
import { abandonGeneration, beginGeneration, dropOldGeneration, indexGeneration, swapGeneration } from './generation.ts'
import { allGroups, countGroups, noGroups, projectVideos } from './groups.ts'
import { loadFramesOfVideos, publicVideoIds } from './load.ts'
import { type ProjectionDeps, project } from './project.ts'

/** What was written so far. */
export interface RebuildProgress {
  videos: number
  frames: number
}

interface RebuildDeps extends ProjectionDeps {
  /** Whose vectors the next generation has. By default that of the live one. */
  space?: string | undefined
  signal?: AbortSignal
  onProgress?: (progress: RebuildProgress) => void
}

/**
 * `frames reindex`: builds the next generation of the read model beside the live one and swaps them in one transaction.
 * Readers and the live projection go on meanwhile.
 * @throws AppError conflict while another rebuild runs.
 */
export async function rebuildSearch(deps: RebuildDeps): Promise<RebuildProgress> {
  const build = async () => {
    try {
      return await rebuild(deps)
    } catch (error) {
      await abandonGeneration(deps.db).catch(() => undefined)
      throw error
    }
  }
  const refusal = 'Another rebuild of the search read model is running. Wait for its end.'
  return withSessionLock(deps.db, 'search-rebuild', build, { refusal })
}

async function rebuild(deps: RebuildDeps): Promise<RebuildProgress> {
  const { db, signal, space } = deps
  await db.transaction((tx) => beginGeneration(tx, space))
  // All events from here on are projected again before the swap.
  const start = await findEnd(db)
  const progress = await writeFrames(deps)
  await indexGeneration(db)
  const groups = await db.transaction((tx) => allGroups(tx, NEXT))
  for await (const ids of publicVideoIds(db, signal)) await db.transaction((tx) => projectVideos(tx, ids, groups, NEXT))
  await db.transaction((tx) => countGroups(tx, groups, NEXT))
  const cursor = await catchUp(deps, db, start)
  await db.transaction(async (tx) => {
    // The live projection waits for this lock. The last catch-up projects all events that it has read.
    // Its next write goes to the new generation.
    await lockReadModel(tx)
    await catchUp(deps, tx, cursor)
    await swapGeneration(tx)
  })
  await dropOldGeneration(db)
  return progress
}

/** Writes the frames of all public videos. One page is written while the next is read. */
async function writeFrames({ db, deepLink, signal, onProgress }: RebuildDeps): Promise<RebuildProgress> {
  const progress = { videos: 0, frames: 0 }
  let writing: Promise<unknown> = Promise.resolve()
  for await (const ids of publicVideoIds(db, signal)) {
    const frames = await loadFramesOfVideos(db, ids, deepLink, NEXT)
    await writing
    writing = db.transaction((tx) => applyToReadModel(tx, { put: { frames }, remove: {} }, NEXT))
    writing.catch(() => undefined)
    progress.videos += ids.length
    progress.frames += frames.length
    onProgress?.({ ...progress })
  }
  await writing
  return progress
}

/** Projects the events after `from` into the next generation; returns the cursor of the last. */
async function catchUp({ deepLink, signal }: RebuildDeps, on: Db | Tx, from: Cursor): Promise<Cursor> {
  for (let cursor = from; ; ) {
    signal?.throwIfAborted()
    const { events, next } = await readEvents(on, {
      after: cursor,
      types: [...SEARCH_EVENTS, ...SAVE_EVENTS],
      limit: 500,
    })
    if (events.length === 0) return cursor
    const groups = noGroups()
    for (const piece of piecesOf(await affectedBy(on, events)))
      await on.transaction((tx) => project(tx, deepLink, piece, groups, NEXT))
    await on.transaction((tx) => countGroups(tx, groups, NEXT))
    cursor = next
  }
}
