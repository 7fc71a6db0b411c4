import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { notFound } from '../../errors.ts'
import { isId } from '../ids.ts'

/* Positions of pins change under the lock of their board's row. */

/** @throws AppError not_found, also for another account's board. */
export async function lockBoard(
  tx: Tx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<{ id: string; name: string }> {
  if (!isId(boardId)) throw notFound('board')
  const { rows } = await tx.execute<{ id: string; name: string }>(
    sql`select id, name from boards where id = ${boardId} and account_id = ${accountId} for update`,
  )
  if (!rows[0]) throw notFound('board')
  return rows[0]
}

export async function touchBoard(tx: Tx, boardId: string): Promise<void> {
  await tx.execute(sql`update boards set updated_at = now() where id = ${boardId}`)
}
