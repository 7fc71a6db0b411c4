import { characterCount, cleanLines, cleanText } from '../../clean-text.ts'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { boards } from '../../db/schema/collections.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, eq, type SQL, sql } from '../../sql/orm.ts'
import { idArray, isId, randomId } from '../ids.ts'
import {
  type BoardVersion,
  endShares,
  findSharedBoard,
  lockBoard,
  type OnBoard,
  PRESENT,
  RESTING,
  setCover,
} from './board-settings.ts'
import { recordAllPins } from './pins.ts'

const MAX_BOARDS = 1_000
export const MAX_BOARD_NAME = 120
export const MAX_BOARD_DESCRIPTION = 2_000

export interface Board {
  id: string
  name: string
  description: string | null
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

/** Times come from raw queries as text. */
type BoardRow = Omit<Board, 'createdAt' | 'updatedAt' | 'sharedAt'> & {
  createdAt: string
  updatedAt: string
  sharedAt: string | null
}
type PinRow = Omit<Pin, 'pinnedAt'> & { pinnedAt: string }

// The covers come from two indexes, so a board of 5,000 pins costs no more than one of five.
const boardColumns = sql.raw(`b.id, b.name, b.description, b.item_count as "itemCount", b.created_at as "createdAt",
  b.updated_at as "updatedAt", b.shared_at as "sharedAt",
  (array(select i.frame_id from board_items i where i.board_id = b.id and i.frame_id = b.cover_frame_id) ||
   array(select i.frame_id from board_items i where i.board_id = b.id and i.frame_id is distinct from b.cover_frame_id
          order by i.position limit 4))[1:4] as "coverFrameIds"`)

/** @throws AppError invalid_request. */
function parseBoardName(text: string): string {
  const name = cleanText(text)
  if (name === '' || characterCount(name) > MAX_BOARD_NAME || /\p{Cc}/u.test(text.trim()) || !text.isWellFormed())
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
    await requireRoom(tx, accountId)
    const [row] = await tx.insert(boards).values({ id: randomId(), accountId, name }).returning()
    await appendEvent(tx, { type: 'board.created', subject: row!.id, accountId, data: { board_id: row!.id, name } })
    const { id, createdAt, updatedAt } = row!
    return { id, name, description: null, itemCount: 0, createdAt, updatedAt, sharedAt: null, coverFrameIds: [] }
  })
}

/** Locks the account, so that counting is safe. @throws AppError conflict at MAX_BOARDS. */
async function requireRoom(tx: Tx, accountId: string): Promise<void> {
  await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
  if ((await countBoards(tx, accountId)) >= MAX_BOARDS)
    throw new AppError('conflict', `An account holds at most ${MAX_BOARDS} boards. Delete one first.`)
}

export async function countBoards(db: DbOrTx, accountId: string): Promise<number> {
  return db.$count(boards, and(eq(boards.accountId, accountId), PRESENT))
}

export interface BoardChoice extends Board {
  /** How many of the frames are on it. */
  held: number
}
type BoardSize = Pick<Board, 'itemCount'>

const MAX_CHOICES = 200

/** The boards that frames may be put on, those that were changed lately first. */
export async function listBoardChoices(
  db: DbOrTx,
  { accountId, frameIds }: { accountId: string; frameIds: readonly string[] },
): Promise<BoardChoice[]> {
  const { rows } = await db.execute<BoardRow & { held: number }>(sql`
    select ${boardColumns},
           (select count(*)::int from board_items i
             where i.board_id = b.id and i.frame_id = any(${idArray(frameIds)})) as held
      from boards b where b.account_id = ${accountId} and ${PRESENT}
     order by b.updated_at desc, b.id limit ${MAX_CHOICES}`)
  return rows.map((row) => ({ ...toBoard(row), held: row.held }))
}

/**
 * The account's first board of this name, in the same letter case or else in another; created if there is none. Of two
 * concurrent calls the second finds the first's.
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
       where b.account_id = ${accountId} and lower(b.name) = lower(${name}) and ${PRESENT}
       order by b.name <> ${name}, b.created_at, b.id limit 1`)
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
     where account_id = ${accountId} and ${PRESENT} and (id = ${name} or lower(name) = lower(${name}))
     order by rank, created_at, id`)
  return rows.filter(({ rank }) => rank === rows[0]!.rank).map(({ id }) => id)
}

/** The cursor of a list of boards: when its last one was created, and its id. */
export const BOARD_CURSOR = /^(\d{1,14})\.([0-9A-Za-z]{1,32})$/

/**
 * Newest first. Without a limit the page holds all boards; `next` is null at the end.
 * @throws AppError invalid_request for a bad cursor.
 */
export async function listBoards(
  db: DbOrTx,
  accountId: string,
  { limit, after }: { limit?: number | undefined; after?: string | undefined } = {},
): Promise<{ boards: Board[]; next: string | null }> {
  const cursor = after === undefined ? undefined : BOARD_CURSOR.exec(after)
  if (cursor === null)
    throw new AppError('invalid_request', 'after: not a cursor of this list. Use the `next` of an earlier page.')
  const behind = cursor
    ? sql`and (b.created_at, b.id) < (${new Date(Number(cursor[1])).toISOString()}::timestamptz, ${cursor[2]!})`
    : sql``
  const { rows } = await db.execute<BoardRow>(sql`
    select ${boardColumns} from boards b where b.account_id = ${accountId} and ${PRESENT} ${behind}
     order by b.created_at desc, b.id desc ${limit === undefined ? sql`` : sql`limit ${limit + 1}`}`)
  const page = (limit === undefined ? rows : rows.slice(0, limit)).map(toBoard)
  const last = page.at(-1)
  return { boards: page, next: rows.length > page.length && last ? `${last.createdAt.getTime()}.${last.id}` : null }
}

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
export async function loadBoard(db: DbOrTx, { accountId, boardId }: OnBoard, page?: PinPage): Promise<LoadedBoard> {
  if (!isId(boardId)) throw notFound('board')
  return loadOne(db, sql`b.id = ${boardId} and b.account_id = ${accountId}`, page)
}

/** @throws AppError as loadBoard. */
export async function findBoard(
  db: DbOrTx,
  { accountId, boardId }: OnBoard,
  state = PRESENT,
): Promise<BoardVersion & BoardSize> {
  if (!isId(boardId)) throw notFound('board')
  // Each change writes the board's row, so the row's transaction number identifies its state.
  const { rows } = await db.execute<BoardVersion & BoardSize & Record<string, unknown>>(
    sql`select id, xmin::text as version, item_count as "itemCount" from boards
         where id = ${boardId} and account_id = ${accountId} and ${state}`,
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
  const { rows } = await db.execute<BoardRow & { pins: (PinRow & { position: number })[] }>(sql`
    select ${boardColumns},
           coalesce((select json_agg(json_build_object(
                              'frameId', p.frame_id, 'note', p.note, 'pinnedAt', p.pinned_at,
                              'position', p.position) order by p.position)
                       from (select * from board_items i where i.board_id = b.id ${behind} ${cut}) p), '[]') as pins
      from boards b where ${where} and ${PRESENT}`)
  if (!rows[0]) throw notFound('board')
  const { pins, ...board } = rows[0]
  const shown = pins.slice(0, limit)
  const last = shown.at(-1)
  return {
    board: toBoard(board),
    pins: shown.map(toPin),
    next: last && shown.length < pins.length ? String(last.position) : null,
  }
}

/** The pins of these frames, in the order of the ids. A frame that is no longer pinned is left out. */
export async function loadPins(db: DbOrTx, { id }: Pick<Board, 'id'>, frameIds: readonly string[]): Promise<Pin[]> {
  const { rows } = await db.execute<PinRow>(
    sql`select i.frame_id as "frameId", i.note, i.pinned_at as "pinnedAt"
          from unnest(${sql.param(frameIds)}::text[]) with ordinality as wanted(frame_id, n)
          join board_items i on i.board_id = ${id} and i.frame_id = wanted.frame_id order by wanted.n`,
  )
  return rows.map(toPin)
}

/** All pins in the owner's order. Each batch is loaded once the one before is taken. */
export async function* pinBatches(db: DbOrTx, board: Pick<Board, 'id'>, size: number): AsyncGenerator<Pin[], void> {
  // Ids only, because a full board has 5,000 pins.
  const { rows } = await db.execute<{ ids: string | null }>(
    sql`select string_agg(frame_id, ',' order by position) as ids from board_items where board_id = ${board.id}`,
  )
  const ids = rows[0]?.ids?.split(',') ?? []
  for (let from = 0; from < ids.length; from += size) yield loadPins(db, board, ids.slice(from, from + size))
}

/** Renames or describes a board. A repeat changes nothing. @throws AppError not_found, invalid_request. */
export async function updateBoard(
  db: DbOrTx,
  { accountId, boardId, ...wanted }: OnBoard & BoardChanges,
): Promise<{ board: Board; changed: ('name' | 'description')[] }> {
  const name = wanted.name === undefined ? undefined : parseBoardName(wanted.name)
  const description = wanted.description === undefined ? undefined : parseDescription(wanted.description)
  return inTransactionOf(accountId, db, async (tx) => {
    const before = await lockBoard(tx, { accountId, boardId })
    const about = { subject: boardId, accountId }
    const changed: ('name' | 'description')[] = []
    if (name !== undefined && name !== before.name) {
      await tx.execute(sql`update boards set name = ${name}, updated_at = now() where id = ${boardId}`)
      const data = { board_id: boardId, name, previous_name: before.name }
      await appendEvent(tx, { ...about, type: 'board.renamed', data })
      changed.push('name')
    }
    if (description !== undefined && description !== before.description) {
      await tx.execute(sql`update boards set description = ${description}, updated_at = now() where id = ${boardId}`)
      const data = { board_id: boardId, name: name ?? before.name, has_description: description !== null }
      await appendEvent(tx, { ...about, type: 'board.described', data })
      changed.push('description')
    }
    return { board: (await loadBoard(tx, { accountId, boardId }, { limit: 0 })).board, changed }
  })
}

export interface BoardChanges {
  name?: string | undefined
  /** Null or an empty text removes it. */
  description?: string | null | undefined
}

function parseDescription(text: string | null): string | null {
  const description = cleanLines(text ?? '')
  if (characterCount(description) > MAX_BOARD_DESCRIPTION)
    throw invalid('description', `A description has at most ${MAX_BOARD_DESCRIPTION} characters.`)
  return description === '' ? null : description
}

/** The board is there for nobody any more. `restoreBoard` takes it back within a day. @throws AppError not_found. */
export async function deleteBoard(db: DbOrTx, { accountId, boardId }: OnBoard): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    const { name } = await lockBoard(tx, { accountId, boardId })
    await recordDeletion(tx, { accountId, boardId, name }, 'board_deleted')
    await tx.execute(sql`update boards set deleted_at = now() where id = ${boardId}`)
  })
}

/**
 * Takes a deleted board back, without its share link. Frames that the library no longer has are not on it. Every plan:
 * the account gets what it had.
 * @throws AppError not_found when the board is not one that rests, conflict at MAX_BOARDS.
 */
export async function restoreBoard(db: DbOrTx, { accountId, boardId }: OnBoard): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    await requireRoom(tx, accountId)
    const { name } = await lockBoard(tx, { accountId, boardId }, RESTING)
    await tx.execute(sql`update boards set deleted_at = null, updated_at = now() where id = ${boardId}`)
    await appendEvent(tx, { type: 'board.created', subject: boardId, accountId, data: { board_id: boardId, name } })
    await recordAllPins(tx, { accountId, boardId }, { type: 'board.frame_pinned' })
  })
}

/**
 * A board of the account's own, with the description, the frames, the notes and the chosen cover of a shared one.
 * @throws AppError not_found where the link has ended, conflict at MAX_BOARDS
 */
export async function copySharedBoard(db: DbOrTx, { accountId, token }: { accountId: string; token: string }) {
  const found = await findSharedBoard(db, token)
  return inTransactionOf(accountId, db, async (tx) => {
    const { board: shared } = await loadFoundBoard(tx, found, { limit: 0 })
    const board = await createBoard(tx, { accountId, name: shared.name })
    const pinned = sql`select frame_id from board_items where board_id = ${shared.id}`
    await tx.execute(sql`select 1 from frames where id in (${pinned}) order by id for key share`)
    await tx.execute(sql`
      insert into board_items (board_id, frame_id, position, note)
      select ${board.id}, frame_id, position, note from board_items where board_id = ${shared.id}`)
    const own = { accountId, boardId: board.id }
    await recordAllPins(tx, own, { type: 'board.frame_pinned' })
    const { rows } = await tx.execute<{ frameId: string }>(sql`
      select frame_id as "frameId" from board_items
       where board_id = ${board.id} and frame_id = (select cover_frame_id from boards where id = ${shared.id})`)
    if (rows[0]) await setCover(tx, { ...own, ...rows[0] })
    return (await updateBoard(tx, { ...own, description: shared.description })).board
  })
}

/** Removes boards that have rested for a day, one in a transaction: each may have 5,000 pins. */
export async function sweepBoards(db: Db): Promise<void> {
  const sweepOne = () =>
    db.execute(sql`
      delete from boards where id = (select id from boards where not ${RESTING} limit 1) and not ${RESTING}`)
  while ((await sweepOne()).rowCount === 1);
}

/** Part of deleting an account, whose row the caller has locked: deletes one board. False when none is left. */
export async function deleteSomeBoard(tx: Tx, accountId: string): Promise<boolean> {
  const { rows } = await tx.execute<{ id: string; name: string; present: boolean }>(sql`
    select id, name, ${PRESENT} as present from boards where account_id = ${accountId} order by id limit 1 for update`)
  if (!rows[0]) return false
  const { id: boardId, name, present } = rows[0]
  if (present) await recordDeletion(tx, { accountId, boardId, name }, 'account_deleted')
  await tx.execute(sql`delete from boards where id = ${boardId}`)
  return true
}

async function recordDeletion(
  tx: Tx,
  { accountId, boardId, name }: OnBoard & { name: string },
  cause: 'board_deleted' | 'account_deleted',
): Promise<void> {
  const because = cause === 'board_deleted' ? 'owner' : cause
  await endShares(tx, sql`id = ${boardId} and share_hash is not null`, because)
  const count = await recordAllPins(tx, { accountId, boardId }, { type: 'board.frame_unpinned', cause })
  const data = { board_id: boardId, name, item_count: count, cause: because } as const
  await appendEvent(tx, { type: 'board.deleted', subject: boardId, accountId, data })
}

function toBoard({ createdAt, updatedAt, sharedAt, ...row }: BoardRow): Board {
  return {
    ...row,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    sharedAt: sharedAt === null ? null : new Date(sharedAt),
  }
}

function toPin({ frameId, note, pinnedAt }: PinRow): Pin {
  return { frameId, note, pinnedAt: new Date(pinnedAt) }
}
