import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { lockFrames } from '../frame-facts.ts'
import { idArray } from '../ids.ts'
import { undoPins } from './pins.ts'
import { removeSaves } from './saves.ts'

/**
 * Removes frames that are about to be deleted from every save and board, with an event for each. Call it in the
 * deleting transaction, before the frames go: it locks their rows, so that no save or pin can slip in between.
 */
export async function undoFrameReferences(
  tx: Tx,
  frameIds: readonly string[],
  cause: 'frame_deleted' | 'video_deleted',
): Promise<void> {
  if (frameIds.length === 0) return
  const ids = sql`any(${idArray(frameIds)})`
  await lockFrames(tx, sql`f.id = ${ids}`, 'update')
  await removeSaves(tx, sql`s.frame_id = ${ids}`, cause)
  await undoPins(tx, frameIds, cause)
}
