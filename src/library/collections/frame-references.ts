import type { Tx } from '../../db/client.ts'
import { sql } from '../../sql/orm.ts'
import { lockFrames } from '../frames/frames.ts'
import { idArray } from '../ids.ts'
import { removePins } from './pins.ts'
import { removeSaves } from './saves.ts'

/**
 * Removes frames that are about to be deleted from every save and board, with an event for each. Call it in the
 * deleting transaction, before the frames go: it locks their rows, so that no save or pin can slip in between. With a
 * `limit` it removes about as many rows; true when some may be left.
 */
export async function undoFrameReferences(
  tx: Tx,
  frameIds: readonly string[],
  cause: 'frame_deleted' | 'video_deleted',
  limit: number | null = null,
): Promise<boolean> {
  if (frameIds.length === 0) return false
  const ids = sql`any(${idArray(frameIds)})`
  await lockFrames(tx, sql`f.id = ${ids}`, 'update')
  const some = sql`select account_id, frame_id from saves where frame_id = ${ids} limit ${limit}`
  const saves = await removeSaves(tx, sql`(s.account_id, s.frame_id) in (${some})`, cause)
  if (saves.length > 0 && saves.length === limit) return true
  const pins = await undoPins(tx, frameIds, cause, limit)
  return limit !== null && pins >= limit
}

/**
 * Removes frames from every board, or from the boards of `limit` pins; returns how many pins. The caller has locked the
 * frames' rows, so no pin of them can be in progress.
 */
async function undoPins(
  tx: Tx,
  frameIds: readonly string[],
  cause: 'frame_deleted' | 'video_deleted',
  limit: number | null,
): Promise<number> {
  const ids = sql`any(${idArray(frameIds)})`
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from boards
     where id in (select board_id from board_items where frame_id = ${ids} order by board_id limit ${limit})
     order by id for update`)
  if (rows.length === 0) return 0
  const boardIds = sql`any(${sql.param(rows.map((row) => row.id))}::text[])`
  const unpinned = await removePins(tx, sql`i.frame_id = ${ids} and i.board_id = ${boardIds}`, cause)
  await tx.execute(sql`update boards set updated_at = now() where id = ${boardIds}`)
  return unpinned
}
