import { sql } from 'drizzle-orm'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { boards, removals } from '../../db/schema/collections.ts'
import { notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { idArray, isId, randomId } from '../ids.ts'
import { deleteBoard, loadBoard } from './boards.ts'
import { pinFrame, pinFrames, unpinFrames } from './pins.ts'
import { strengthSql } from './save-strength.ts'
import { saveFrames, unsaveFrames } from './saves.ts'

/*
 * Removals made on a page can be undone. The removing transaction keeps what it removes for REMOVAL_HOURS. Frames that
 * were deleted meanwhile do not come back.
 */

/** Hours for which a removal can be undone. `deleteExpired` deletes older ones. */
export const REMOVAL_HOURS = 24

interface RemovedSave {
  frameId: string
  seq: string
  savedAt: string
}

interface RemovedPin {
  frameId: string
  note: string | null
  /** Number of pins before it. */
  position: number
}

interface RemovedBoard {
  id: string
  name: string
  createdAt: string
  coverFrameId: string | null
  pins: Omit<RemovedPin, 'position'>[]
}

/** The id with which the removal can be undone; null when nothing was removed. */
export interface Removed {
  frameIds: string[]
  undo: string | null
}

async function keep(
  tx: Tx,
  accountId: string,
  kept:
    | { kind: 'saves'; data: RemovedSave[] }
    | { kind: 'pins'; data: { boardId: string; pins: RemovedPin[] } }
    | { kind: 'board'; data: RemovedBoard },
): Promise<string> {
  const id = randomId()
  await tx.insert(removals).values({ id, accountId, ...kept })
  return id
}

/** Removes saves; `putBack` undoes it. */
export async function removeSavesForNow(
  db: DbOrTx,
  { accountId, frameIds }: { accountId: string; frameIds: readonly string[] },
): Promise<Removed> {
  return inTransactionOf(accountId, db, async (tx) => {
    const { rows } = await tx.execute<{ frame_id: string; seq: string; created_at: string }>(sql`
      select frame_id, seq::text, created_at from saves
       where account_id = ${accountId} and frame_id = any(${idArray(frameIds)})`)
    const { removed } = await unsaveFrames(tx, { accountId, frameIds })
    const data = rows
      .filter((row) => removed.includes(row.frame_id))
      .map((row) => ({ frameId: row.frame_id, seq: row.seq, savedAt: new Date(row.created_at).toISOString() }))
    return { frameIds: removed, undo: data.length > 0 ? await keep(tx, accountId, { kind: 'saves', data }) : null }
  })
}

/** Unpins frames; `putBack` undoes it with note and position. @throws AppError not_found. */
export async function removePinsForNow(
  db: DbOrTx,
  { accountId, boardId, frameIds }: { accountId: string; boardId: string; frameIds: readonly string[] },
): Promise<Removed> {
  return inTransactionOf(accountId, db, async (tx) => {
    const { rows } = await tx.execute<{ frame_id: string; note: string | null; before: number }>(sql`
      select * from (
        select frame_id, note, (row_number() over (order by position) - 1)::int as before
          from board_items where board_id = ${isId(boardId) ? boardId : ''}) placed
       where frame_id = any(${idArray(frameIds)}) order by before`)
    const { unpinned } = await unpinFrames(tx, { accountId, boardId, frameIds })
    const pins = rows
      .filter((row) => unpinned.includes(row.frame_id))
      .map((row) => ({ frameId: row.frame_id, note: row.note, position: row.before }))
    const data = { boardId, pins }
    return { frameIds: unpinned, undo: pins.length > 0 ? await keep(tx, accountId, { kind: 'pins', data }) : null }
  })
}

/** Deletes a board; `putBack` undoes it, without the share link. @throws AppError not_found. */
export async function removeBoardForNow(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<{ name: string; undo: string }> {
  return inTransactionOf(accountId, db, async (tx) => {
    const { board, pins } = await loadBoard(tx, { accountId, boardId })
    const { rows } = await tx.execute<{ cover: string | null }>(
      sql`select cover_frame_id as cover from boards where id = ${boardId}`,
    )
    await deleteBoard(tx, { accountId, boardId })
    const data: RemovedBoard = {
      id: boardId,
      name: board.name,
      createdAt: board.createdAt.toISOString(),
      coverFrameId: rows[0]?.cover ?? null,
      pins: pins.map(({ frameId, note }) => ({ frameId, note })),
    }
    return { name: board.name, undo: await keep(tx, accountId, { kind: 'board', data }) }
  })
}

export interface PutBack {
  kind: 'saves' | 'pins' | 'board'
  /** Set for pins and boards. */
  boardId: string | null
  /** Frames that are back, and frames that the library no longer has. */
  frames: number
  lost: number
}

/** Undoes a removal, once. @throws AppError not_found when it is unknown, expired or already undone. */
export async function putBack(db: Db, { accountId, id }: { accountId: string; id: string }): Promise<PutBack> {
  return db.transactionOf(accountId, async (tx) => {
    const { rows } = await tx.execute<{ kind: PutBack['kind']; data: unknown }>(
      sql`delete from removals where id = ${id.slice(0, 64)} and account_id = ${accountId} returning kind, data`,
    )
    const [found] = rows
    if (!found) throw notFound('removal')
    if (found.kind === 'saves') return putSavesBack(tx, accountId, found.data as RemovedSave[])
    if (found.kind === 'board') return putBoardBack(tx, accountId, found.data as RemovedBoard)
    const { boardId, pins } = found.data as { boardId: string; pins: RemovedPin[] }
    const there = await existing(
      tx,
      pins.map((pin) => pin.frameId),
    )
    // In order of position, so that the neighbours before each pin are there already.
    const kept = pins.filter((pin) => there.has(pin.frameId)).sort((a, b) => a.position - b.position)
    for (const { frameId, note, position } of kept)
      await pinFrame(tx, { accountId, boardId, frameId, position, ...(note === null ? {} : { note }) })
    return { kind: 'pins', boardId, frames: kept.length, lost: pins.length - kept.length }
  })
}

/** The saves return with their times and their places in the list. */
async function putSavesBack(tx: Tx, accountId: string, removed: readonly RemovedSave[]): Promise<PutBack> {
  const there = await existing(
    tx,
    removed.map((save) => save.frameId),
  )
  const { saved } = await saveFrames(tx, { accountId, frameIds: [...there] })
  const back = removed.filter((save) => saved.includes(save.frameId))
  if (back.length > 0) {
    const ids = idArray(back.map((save) => save.frameId))
    await tx.execute(sql`delete from saves where account_id = ${accountId} and frame_id = any(${ids})`)
    await tx.execute(sql`
      insert into saves (seq, account_id, frame_id, created_at) overriding system value
      select (s->>'seq')::bigint, ${accountId}, s->>'frameId', (s->>'savedAt')::timestamptz
        from jsonb_array_elements(${JSON.stringify(back)}::jsonb) s`)
    await tx.execute(sql`update frames f set save_strength = ${sql.raw(strengthSql('f.id'))} where f.id = any(${ids})`)
  }
  return { kind: 'saves', boardId: null, frames: there.size, lost: removed.length - there.size }
}

async function putBoardBack(tx: Tx, accountId: string, removed: RemovedBoard): Promise<PutBack> {
  const { id, name, createdAt, coverFrameId, pins } = removed
  const ids = pins.map((pin) => pin.frameId)
  const there = await existing(tx, ids)
  await tx.insert(boards).values({ id, accountId, name, createdAt: new Date(createdAt), coverFrameId })
  await appendEvent(tx, { type: 'board.created', subject: id, accountId, data: { board_id: id, name } })
  const kept = ids.filter((frameId) => there.has(frameId))
  if (kept.length > 0) await pinFrames(tx, { accountId, boardId: id, frameIds: kept })
  await tx.execute(sql`
    update board_items i set note = p->>'note'
      from jsonb_array_elements(${JSON.stringify(pins)}::jsonb) p
     where i.board_id = ${id} and i.frame_id = p->>'frameId'`)
  return { kind: 'board', boardId: id, frames: kept.length, lost: ids.length - kept.length }
}

async function existing(tx: Tx, frameIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select f.id from frames f join videos v on v.id = f.video_id
     where f.id = any(${idArray(frameIds)}) and v.first_ready_at is not null`)
  return new Set(rows.map((row) => row.id))
}
