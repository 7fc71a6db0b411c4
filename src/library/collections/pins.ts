import { characterCount, cleanLines } from '../../clean-text.ts'
import { type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvents } from '../../events/append.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { type SQL, sql } from '../../sql/orm.ts'
import { idArray } from '../ids.ts'
import { lockBoard, type OnBoard, PRESENT, touchBoard } from './board-settings.ts'
import { type FrameFacts, factColumns, requireAll, toFacts, type UndoCause } from './saves.ts'

export const MAX_PINS = 5_000
export const MAX_NOTE = 2_000

/**
 * Pins a frame, moves it, or changes its note. An omitted note or position stays as it is; a new pin goes to the end.
 * `position` counts from 0 and is capped at the end. A repeat changes nothing and appends no event.
 * @throws AppError not_found for board or frame, conflict at MAX_PINS.
 */
export async function pinFrame(
  db: DbOrTx,
  pin: OnBoard & {
    frameId: string
    note?: string | null | undefined
    position?: number | undefined
  },
): Promise<{ pinned: boolean; position: number }> {
  const { accountId, boardId, frameId } = pin
  const note = pin.note === undefined ? undefined : parseNote(pin.note)
  return inTransactionOf(accountId, db, async (tx) => {
    const [frames, board] = [await holdFrames(tx, [frameId]), await lockBoard(tx, { accountId, boardId })]
    requireAll([frameId], frames)
    const from = await rankOf(tx, boardId, frameId)
    const last = from === undefined ? board.itemCount : board.itemCount - 1
    const to = Math.min(pin.position ?? from ?? last, last)
    const recorded = { accountId, boardId, frames, ids: [frameId] }
    if (from === undefined) {
      requireRoom(board, 1)
      await insertPins(tx, boardId, [{ frameId, note: note ?? null, position: to }])
      await record(tx, 'board.frame_pinned', recorded)
      return { pinned: true, position: to }
    }
    if (to !== from) {
      await movePins(tx, boardId, to, [frameId])
      await record(tx, 'board.frame_moved', recorded, () => ({ position: to, previous_position: from }))
    }
    if (note !== undefined) await noteFrames(tx, recorded, note)
    return { pinned: false, position: to }
  })
}

/** Frames of a board, with the facts of these and others. */
interface Recorded extends OnBoard {
  frames: readonly FrameFacts[]
  ids: readonly string[]
}

/** An event for each of the frames, whose pins have changed. */
async function record(
  tx: Tx,
  type: 'board.frame_pinned' | 'board.frame_moved' | 'board.frame_noted',
  { accountId, boardId, frames, ids }: Recorded,
  moreOf: (id: string) => object = () => ({}),
): Promise<void> {
  if (ids.length === 0) return
  await touchBoard(tx, boardId)
  const facts = new Map(frames.map((row) => [row.frame_id, toFacts(row)]))
  await appendEvents(
    tx,
    ids.map((id) => {
      const event = { type, subject: boardId, accountId, data: { board_id: boardId, ...facts.get(id)!, ...moreOf(id) } }
      return event as NewEvent
    }),
  )
}

/** Sets the note of pinned frames; returns those whose note changed. */
async function noteFrames(tx: Tx, { ids, ...at }: Recorded, note: string | null): Promise<string[]> {
  const { rows } = await tx.execute<{ frame_id: string }>(sql`
    update board_items set note = ${note}
     where board_id = ${at.boardId} and frame_id = any(${idArray(ids)}) and note is distinct from ${note}
    returning frame_id`)
  const noted = ids.filter((id) => rows.some((row) => row.frame_id === id))
  await record(tx, 'board.frame_noted', { ...at, ids: noted }, () => ({ has_note: note !== null }))
  return noted
}

/** Moves pinned frames together, in their order, behind `position` other pins; returns those that moved. */
async function gatherAt(tx: Tx, at: Recorded, position: number): Promise<string[]> {
  const { boardId, ids } = at
  const { rows } = await tx.execute<{ frame_id: string }>(
    sql`select frame_id from board_items where board_id = ${boardId} order by position`,
  )
  const order = rows.map((row) => row.frame_id)
  const gathered = new Set(ids)
  const behind = order.filter((id) => !gathered.has(id))[position]
  const moves = new Map<string, { position: number; previous_position: number }>()
  for (const [n, frameId] of ids.entries()) {
    const from = order.indexOf(frameId)
    order.splice(from, 1)
    const first = behind === undefined ? order.length : order.indexOf(behind)
    const to = n === 0 ? first : order.indexOf(ids[n - 1]!) + 1
    order.splice(to, 0, frameId)
    if (to !== from) moves.set(frameId, { position: to, previous_position: from })
  }
  if (moves.size === 0) return []
  await movePins(tx, boardId, position, ids)
  const moved = [...moves.keys()]
  await record(tx, 'board.frame_moved', { ...at, ids: moved }, (id) => moves.get(id)!)
  return moved
}

/** @throws AppError not_found unless the frame is pinned to this board of the account. */
export async function requirePin(
  db: DbOrTx,
  { accountId, boardId, frameId }: OnBoard & { frameId: string },
): Promise<void> {
  const { rows } = await db.execute(sql`
    select 1 from board_items i join boards b on b.id = i.board_id
     where b.account_id = ${accountId}
       and b.id = any(${idArray([boardId])}) and ${PRESENT} and i.frame_id = any(${idArray([frameId])})`)
  if (rows.length === 0) throw notFound('pin')
}

/**
 * Pins frames at the end, in the order given; with `position` together from there on. One unknown id rejects them all.
 * Frames already pinned keep place and note where none is given. `already` holds them, `noted` those with a new note.
 * @throws AppError not_found for board or frame, conflict at MAX_PINS.
 */
export async function pinFrames(
  db: DbOrTx,
  {
    frameIds,
    accountId,
    boardId,
    note: given,
    position,
  }: OnBoard & {
    frameIds: readonly string[]
    note?: string | null | undefined
    position?: number | undefined
  },
): Promise<{ pinned: string[]; already: string[]; noted: string[]; moved: string[] }> {
  const wanted = [...new Set(frameIds)]
  const note = given === undefined ? null : parseNote(given)
  return inTransactionOf(accountId, db, async (tx) => {
    const [frames, board] = [await holdFrames(tx, wanted), await lockBoard(tx, { accountId, boardId })]
    requireAll(wanted, frames)
    const existing = await pinnedAmong(tx, boardId, wanted)
    const pinned = wanted.filter((id) => !existing.has(id))
    const already = wanted.filter((id) => existing.has(id))
    requireRoom(board, pinned.length)
    if (pinned.length > 0) {
      const pins = pinned.map((frameId, n) => ({ frameId, note, position: board.itemCount + n }))
      await insertPins(tx, boardId, pins)
      await record(tx, 'board.frame_pinned', { accountId, boardId, frames, ids: pinned })
    }
    const noted = given === undefined ? [] : await noteFrames(tx, { accountId, boardId, frames, ids: already }, note)
    const gathered = { accountId, boardId, frames, ids: wanted }
    const moved = position === undefined ? [] : await gatherAt(tx, gathered, position)
    return { pinned, already, noted, moved: moved.filter((id) => existing.has(id)) }
  })
}

/** A pin that was removed; `position`: how many pins stood before it. */
export interface Unpinned {
  frameId: string
  note: string | null
  position: number
}

/** Ignores frames that are not pinned. @throws AppError not_found for the board. */
export async function unpinFrames(
  db: DbOrTx,
  { accountId, boardId, frameIds }: OnBoard & { frameIds: readonly string[] },
): Promise<{ unpinned: Unpinned[] }> {
  return inTransactionOf(accountId, db, async (tx) => {
    await lockBoard(tx, { accountId, boardId })
    const { rows: unpinned } = await tx.execute<Unpinned & Record<string, unknown>>(sql`
      select frame_id as "frameId", note, before as position
        from (select frame_id, note, (row_number() over (order by position) - 1)::int as before
                from board_items where board_id = ${boardId}) pins
       where frame_id = any(${idArray(frameIds)}) order by before`)
    await removePins(tx, sql`i.board_id = ${boardId} and i.frame_id = any(${idArray(frameIds)})`, 'owner')
    if (unpinned.length > 0) await touchBoard(tx, boardId)
    return { unpinned }
  })
}

/**
 * Pins frames again where they were. Frames that the library no longer has are left out, and frames that are pinned
 * again stay as they are.
 * @throws AppError not_found for the board, conflict at MAX_PINS.
 */
export async function repinFrames(
  db: DbOrTx,
  { accountId, boardId, pins }: OnBoard & { pins: readonly Unpinned[] },
): Promise<{ pinned: string[] }> {
  const wanted = pins.map((pin) => ({ ...pin, note: parseNote(pin.note) })).sort((a, b) => a.position - b.position)
  const ids = wanted.map(({ frameId }) => frameId)
  return inTransactionOf(accountId, db, async (tx) => {
    const [frames, board] = [await holdFrames(tx, ids), await lockBoard(tx, { accountId, boardId })]
    const known = new Set(frames.map((row) => row.frame_id))
    const existing = await pinnedAmong(tx, boardId, ids)
    // Each once.
    const back = wanted.filter(({ frameId }) => known.delete(frameId) && !existing.has(frameId))
    requireRoom(board, back.length)
    if (back.length > 0) await insertPins(tx, boardId, back)
    const pinned = back.map(({ frameId }) => frameId)
    await record(tx, 'board.frame_pinned', { accountId, boardId, frames, ids: pinned })
    return { pinned }
  })
}

/** An event for each pin of a board that is deleted, or is back. Returns how many. */
export async function recordAllPins(
  tx: Tx,
  { accountId, boardId }: OnBoard,
  event: { type: 'board.frame_pinned' } | { type: 'board.frame_unpinned'; cause: UndoCause },
): Promise<number> {
  const { rows } = await tx.execute<FrameFacts & Record<string, unknown>>(sql`
    select ${factColumns} from board_items i join frames f on f.id = i.frame_id join videos v on v.id = f.video_id
     where i.board_id = ${boardId} order by i.position`)
  const { type, ...more } = event
  await appendEvents(
    tx,
    rows.map((row) => {
      const data = { board_id: boardId, ...toFacts(row), ...more }
      return { type, subject: boardId, accountId, data } as NewEvent
    }),
  )
  return rows.length
}

/** The caller has locked the boards' rows. Of a deleted board, its deletion has told already. Returns how many pins. */
export async function removePins(tx: Tx, where: SQL, cause: UndoCause): Promise<number> {
  const { rows } = await tx.execute<FrameFacts & { board_id: string; account_id: string; deleted: boolean }>(sql`
    delete from board_items i using boards b, frames f join videos v on v.id = f.video_id
     where b.id = i.board_id and f.id = i.frame_id and ${where}
    returning i.board_id, b.account_id, b.deleted_at is not null as deleted, ${factColumns}`)
  await appendEvents(
    tx,
    rows
      .filter(({ deleted }) => !deleted)
      .map((row) => ({
        type: 'board.frame_unpinned',
        subject: row.board_id,
        accountId: row.account_id,
        data: { board_id: row.board_id, ...toFacts(row), cause },
      })),
  )
  return rows.length
}

/** Public frames, protected from deletion until the transaction ends. */
async function holdFrames(tx: Tx, ids: readonly string[]): Promise<FrameFacts[]> {
  const { rows } = await tx.execute<FrameFacts & Record<string, unknown>>(sql`
    select ${factColumns} from frames f join videos v on v.id = f.video_id
     where f.id = any(${idArray(ids)}) and v.first_ready_at is not null order by f.id for key share of f`)
  return rows
}

/** How many pins stand before a frame's; undefined where it is not pinned. */
async function rankOf(tx: Tx, boardId: string, frameId: string): Promise<number | undefined> {
  const { rows } = await tx.execute<{ rank: number }>(sql`
    select (select count(*)::int from board_items where board_id = ${boardId} and position < mine.position) as rank
      from board_items mine where mine.board_id = ${boardId} and mine.frame_id = ${frameId}`)
  return rows[0]?.rank
}

async function pinnedAmong(tx: Tx, boardId: string, frameIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ frame_id: string }>(
    sql`select frame_id from board_items where board_id = ${boardId} and frame_id = any(${idArray(frameIds)})`,
  )
  return new Set(rows.map((row) => row.frame_id))
}

function parseNote(text: string | null): string | null {
  const note = cleanLines(text ?? '')
  if (characterCount(note) > MAX_NOTE) throw invalid('note', `A note has at most ${MAX_NOTE} characters.`)
  return note === '' ? null : note
}

/** @throws AppError conflict at MAX_PINS. */
function requireRoom({ itemCount }: { itemCount: number }, more: number): void {
  if (itemCount + more > MAX_PINS)
    throw new AppError('conflict', `A board holds at most ${MAX_PINS} frames. Unpin some first.`)
}

/*
 * Pins have whole numbers with gaps in the column `position`, so that a move writes one row. Only their order has a
 * meaning. The caller has locked the board's row.
 */

/** The gap between neighbours. A full board takes a third of the range. */
const GAP = 65_536
const MIDDLE = 500_000_000
const LAST = 999_999_999

/** New pins, in the order of their ranks. */
async function insertPins(tx: Tx, boardId: string, pins: readonly Unpinned[]): Promise<void> {
  const [ids, ranks] = [pins.map(({ frameId }) => frameId), pins.map(({ position }) => position)]
  const notes = pins.map(({ note }) => note)
  const places = await placesAt(tx, boardId, ids, ranks)
  await tx.execute(sql`
    insert into board_items (board_id, frame_id, position, note)
    select ${boardId}, *
      from unnest(${sql.param(ids)}::text[], ${sql.param(places)}::int[], ${sql.param(notes)}::text[])`)
}

/** Brings pins together behind `before` others. */
async function movePins(tx: Tx, boardId: string, before: number, ids: readonly string[]): Promise<void> {
  const ranks = ids.map((_, n) => before + n)
  const places = await placesAt(tx, boardId, ids, ranks)
  await tx.execute(sql`
    update board_items i set position = given.position
      from unnest(${sql.param(ids)}::text[], ${sql.param(places)}::int[]) as given(frame_id, position)
     where i.board_id = ${boardId} and i.frame_id = given.frame_id`)
}

/** Positions that bring frames to these ranks, ascending from 0, or to the end where the board is shorter. */
async function placesAt(tx: Tx, boardId: string, ids: readonly string[], ranks: readonly number[]) {
  const find = async () => {
    const { rows } = await tx.execute<{ taken: number[] }>(sql`
      select coalesce(array_agg(position order by position), '{}') as taken
        from board_items where board_id = ${boardId} and frame_id <> all(${idArray(ids)})`)
    return placesAmong(rows[0]!.taken, ranks)
  }
  const found = await find()
  if (found) return found
  // Rarely: sixteen moves into one gap are needed to fill it.
  await tx.execute(sql`
    update board_items i set position = ${MIDDLE}::int + (dense.n - dense.total / 2)::int * ${GAP}::int
      from (select frame_id, row_number() over (order by position) as n, count(*) over () as total
              from board_items where board_id = ${boardId}) dense
     where i.board_id = ${boardId} and i.frame_id = dense.frame_id`)
  return (await find())!
}

/** Undefined where a gap between two taken positions has too few numbers. */
function placesAmong(taken: readonly number[], ranks: readonly number[]): number[] | undefined {
  // Of the pins before rank `r` the first `n` are among the new ones, so the others stood there before.
  const ahead = ranks.map((rank, n) => Math.max(0, Math.min(rank - n, taken.length)))
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
  const fits = step >= 1 && places[0]! >= 0 && places.at(-1)! <= LAST
  return fits ? places : undefined
}
