import { sql } from 'drizzle-orm'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { removals } from '../../db/schema/collections.ts'
import { notFound } from '../../errors.ts'
import { lockFrames } from '../frames/frames.ts'
import { idArray, randomId } from '../ids.ts'
import { lockBoard, type OnBoard } from './board-settings.ts'
import { deleteBoard, type RemovedBoard, restoreBoard } from './boards.ts'
import { type Ranks, restorePins, undoPins, unpinFrames } from './pins.ts'
import { type FramesOf, removeSaves, saveFrames, strengthSql, unsaveFrames } from './saves.ts'

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

/** The id with which the removal can be undone; null when nothing was removed. */
export interface Removed {
  frameIds: string[]
  undo: string | null
}

/** Removes saves; `putBack` undoes it. */
export async function removeSavesWithUndo(db: DbOrTx, { accountId, frameIds }: FramesOf): Promise<Removed> {
  return inTransactionOf(accountId, db, async (tx) => {
    const { removed } = await unsaveFrames(tx, { accountId, frameIds })
    if (removed.length === 0) return { frameIds: [], undo: null }
    const id = randomId()
    const data: RemovedSave[] = removed.map(({ frameId, seq, savedAt }) => ({
      frameId,
      seq,
      savedAt: savedAt.toISOString(),
    }))
    await tx.insert(removals).values({ id, accountId, kind: 'saves', data, frames: data.length })
    return { frameIds: removed.map(({ frameId }) => frameId), undo: id }
  })
}

/** Pins as a removal keeps them, with the number of pins before each. */
const keptPins = sql.raw(`jsonb_agg(jsonb_build_object(
  'frameId', frame_id, 'note', note, 'pinnedAt', pinned_at, 'position', before) order by before)`)
const pinsOf = (boardId: string) => sql`
  (select frame_id, note, pinned_at, row_number() over (order by position) - 1 as before
     from board_items where board_id = ${boardId}) placed`

/** Unpins frames; `putBack` undoes it with note and position. @throws AppError not_found. */
export async function removePinsWithUndo(
  db: DbOrTx,
  { accountId, boardId, frameIds }: OnBoard & { frameIds: readonly string[] },
): Promise<Removed> {
  return inTransactionOf(accountId, db, async (tx) => {
    await lockBoard(tx, { accountId, boardId })
    const id = randomId()
    await tx.execute(sql`
      insert into removals (id, account_id, kind, frames, data)
      select ${id}, ${accountId}, 'pins', count(*), jsonb_build_object('boardId', ${boardId}::text, 'pins', ${keptPins})
        from ${pinsOf(boardId)} where frame_id = any(${idArray(frameIds)}) having count(*) > 0`)
    const { unpinned } = await unpinFrames(tx, { accountId, boardId, frameIds })
    return { frameIds: unpinned, undo: unpinned.length > 0 ? id : null }
  })
}

/** Deletes a board; `putBack` undoes it, without the share link. @throws AppError not_found. */
export async function removeBoardWithUndo(
  db: DbOrTx,
  { accountId, boardId }: OnBoard,
): Promise<{ name: string; undo: string }> {
  return inTransactionOf(accountId, db, async (tx) => {
    const { name } = await lockBoard(tx, { accountId, boardId })
    const id = randomId()
    await tx.execute(sql`
      insert into removals (id, account_id, kind, frames, data)
      select ${id}, ${accountId}, 'board', b.item_count, jsonb_build_object(
               'id', b.id, 'name', b.name, 'description', b.description,
               'createdAt', b.created_at, 'coverFrameId', b.cover_frame_id,
               'pins', coalesce((select ${keptPins} from ${pinsOf(boardId)}), '[]'))
        from boards b where b.id = ${boardId}`)
    await deleteBoard(tx, { accountId, boardId })
    return { name, undo: id }
  })
}

const isKept = (accountId: string, id: string) => sql`
  id = any(${idArray([id])}) and account_id = ${accountId} and at > now() - make_interval(hours => ${REMOVAL_HOURS})`

/** How many frames an undo would bring back: its price. @throws AppError as putBack. */
export async function removalSize(db: DbOrTx, { accountId, id }: { accountId: string; id: string }): Promise<number> {
  const { rows } = await db.execute<{ frames: number }>(sql`select frames from removals where ${isKept(accountId, id)}`)
  if (!rows[0]) throw notFound('removal')
  return rows[0].frames
}

export interface PutBack {
  kind: 'saves' | 'pins' | 'board'
  /** Set for pins and boards. */
  boardId: string | null
  /** Frames that are back, and frames that the library no longer has. */
  frames: number
  lost: number
}

/**
 * Undoes a removal, once. On every plan: it brings back what the account held within REMOVAL_HOURS, and no more.
 * @throws AppError not_found when it is unknown, expired or already undone, or when its board is gone; conflict when
 * there is no room. Then it can be undone later.
 */
export async function putBack(db: Db, { accountId, id }: { accountId: string; id: string }): Promise<PutBack> {
  return db.transactionOf(accountId, async (tx) => {
    // The account before the removal, as its deletion locks them.
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for key share`)
    const { rows } = await tx.execute<{ kind: PutBack['kind']; data: unknown; ranks: Ranks | null }>(sql`
      select kind, data - 'pins' as data,
             (select jsonb_object_agg(pin->>'frameId', coalesce((pin->>'position')::int, n - 1))
                from jsonb_array_elements(data->'pins') with ordinality as kept(pin, n)) as ranks
        from removals where ${isKept(accountId, id)} for update`)
    const [found] = rows
    if (!found) throw notFound('removal')
    const ranks = found.ranks ?? {}
    const back = async (): Promise<PutBack> => {
      if (found.kind === 'saves') return putSavesBack(tx, accountId, found.data as RemovedSave[])
      const board = found.data as RemovedBoard & { boardId: string }
      if (found.kind === 'board') await restoreBoard(tx, { accountId, ...board })
      const boardId = found.kind === 'board' ? board.id : board.boardId
      return { kind: found.kind, boardId, ...(await restorePins(tx, { accountId, boardId, removal: id, ranks })) }
    }
    const done = await back()
    await tx.execute(sql`delete from removals where id = ${id}`)
    return done
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

async function existing(tx: Tx, frameIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select f.id from frames f join videos v on v.id = f.video_id
     where f.id = any(${idArray(frameIds)}) and v.first_ready_at is not null`)
  return new Set(rows.map((row) => row.id))
}

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
