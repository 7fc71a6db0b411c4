import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { checkpointOf } from '../../events/consume.ts'
import { readEvents } from '../../events/read.ts'
import { affectedBy, type ProjectionDeps, piecesOf, projectLocked, SAVE_EVENTS } from './project.ts'

export const SAVE_COUNTS = 'search-save-counts'

/**
 * Brings the save counts and strengths of every frame saved or unsaved since the last time into the read model. Run at most every five minutes: until then the
 * version stays what it is and a busy library still answers 304. Two at once do the same work twice, no harm. Returns the number of events taken in.
 */
export async function refreshSaveCounts({ db, deepLink }: ProjectionDeps): Promise<number> {
  let count = 0
  for (;;) {
    const after = await checkpointOf(db, SAVE_COUNTS)
    const { events, next } = await readEvents(db, { after, types: SAVE_EVENTS, limit: 5_000 })
    if (events.length === 0) return count
    for (const piece of piecesOf(await affectedBy(db, events)))
      await db.transaction((tx) => projectLocked(tx, deepLink, piece))
    await rememberCursor(db, next)
    count += events.length
  }
}

async function rememberCursor(db: Db, { xid, seq }: { xid: string; seq: number }): Promise<void> {
  await db.execute(sql`
    insert into checkpoints (consumer, xid, seq) values (${SAVE_COUNTS}, ${xid}::xid8, ${seq})
    on conflict (consumer) do update set xid = excluded.xid, seq = excluded.seq, updated_at = now()
      where (checkpoints.xid, checkpoints.seq) < (excluded.xid, excluded.seq)`)
}
