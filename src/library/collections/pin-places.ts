import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'

/*
 * Pins have whole numbers with gaps in the column `position`, so that a move writes one row. Only their order has a
 * meaning. The caller has locked the board's row.
 */

/** The gap between neighbours. A full board takes a third of the range. */
export const GAP = 65_536
const MIDDLE = 500_000_000
const LAST = 999_999_999

/** A position after `before` pins, not counting the frame's own. */
export async function placeAt(tx: Tx, boardId: string, frameId: string, before: number): Promise<number> {
  return spreadIfFull(tx, boardId, () => findGap(tx, boardId, frameId, before))
}

/** The first of `count` positions after all pins, each GAP after the previous. */
export async function placeAtEnd(tx: Tx, boardId: string, count: number): Promise<number> {
  return spreadIfFull(tx, boardId, async () => {
    const { rows } = await tx.execute<{ last: number | null }>(
      sql`select max(position) as last from board_items where board_id = ${boardId}`,
    )
    const first = between(rows[0]!.last ?? undefined, undefined)
    return first !== undefined && first + (count - 1) * GAP <= LAST ? first : undefined
  })
}

async function spreadIfFull(tx: Tx, boardId: string, find: () => Promise<number | undefined>): Promise<number> {
  const found = await find()
  if (found !== undefined) return found
  await spread(tx, boardId)
  return (await find())!
}

async function findGap(tx: Tx, boardId: string, frameId: string, before: number): Promise<number | undefined> {
  const { rows } = await tx.execute<{ position: number }>(sql`
    select position from board_items where board_id = ${boardId} and frame_id <> ${frameId}
     order by position offset ${Math.max(0, before - 1)} limit 2`)
  const [first, second] = rows.map((row) => row.position)
  return before === 0 ? between(undefined, first) : between(first, second)
}

/** Undefined when no number is left. */
function between(before: number | undefined, after: number | undefined): number | undefined {
  if (before === undefined && after === undefined) return MIDDLE
  if (before === undefined) return after! - GAP >= 0 ? after! - GAP : undefined
  if (after === undefined) return before + GAP <= LAST ? before + GAP : undefined
  return after - before > 1 ? before + Math.floor((after - before) / 2) : undefined
}

/** Restores all gaps: rarely, because sixteen moves into one gap are needed to fill it. */
async function spread(tx: Tx, boardId: string): Promise<void> {
  await tx.execute(sql`
    update board_items i set position = ${MIDDLE}::int + (dense.n - dense.total / 2)::int * ${GAP}::int
      from (select frame_id, row_number() over (order by position) as n, count(*) over () as total
              from board_items where board_id = ${boardId}) dense
     where i.board_id = ${boardId} and i.frame_id = dense.frame_id`)
}
