import { type SQL, sql } from '../sql/orm.ts'
import type { Db } from './client.ts'

const AT_ONCE = 5_000

/** Deletes the rows of a condition. No statement takes long, and none locks rows for long. */
export async function deleteInPieces(db: Db, table: string, where: SQL): Promise<void> {
  const from = sql`${sql.identifier(table)} where ${where}`
  const piece = sql`delete from ${from} and ctid = any(array(select ctid from ${from} limit ${AT_ONCE}))`
  while (((await db.execute(piece)).rowCount ?? 0) > 0);
}
