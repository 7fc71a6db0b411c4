import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { type Consumer, checkpointOf } from '../../events/consume.ts'
import { isMeiliOutage } from '../../search/meilisearch/request.ts'
import { DOCUMENTS, rowsOf } from '../../search/postgres/tables.ts'
import { SEARCH_EVENTS } from './affected.ts'
import { type EarlyCopy, isWhole, sync } from './mirror.ts'
import { copySince, type MirrorDeps, readCopiedState, readModelState, withMirrorLock } from './mirror-progress.ts'

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
