import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { notFound } from '../../errors.ts'
import { isId } from '../ids.ts'

/* Positions of pins change under the lock of their board's row. */

interface LockedBoard extends Record<string, unknown> {
  id: string
  name: string
  /** As in `findBoard`: it changes with every change of the board or of its pins. */
  version: string
  itemCount: number
}

/** @throws AppError not_found, also for another account's board. */
export async function lockBoard(
  tx: Tx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<LockedBoard> {
  if (!isId(boardId)) throw notFound('board')
  const { rows } = await tx.execute<LockedBoard>(
    sql`select id, name, xmin::text as version, item_count as "itemCount" from boards
         where id = ${boardId} and account_id = ${accountId} for update`,
  )
  if (!rows[0]) throw notFound('board')
  return rows[0]
}

export async function touchBoard(tx: Tx, boardId: string): Promise<void> {
  await tx.execute(sql`update boards set updated_at = now() where id = ${boardId}`)
}
