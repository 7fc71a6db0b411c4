import { type SQL, sql } from 'drizzle-orm'
import { type DbOrTx, inTransaction, type Tx } from '../../db/client.ts'
import { boards } from '../../db/schema/collections.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent, appendEvents } from '../../events/append.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { randomBase62, randomId, sha256 } from '../accounts/random.ts'
import {
  type FrameFacts,
  factColumns,
  idArray,
  isId,
  requireAll,
  toFacts,
  type UndoCause,
} from '../frames/frame-facts.ts'

/* The order of locks is that of frame-facts.ts: account, frames by id, boards by id. Positions are rewritten under the board's row lock. */

export const MAX_BOARDS = 1_000
export const MAX_PINS = 5_000
export const MAX_BOARD_NAME = 120
export const MAX_NOTE = 2_000

export interface Board {
  id: string
  name: string
  itemCount: number
  createdAt: Date
  updatedAt: Date
  /** When its present link was made; null while it is not shared. */
  sharedAt: Date | null
  /** The first frames in the owner's order, at most four. */
  coverFrameIds: string[]
}

export interface Pin {
  frameId: string
  note: string | null
  pinnedAt: Date
}

interface BoardRow extends Record<string, unknown> {
  id: string
  name: string
  item_count: number
  created_at: string
  updated_at: string
  shared_at: string | null
  cover_frame_ids: string[]
}

const boardColumns = sql.raw(`b.id, b.name, b.created_at, b.updated_at, b.shared_at,
  (select count(*)::int from board_items i where i.board_id = b.id) as item_count,
  array(select i.frame_id from board_items i where i.board_id = b.id order by i.position limit 4) as cover_frame_ids`)

/** @throws AppError invalid_request. */
export function parseBoardName(text: string): string {
  const name = text.normalize('NFC').trim()
  if (name === '' || name.length > MAX_BOARD_NAME || /\p{Cc}/u.test(name) || !name.isWellFormed())
    throw invalid('name', `A board's name has 1 to ${MAX_BOARD_NAME} characters.`)
  return name
}

/** @throws AppError invalid_request for the name, conflict at MAX_BOARDS. */
export async function createBoard(
  db: DbOrTx,
  { accountId, name: given }: { accountId: string; name: string },
): Promise<Board> {
  const name = parseBoardName(given)
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    const { rows } = await tx.execute<{ held: number }>(
      sql`select count(*)::int as held from boards where account_id = ${accountId}`,
    )
    if (rows[0]!.held >= MAX_BOARDS) throw new AppError('conflict', `An account holds at most ${MAX_BOARDS} boards.`)
    const [row] = await tx.insert(boards).values({ id: randomId(), accountId, name }).returning()
    await appendEvent(tx, { type: 'board.created', subject: row!.id, accountId, data: { board_id: row!.id, name } })
    const { id, createdAt, updatedAt } = row!
    return { id, name, itemCount: 0, createdAt, updatedAt, sharedAt: null, coverFrameIds: [] }
  })
}

/** The account's first board of this name, made if there is none: of two at once the second finds the first's. @throws AppError as createBoard. */
export async function ensureBoard(
  db: DbOrTx,
  { accountId, name: given }: { accountId: string; name: string },
): Promise<{ board: Board; created: boolean }> {
  const name = parseBoardName(given)
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    const { rows } = await tx.execute<BoardRow>(sql`
      select ${boardColumns} from boards b where b.account_id = ${accountId} and b.name = ${name} order by b.created_at, b.id limit 1`)
    if (rows[0]) return { board: toBoard(rows[0]), created: false }
    return { board: await createBoard(tx, { accountId, name }), created: true }
  })
}

/** Newest first. `next` is null at the end; without a limit everything is answered. @throws AppError invalid_request for a bad cursor. */
export async function listBoards(
  db: DbOrTx,
  accountId: string,
  { limit, after }: { limit?: number | undefined; after?: string | undefined } = {},
): Promise<{ boards: Board[]; next: string | null }> {
  const cursor = after === undefined ? undefined : /^(\d{1,14})\.([0-9A-Za-z]{1,32})$/.exec(after)
  if (cursor === null) throw new AppError('invalid_request', 'after: not a cursor of this list.')
  const behind = cursor
    ? sql`and (b.created_at, b.id) < (${new Date(Number(cursor[1])).toISOString()}::timestamptz, ${cursor[2]!})`
    : sql``
  const { rows } = await db.execute<BoardRow>(sql`
    select ${boardColumns} from boards b where b.account_id = ${accountId} ${behind}
     order by b.created_at desc, b.id desc ${limit === undefined ? sql`` : sql`limit ${limit + 1}`}`)
  const page = (limit === undefined ? rows : rows.slice(0, limit)).map(toBoard)
  const last = page.at(-1)
  return { boards: page, next: rows.length > page.length && last ? `${last.createdAt.getTime()}.${last.id}` : null }
}

/** One board with its pins in the owner's order. @throws AppError not_found, also for another account's. */
export async function loadBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<{ board: Board; pins: Pin[] }> {
  if (!isId(boardId)) throw notFound('board')
  return loadOne(db, sql`b.id = ${boardId} and b.account_id = ${accountId}`)
}

/** The board behind a share link. @throws AppError not_found: never shared and no longer shared look alike. */
export async function loadSharedBoard(db: DbOrTx, token: string): Promise<{ board: Board; pins: Pin[] }> {
  return loadOne(db, sql`b.share_hash = ${sha256(token.slice(0, 200))}`)
}

async function loadOne(db: DbOrTx, where: SQL): Promise<{ board: Board; pins: Pin[] }> {
  // One statement, so that the count and the pins are of one moment.
  const { rows } = await db.execute<
    BoardRow & { pins: { frame_id: string; note: string | null; pinned_at: string }[] }
  >(sql`
    select ${boardColumns},
           coalesce((select json_agg(json_build_object('frame_id', i.frame_id, 'note', i.note, 'pinned_at', i.pinned_at) order by i.position)
                       from board_items i where i.board_id = b.id), '[]') as pins
      from boards b where ${where}`)
  const row = rows[0]
  if (!row) throw notFound('board')
  return {
    board: toBoard(row),
    pins: row.pins.map((pin) => ({ frameId: pin.frame_id, note: pin.note, pinnedAt: new Date(pin.pinned_at) })),
  }
}

/** The same name again changes nothing. @throws AppError not_found, invalid_request. */
export async function renameBoard(
  db: DbOrTx,
  { accountId, boardId, name: given }: { accountId: string; boardId: string; name: string },
): Promise<Board> {
  const name = parseBoardName(given)
  return inTransaction(db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    if (board.name !== name) {
      await tx.execute(sql`update boards set name = ${name}, updated_at = now() where id = ${boardId}`)
      await appendEvent(tx, {
        type: 'board.renamed',
        subject: boardId,
        accountId,
        data: { board_id: boardId, name, previous_name: board.name },
      })
    }
    return (await loadBoard(tx, { accountId, boardId })).board
  })
}

/** The board with its pins. @throws AppError not_found. */
export async function deleteBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    await removeBoard(tx, accountId, board, 'board_deleted')
  })
}

/** For the deletion of an account, whose row the caller holds. */
export async function deleteAllBoards(tx: Tx, accountId: string): Promise<void> {
  const { rows } = await tx.execute<{ id: string; name: string }>(
    sql`select id, name from boards where account_id = ${accountId} order by id for update`,
  )
  for (const board of rows) await removeBoard(tx, accountId, board, 'account_deleted')
}

async function removeBoard(
  tx: Tx,
  accountId: string,
  board: { id: string; name: string },
  cause: 'board_deleted' | 'account_deleted',
): Promise<void> {
  const unpinned = await removePins(tx, sql`i.board_id = ${board.id}`, cause)
  await tx.execute(sql`delete from boards where id = ${board.id}`)
  await appendEvent(tx, {
    type: 'board.deleted',
    subject: board.id,
    accountId,
    data: {
      board_id: board.id,
      name: board.name,
      item_count: unpinned.length,
      ...(cause === 'account_deleted' ? { cause } : {}),
    },
  })
}

/**
 * Pins a frame, moves it, or changes its note; what is not given stays as it is, a new pin goes to the end. `position` counts from 0, one past the end is the end.
 * Repeating it changes nothing and tells of nothing.
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
    const present = before[from]
    const ids = before.map((item) => item.frame_id)
    if (present) ids.splice(from, 1)
    else if (ids.length >= MAX_PINS) throw tooMany()
    const to = Math.min(pin.position ?? (present ? from : ids.length), ids.length)
    ids.splice(to, 0, frameId)
    if (!present)
      await tx.execute(
        sql`insert into board_items (board_id, frame_id, position, note) values (${boardId}, ${frameId}, ${to}, ${note ?? null})`,
      )
    await writeOrder(tx, boardId, ids)
    const events: NewEvent[] = []
    const about = { subject: boardId, accountId }
    if (!present) events.push({ ...about, type: 'board.frame_pinned', data: { board_id: boardId, ...facts } })
    else {
      if (to !== from)
        events.push({
          ...about,
          type: 'board.frame_moved',
          data: { board_id: boardId, ...facts, position: to, previous_position: from },
        })
      if (note !== undefined && note !== present.note) {
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
      await touch(tx, board.id)
      await appendEvents(tx, events)
    }
    return { pinned: !present, position: to }
  })
}

/** Pins many at the end in the order given: all or, with an unknown id among them, none. Frames already there stay where they are. */
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
    const present = new Set((await orderOf(tx, boardId)).map((item) => item.frame_id))
    const pinned = wanted.filter((id) => !present.has(id))
    if (present.size + pinned.length > MAX_PINS) throw tooMany()
    if (pinned.length > 0) {
      await tx.execute(sql`
        insert into board_items (board_id, frame_id, position, note)
        select ${boardId}, frame_id, ${present.size} + n - 1, ${note}
          from unnest(${sql.param(pinned)}::text[]) with ordinality as given(frame_id, n)`)
      await touch(tx, board.id)
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
    return { pinned, already: wanted.filter((id) => present.has(id)) }
  })
}

/** Frames that are not pinned are passed over. @throws AppError not_found for the board. */
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
      await touch(tx, boardId)
    }
    return { unpinned }
  })
}

/** A new link; an earlier one stops working. The token is told here and never again. @throws AppError not_found. */
export async function shareBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<{ token: string }> {
  return inTransaction(db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    const token = `flb_${randomBase62(32)}`
    await tx.execute(sql`update boards set share_hash = ${sha256(token)}, shared_at = now() where id = ${boardId}`)
    await appendEvent(tx, {
      type: 'board.shared',
      subject: boardId,
      accountId,
      data: { board_id: boardId, name: board.name },
    })
    return { token }
  })
}

/** The link is dead at the next request. Nothing changes when there is none. @throws AppError not_found. */
export async function unshareBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    const { rowCount } = await tx.execute(
      sql`update boards set share_hash = null, shared_at = null where id = ${boardId} and share_hash is not null`,
    )
    if (rowCount === 1)
      await appendEvent(tx, {
        type: 'board.unshared',
        subject: boardId,
        accountId,
        data: { board_id: boardId, name: board.name },
      })
  })
}

/** Takes frames out of every board that holds them. The caller holds the frames' rows, so no pin of them can be under way. */
export async function undoPins(
  tx: Tx,
  frameIds: readonly string[],
  cause: 'frame_deleted' | 'video_deleted',
): Promise<void> {
  const ids = sql`any(${idArray(frameIds)})`
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from boards where id in (select board_id from board_items where frame_id = ${ids}) order by id for update`,
  )
  if (rows.length === 0) return
  const boardIds = rows.map((row) => row.id)
  await removePins(tx, sql`i.frame_id = ${ids}`, cause)
  await closeGaps(tx, boardIds)
  await tx.execute(sql`update boards set updated_at = now() where id = any(${sql.param(boardIds)}::text[])`)
}

/** The boards' rows are held by the caller. */
async function removePins(tx: Tx, where: SQL, cause: UndoCause): Promise<string[]> {
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

/** Public frames, held against deletion until the transaction ends. */
async function holdFrames(tx: Tx, ids: readonly string[]): Promise<FrameFacts[]> {
  const { rows } = await tx.execute<FrameFacts & Record<string, unknown>>(sql`
    select ${factColumns} from frames f join videos v on v.id = f.video_id
     where f.id = any(${idArray(ids)}) and v.first_ready_at is not null order by f.id for key share of f`)
  return rows
}

async function lockBoard(
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

async function orderOf(tx: Tx, boardId: string): Promise<{ frame_id: string; note: string | null }[]> {
  const { rows } = await tx.execute<{ frame_id: string; note: string | null }>(
    sql`select frame_id, note from board_items where board_id = ${boardId} order by position`,
  )
  return rows
}

async function writeOrder(tx: Tx, boardId: string, ids: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update board_items i set position = given.n - 1 from unnest(${sql.param([...ids])}::text[]) with ordinality as given(frame_id, n)
     where i.board_id = ${boardId} and i.frame_id = given.frame_id and i.position <> given.n - 1`)
}

async function closeGaps(tx: Tx, boardIds: readonly string[]): Promise<void> {
  await tx.execute(sql`
    update board_items i set position = dense.n - 1
      from (select board_id, frame_id, row_number() over (partition by board_id order by position) as n
              from board_items where board_id = any(${sql.param([...boardIds])}::text[])) dense
     where i.board_id = dense.board_id and i.frame_id = dense.frame_id and i.position <> dense.n - 1`)
}

async function touch(tx: Tx, boardId: string): Promise<void> {
  await tx.execute(sql`update boards set updated_at = now() where id = ${boardId}`)
}

function parseNote(text: string | null): string | null {
  const note = text?.toWellFormed().normalize('NFC').replaceAll('\0', '').trim() ?? ''
  if (note.length > MAX_NOTE) throw invalid('note', `A note has at most ${MAX_NOTE} characters.`)
  return note === '' ? null : note
}

function tooMany(): AppError {
  return new AppError('conflict', `A board holds at most ${MAX_PINS} frames.`)
}

function toBoard(row: BoardRow): Board {
  return {
    id: row.id,
    name: row.name,
    itemCount: row.item_count,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    sharedAt: row.shared_at === null ? null : new Date(row.shared_at),
    coverFrameIds: row.cover_frame_ids,
  }
}
