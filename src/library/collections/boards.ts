import { type SQL, sql } from 'drizzle-orm'
import { cleanText } from '../../clean-text.ts'
import { type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { boards } from '../../db/schema/collections.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { isId, randomBase62, randomId, sha256 } from '../ids.ts'
import { lockBoard } from './board-lock.ts'
import { removePins } from './pins.ts'

const MAX_BOARDS = 1_000
export const MAX_BOARD_NAME = 120

export interface Board {
  id: string
  name: string
  itemCount: number
  createdAt: Date
  updatedAt: Date
  /** When the current share link was created; null while the board is not shared. */
  sharedAt: Date | null
  /** The chosen cover, then the first frames in the owner's order, at most four. */
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
  array(select i.frame_id from board_items i where i.board_id = b.id
         order by (i.frame_id = b.cover_frame_id) is true desc, i.position limit 4) as cover_frame_ids`)

/** @throws AppError invalid_request. */
function parseBoardName(text: string): string {
  const name = cleanText(text)
  if (name === '' || name.length > MAX_BOARD_NAME || /\p{Cc}/u.test(text.trim()) || !text.isWellFormed())
    throw invalid('name', `A board's name has 1 to ${MAX_BOARD_NAME} characters and stands on one line.`)
  return name
}

/** @throws AppError invalid_request for the name, conflict at MAX_BOARDS. */
export async function createBoard(
  db: DbOrTx,
  { accountId, name: given }: { accountId: string; name: string },
): Promise<Board> {
  const name = parseBoardName(given)
  return inTransactionOf(accountId, db, async (tx) => {
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    const { rows } = await tx.execute<{ held: number }>(
      sql`select count(*)::int as held from boards where account_id = ${accountId}`,
    )
    if (rows[0]!.held >= MAX_BOARDS)
      throw new AppError('conflict', `An account holds at most ${MAX_BOARDS} boards. Delete one first.`)
    const [row] = await tx.insert(boards).values({ id: randomId(), accountId, name }).returning()
    await appendEvent(tx, { type: 'board.created', subject: row!.id, accountId, data: { board_id: row!.id, name } })
    const { id, createdAt, updatedAt } = row!
    return { id, name, itemCount: 0, createdAt, updatedAt, sharedAt: null, coverFrameIds: [] }
  })
}

/**
 * The account's first board of this name, created if there is none. Of two concurrent calls the second finds the
 * first's.
 * @throws AppError as createBoard.
 */
export async function ensureBoard(
  db: DbOrTx,
  { accountId, name: given }: { accountId: string; name: string },
): Promise<{ board: Board; created: boolean }> {
  const name = parseBoardName(given)
  return inTransactionOf(accountId, db, async (tx) => {
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    const { rows } = await tx.execute<BoardRow>(sql`
      select ${boardColumns} from boards b
       where b.account_id = ${accountId} and b.name = ${name} order by b.created_at, b.id limit 1`)
    if (rows[0]) return { board: toBoard(rows[0]), created: false }
    return { board: await createBoard(tx, { accountId, name }), created: true }
  })
}

/** The boards that an id or a name may mean: the id, else the exact name, else the name in another letter case. */
export async function findBoardIds(
  db: DbOrTx,
  { accountId, idOrName }: { accountId: string; idOrName: string },
): Promise<string[]> {
  const name = cleanText(idOrName)
  const { rows } = await db.execute<{ id: string; rank: number }>(sql`
    select id, case when id = ${name} then 0 when name = ${name} then 1 else 2 end as rank from boards
     where account_id = ${accountId} and (id = ${name} or lower(name) = lower(${name})) order by rank, created_at, id`)
  return rows.filter(({ rank }) => rank === rows[0]!.rank).map(({ id }) => id)
}

/**
 * Newest first. Without a limit the page holds all boards; `next` is null at the end.
 * @throws AppError invalid_request for a bad cursor.
 */
export async function listBoards(
  db: DbOrTx,
  accountId: string,
  { limit, after }: { limit?: number | undefined; after?: string | undefined } = {},
): Promise<{ boards: Board[]; next: string | null }> {
  const cursor = after === undefined ? undefined : /^(\d{1,14})\.([0-9A-Za-z]{1,32})$/.exec(after)
  if (cursor === null)
    throw new AppError('invalid_request', 'after: not a cursor of this list. Use the `next` of an earlier page.')
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

/** Pins per page of a board. */
export const BOARD_PAGE = 120
/** The cursor of a page: the place of the last pin before it. */
export const PIN_CURSOR = /^\d{1,9}$/

/** Which pins: a page after a cursor, or a page of another size after a number of pins. */
export interface PinPage {
  /** The `next` of the previous page. */
  after?: string | undefined
  limit: number
  skip?: number
}

export interface LoadedBoard {
  board: Board
  pins: Pin[]
  /** The cursor of the next page; null at the end. */
  next: string | null
}

/**
 * One board with its pins in the owner's order: all of them, or a page.
 * @throws AppError not_found, also for another account's board; invalid_request for a bad cursor.
 */
export async function loadBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
  page?: PinPage,
): Promise<LoadedBoard> {
  if (!isId(boardId)) throw notFound('board')
  return loadOne(db, sql`b.id = ${boardId} and b.account_id = ${accountId}`, page)
}

/** A board with the version of its state. The version changes with every change of the board or of its pins. */
export interface BoardVersion {
  id: string
  version: string
}

/** @throws AppError as loadBoard. */
export async function findBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<BoardVersion> {
  if (!isId(boardId)) throw notFound('board')
  return findOne(db, sql`b.id = ${boardId} and b.account_id = ${accountId}`)
}

/** The board behind a share link. @throws AppError not_found: unknown and revoked links look alike. */
export async function findSharedBoard(db: DbOrTx, token: string): Promise<BoardVersion> {
  return findOne(db, sql`b.share_hash = ${sha256(token.slice(0, 200))}`)
}

async function findOne(db: DbOrTx, where: SQL): Promise<BoardVersion> {
  // Each change writes the board's row, so the row's transaction number identifies its state.
  const { rows } = await db.execute<BoardVersion & Record<string, unknown>>(
    sql`select b.id, b.xmin::text as version from boards b where ${where}`,
  )
  if (!rows[0]) throw notFound('board')
  return rows[0]
}

/** A board that the caller may see. @throws AppError not_found, invalid_request for a bad cursor. */
export async function loadFoundBoard(db: DbOrTx, { id }: BoardVersion, page?: PinPage): Promise<LoadedBoard> {
  return loadOne(db, sql`b.id = ${id}`, page)
}

async function loadOne(db: DbOrTx, where: SQL, page?: PinPage): Promise<LoadedBoard> {
  const { after, limit, skip = 0 } = page ?? {}
  if (after !== undefined && !PIN_CURSOR.test(after))
    throw invalid('after', 'after: not a cursor of this board. Use the `next` of an earlier page.')
  const behind = after === undefined ? sql`` : sql`and i.position > ${after}::int`
  const cut = limit === undefined ? sql`` : sql`order by i.position limit ${limit + 1} offset ${skip}`
  // One statement, so that the count and the pins agree.
  const { rows } = await db.execute<
    BoardRow & { pins: { frame_id: string; note: string | null; pinned_at: string; position: number }[] }
  >(sql`
    select ${boardColumns},
           coalesce((select json_agg(json_build_object(
                              'frame_id', p.frame_id, 'note', p.note, 'pinned_at', p.pinned_at,
                              'position', p.position) order by p.position)
                       from (select * from board_items i where i.board_id = b.id ${behind} ${cut}) p), '[]') as pins
      from boards b where ${where}`)
  const row = rows[0]
  if (!row) throw notFound('board')
  const shown = row.pins.slice(0, limit)
  const last = shown.at(-1)
  return {
    board: toBoard(row),
    pins: shown.map((pin) => ({ frameId: pin.frame_id, note: pin.note, pinnedAt: new Date(pin.pinned_at) })),
    next: last && shown.length < row.pins.length ? String(last.position) : null,
  }
}

/** The frame ids of a board in the owner's order. Ids only, because a full board has 5,000 pins. */
export async function loadPinnedIds(db: DbOrTx, { id }: Pick<Board, 'id'>): Promise<string[]> {
  const { rows } = await db.execute<{ ids: string | null }>(
    sql`select string_agg(i.frame_id, ',' order by i.position) as ids from board_items i where i.board_id = ${id}`,
  )
  return rows[0]?.ids?.split(',') ?? []
}

/** The pins of these frames, in the order of the ids. A frame that is no longer pinned is left out. */
export async function loadPins(db: DbOrTx, { id }: Pick<Board, 'id'>, frameIds: readonly string[]): Promise<Pin[]> {
  const { rows } = await db.execute<{ frame_id: string; note: string | null; pinned_at: string }>(
    sql`select i.frame_id, i.note, i.pinned_at
          from unnest(${sql.param(frameIds)}::text[]) with ordinality as wanted(frame_id, n)
          join board_items i on i.board_id = ${id} and i.frame_id = wanted.frame_id order by wanted.n`,
  )
  return rows.map((row) => ({ frameId: row.frame_id, note: row.note, pinnedAt: new Date(row.pinned_at) }))
}

/** Repeating the name changes nothing. @throws AppError not_found, invalid_request. */
export async function renameBoard(
  db: DbOrTx,
  { accountId, boardId, name: given }: { accountId: string; boardId: string; name: string },
): Promise<Board> {
  const name = parseBoardName(given)
  return inTransactionOf(accountId, db, async (tx) => {
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
    return (await loadBoard(tx, { accountId, boardId }, { limit: 0 })).board
  })
}

/** Deletes the board and its pins. @throws AppError not_found. */
export async function deleteBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    await removeBoard(tx, accountId, board, 'board_deleted')
  })
}

/** Part of deleting an account. The caller has locked the account's row. */
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
      cause: cause === 'board_deleted' ? 'owner' : cause,
    },
  })
}

/** Creates a new link and revokes the earlier one. The token is returned only here. @throws AppError not_found. */
export async function shareBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<{ token: string }> {
  return inTransactionOf(accountId, db, async (tx) => {
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

/** Revokes the link from the next request on. No-op when there is none. @throws AppError not_found. */
export async function unshareBoard(
  db: DbOrTx,
  { accountId, boardId }: { accountId: string; boardId: string },
): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
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
