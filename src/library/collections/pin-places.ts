import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'

/*
 * Pins have whole numbers with gaps in the column `position`, so that a move writes one row. Only their order has a
 * meaning. The caller has locked the board's row.
 */

/** The gap between neighbours. A full board takes a third of the range. */
const GAP = 65_536
const MIDDLE = 500_000_000
const LAST = 999_999_999

/** A position after `before` pins, not counting the frame's own. */
export async function placeAt(tx: Tx, boardId: string, frameId: string, before: number): Promise<number> {
  const [place] = await spreadIfFull(tx, boardId, async () => {
    const { rows } = await tx.execute<{ position: number }>(sql`
      select position from board_items where board_id = ${boardId} and frame_id <> ${frameId}
       order by position offset ${Math.max(0, before - 1)} limit 2`)
    const [first, second] = rows.map((row) => row.position)
    return before === 0 ? placesBetween(undefined, first, 1) : placesBetween(first, second, 1)
  })
  return place!
}

/** Positions for `count` pins after all others. */
export async function placesAtEnd(tx: Tx, boardId: string, count: number): Promise<number[]> {
  return spreadIfFull(tx, boardId, async () => {
    const { rows } = await tx.execute<{ last: number | null }>(
      sql`select max(position) as last from board_items where board_id = ${boardId}`,
    )
    return placesBetween(rows[0]!.last ?? undefined, undefined, count)
  })
}

/** Positions that bring pins to these ranks, from 0 and ascending, or to the end where the board is shorter. */
export async function placesAtRanks(tx: Tx, boardId: string, ranks: readonly number[]): Promise<number[]> {
  return spreadIfFull(tx, boardId, async () => {
    const { rows } = await tx.execute<{ taken: number[] }>(
      sql`select coalesce(array_agg(position order by position), '{}') as taken
            from board_items where board_id = ${boardId}`,
    )
    return placesAmong(rows[0]!.taken, ranks)
  })
}

/** Undefined where a gap has too few numbers. */
export function placesAmong(taken: readonly number[], ranks: readonly number[]): number[] | undefined {
  // Of the pins before rank `r` the first `n` are among the new ones, so the others stood there before.
  const ahead = ranks.map((rank, n) => Math.min(rank - n, taken.length))
  const places: number[] = []
  while (places.length < ranks.length) {
    const gap = ahead[places.length]!
    const found = placesBetween(taken[gap - 1], taken[gap], ahead.lastIndexOf(gap) + 1 - places.length)
    if (!found) return undefined
    places.push(...found)
  }
  return places
}

/** `count` positions between two, or beside one of them. Undefined when there are not enough numbers. */
function placesBetween(low: number | undefined, high: number | undefined, count: number): number[] | undefined {
  const isBetween = low !== undefined && high !== undefined
  const step = isBetween ? (high - low) / (count + 1) : GAP
  const before = low ?? (high === undefined ? MIDDLE - GAP : high - (count + 1) * GAP)
  const places = Array.from({ length: count }, (_, n) => before + Math.floor((n + 1) * step))
  const fits = step >= 1 && (count === 0 || (places[0]! >= 0 && places.at(-1)! <= LAST))
  return fits ? places : undefined
}

/** Restores all gaps when there is no room: rarely, because sixteen moves into one gap are needed to fill it. */
async function spreadIfFull(tx: Tx, boardId: string, find: () => Promise<number[] | undefined>): Promise<number[]> {
  const found = await find()
  if (found) return found
  await tx.execute(sql`
    update board_items i set position = ${MIDDLE}::int + (dense.n - dense.total / 2)::int * ${GAP}::int
      from (select frame_id, row_number() over (order by position) as n, count(*) over () as total
              from board_items where board_id = ${boardId}) dense
     where i.board_id = ${boardId} and i.frame_id = dense.frame_id`)
  return (await find())!
}
