import { type SQL, sql } from 'drizzle-orm'
import { type DbOrTx, inTransaction, type Tx } from '../../db/client.ts'
import { AppError, invalid } from '../../errors.ts'
import { appendEvents } from '../../events/append.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { type FrameFacts, factColumns, requireAll, toFacts, type UndoCause } from '../frame-facts.ts'
import { idArray } from '../ids.ts'
import { lockBoard, touchBoard } from './board-lock.ts'

export const MAX_PINS = 5_000
export const MAX_NOTE = 2_000

/**
 * Pins a frame, moves it, or changes its note. An omitted note or position stays as it is; a new pin goes to the end.
 * `position` counts from 0 and is capped at the end. A repeat changes nothing and appends no event.
 * @throws AppError not_found for board or frame, conflict at MAX_PINS.
 */
export async function pinFrame(
  db: DbOrTx,
  pin: {
    accountId: string
    boardId: string
    frameId: string
    note?: string | null | undefined
    position?: number | undefined
  },
): Promise<{ pinned: boolean; position: number }> {
  const { accountId, boardId, frameId } = pin
  const note = pin.note === undefined ? undefined : parseNote(pin.note)
  return inTransaction(db, async (tx) => {
    const [frames, board] = [await holdFrames(tx, [frameId]), await lockBoard(tx, { accountId, boardId })]
    requireAll([frameId], frames)
    const facts = toFacts(frames[0]!)
    const before = await orderOf(tx, boardId)
    const from = before.findIndex((item) => item.frame_id === frameId)
    const existing = before[from]
    const ids = before.map((item) => item.frame_id)
    if (existing) ids.splice(from, 1)
    else if (ids.length >= MAX_PINS) throw tooMany()
    const to = Math.min(pin.position ?? (existing ? from : ids.length), ids.length)
    ids.splice(to, 0, frameId)
    if (!existing)
      await tx.execute(sql`
        insert into board_items (board_id, frame_id, position, note)
        values (${boardId}, ${frameId}, ${to}, ${note ?? null})`)
    await writeOrder(tx, boardId, ids)
    const events: NewEvent[] = []
    const about = { subject: boardId, accountId }
    if (!existing) events.push({ ...about, type: 'board.frame_pinned', data: { board_id: boardId, ...facts } })
    else {
      if (to !== from)
        events.push({
          ...about,
          type: 'board.frame_moved',
          data: { board_id: boardId, ...facts, position: to, previous_position: from },
        })
      if (note !== undefined && note !== existing.note) {
        await tx.execute(
          sql`update board_items set note = ${note} where board_id = ${boardId} and frame_id = ${frameId}`,
        )
        events.push({
          ...about,
          type: 'board.frame_noted',
          data: { board_id: boardId, ...facts, has_note: note !== null },
        })
      }
    }
    if (events.length > 0) {
      await touchBoard(tx, board.id)
      await appendEvents(tx, events)
    }
    return { pinned: !existing, position: to }
  })
}

/**
 * Pins frames at the end, in the order given. One unknown id rejects them all. Frames already pinned keep their place.
 * @throws AppError not_found for board or frame, conflict at MAX_PINS.
 */
export async function pinFrames(
  db: DbOrTx,
  {
    accountId,
    boardId,
    frameIds,
    note: given,
  }: { accountId: string; boardId: string; frameIds: readonly string[]; note?: string | null | undefined },
): Promise<{ pinned: string[]; already: string[] }> {
  const wanted = [...new Set(frameIds)]
  const note = given === undefined ? null : parseNote(given)
  return inTransaction(db, async (tx) => {
    const [frames, board] = [await holdFrames(tx, wanted), await lockBoard(tx, { accountId, boardId })]
    requireAll(wanted, frames)
    const existing = new Set((await orderOf(tx, boardId)).map((item) => item.frame_id))
    const pinned = wanted.filter((id) => !existing.has(id))
    if (existing.size + pinned.length > MAX_PINS) throw tooMany()
    if (pinned.length > 0) {
      await tx.execute(sql`
        insert into board_items (board_id, frame_id, position, note)
        select ${boardId}, frame_id, ${existing.size} + n - 1, ${note}
          from unnest(${sql.param(pinned)}::text[]) with ordinality as given(frame_id, n)`)
      await touchBoard(tx, board.id)
      const facts = new Map(frames.map((row) => [row.frame_id, toFacts(row)]))
      await appendEvents(
        tx,
        pinned.map((id) => ({
          type: 'board.frame_pinned',
          subject: boardId,
          accountId,
          data: { board_id: boardId, ...facts.get(id)! },
        })),
      )
    }
    return { pinned, already: wanted.filter((id) => existing.has(id)) }
  })
}

/** Ignores frames that are not pinned. @throws AppError not_found for the board. */
export async function unpinFrames(
  db: DbOrTx,
  { accountId, boardId, frameIds }: { accountId: string; boardId: string; frameIds: readonly string[] },
): Promise<{ unpinned: string[] }> {
  return inTransaction(db, async (tx) => {
    await lockBoard(tx, { accountId, boardId })
    const unpinned = await removePins(
      tx,
      sql`i.board_id = ${boardId} and i.frame_id = any(${idArray(frameIds)})`,
      'owner',
    )
    if (unpinned.length > 0) {
      await closeGaps(tx, [boardId])
      await touchBoard(tx, boardId)
    }
    return { unpinned }
  })
}

/** Removes frames from every board. The caller has locked the frames' rows, so no pin of them can be in progress. */
export async function undoPins(
  tx: Tx,
  frameIds: readonly string[],
  cause: 'frame_deleted' | 'video_deleted',
): Promise<void> {
  const ids = sql`any(${idArray(frameIds)})`
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from boards
         where id in (select board_id from board_items where frame_id = ${ids}) order by id for update`,
  )
  if (rows.length === 0) return
  const boardIds = rows.map((row) => row.id)
  await removePins(tx, sql`i.frame_id = ${ids}`, cause)
  await closeGaps(tx, boardIds)
  await tx.execute(sql`update boards set updated_at = now() where id = any(${sql.param(boardIds)}::text[])`)
}

/** The caller has locked the boards' rows. */
export async function removePins(tx: Tx, where: SQL, cause: UndoCause): Promise<string[]> {
  const { rows } = await tx.execute<FrameFacts & { board_id: string; account_id: string }>(sql`
    delete from board_items i using boards b, frames f join videos v on v.id = f.video_id
     where b.id = i.board_id and f.id = i.frame_id and ${where} returning i.board_id, b.account_id, ${factColumns}`)
  await appendEvents(
    tx,
    rows.map((row) => ({
      type: 'board.frame_unpinned',
      subject: row.board_id,
      accountId: row.account_id,
      data: { board_id: row.board_id, ...toFacts(row), cause },
    })),
  )
  return rows.map((row) => row.frame_id)
}

/** Public frames, protected from deletion until the transaction ends. */
async function holdFrames(tx: Tx, ids: readonly string[]): Promise<FrameFacts[]> {
  const { rows } = await tx.execute<FrameFacts & Record<string, unknown>>(sql`
    select ${factColumns} from frames f join videos v on v.id = f.video_id
     where f.id = any(${idArray(ids)}) and v.first_ready_at is not null order by f.id for key share of f`)
  return rows
}

async function orderOf(tx: Tx, boardId: string): Promise<{ frame_id: string; note: string | null }[]> {
  const { rows } = await tx.execute<{ frame_id: string; note: string | null }>(
    sql`select frame_id, note from board_items where board_id = ${boardId} order by position`,
  )
  return rows
}

async function writeOrder(tx: Tx, boardId: string, ids: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update board_items i set position = given.n - 1
      from unnest(${sql.param([...ids])}::text[]) with ordinality as given(frame_id, n)
     where i.board_id = ${boardId} and i.frame_id = given.frame_id and i.position <> given.n - 1`)
}

async function closeGaps(tx: Tx, boardIds: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update board_items i set position = dense.n - 1
      from (select board_id, frame_id, row_number() over (partition by board_id order by position) as n
              from board_items where board_id = any(${sql.param([...boardIds])}::text[])) dense
     where i.board_id = dense.board_id and i.frame_id = dense.frame_id and i.position <> dense.n - 1`)
}

function parseNote(text: string | null): string | null {
  const note = text?.toWellFormed().normalize('NFC').replaceAll('\0', '').trim() ?? ''
  if (note.length > MAX_NOTE) throw invalid('note', `A note has at most ${MAX_NOTE} characters.`)
  return note === '' ? null : note
}

function tooMany(): AppError {
  return new AppError('conflict', `A board holds at most ${MAX_PINS} frames.`)
}
