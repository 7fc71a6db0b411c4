import { sql } from 'drizzle-orm'
import { type DbOrTx, inTransactionOf } from '../../db/client.ts'
import { notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { lockBoard } from './board-lock.ts'

/**
 * Chooses the cover of a board: one of its pins, or null for the first one. A repeat changes nothing.
 * @throws AppError not_found for the board, or for a frame that is not pinned to it.
 */
export async function setCover(
  db: DbOrTx,
  { accountId, boardId, frameId }: { accountId: string; boardId: string; frameId: string | null },
): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    if (frameId !== null) {
      const { rows } = await tx.execute(
        sql`select 1 from board_items where board_id = ${boardId} and frame_id = ${frameId.slice(0, 64)}`,
      )
      if (rows.length === 0) throw notFound('pinned frame')
    }
    const { rowCount } = await tx.execute(sql`
      update boards set cover_frame_id = ${frameId}, updated_at = now()
       where id = ${boardId} and cover_frame_id is distinct from ${frameId}`)
    if (rowCount === 1)
      await appendEvent(tx, {
        type: 'board.cover_chosen',
        subject: boardId,
        accountId,
        data: { board_id: boardId, name: board.name, frame_id: frameId },
      })
  })
}
