import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { checkpointOf } from '../../events/consume.ts'
import type { READS_ONLY } from '../../events/lag.ts'
import { readEvents } from '../../events/read.ts'
import { affectedBy, piecesOf, SAVE_EVENTS } from './affected.ts'
import { type ProjectionDeps, projectLocked } from './project.ts'

export const SAVE_COUNTS = 'search-save-counts' satisfies keyof typeof READS_ONLY

/**
 * Projects the counts and strengths of frames saved or unsaved since the last run; returns the number of events.
 * Run it at most every five minutes: the version stays until then, and a busy library still answers 304.
 * Two runs at once repeat the same work and do no harm.
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
