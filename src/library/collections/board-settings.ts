import { createHmac } from 'node:crypto'
import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { boards } from '../../db/schema/collections.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { and, eq, type SQL, sql } from '../../sql/orm.ts'
import { isId, sha256 } from '../ids.ts'
import { loadKey } from '../settings.ts'

/** A board with the version of its state. The version changes with every change of the board or of its pins. */
export interface BoardVersion {
  id: string
  version: string
}

/** A board of an account, which may be another's. */
export interface OnBoard {
  accountId: string
  boardId: string
}

/** Of `boards`: not deleted. Every read of the table asks for it. */
export const PRESENT = sql.raw('deleted_at is null')
/** Deleted, and its owner can still take it back. */
export const RESTING = sql.raw(`deleted_at > now() - interval '24 hours'`)

/* Positions of pins change under the lock of their board's row. */

interface LockedBoard extends Record<string, unknown> {
  id: string
  name: string
  description: string | null
  itemCount: number
}

/** @throws AppError not_found, also for another account's board. */
export async function lockBoard(tx: Tx, { accountId, boardId }: OnBoard, state = PRESENT): Promise<LockedBoard> {
  if (!isId(boardId)) throw notFound('board')
  const { rows } = await tx.execute<LockedBoard>(
    sql`select id, name, description, item_count as "itemCount" from boards
         where id = ${boardId} and account_id = ${accountId} and ${state} for update`,
  )
  if (!rows[0]) throw notFound('board')
  return rows[0]
}

export async function touchBoard(tx: Tx, boardId: string): Promise<void> {
  await tx.execute(sql`update boards set updated_at = now() where id = ${boardId}`)
}

/**
 * Chooses the cover of a board: one of its pins, or null for the first one. A repeat changes nothing.
 * @throws AppError not_found for the board, or for a frame that is not pinned to it.
 */
export async function setCover(
  db: DbOrTx,
  { accountId, boardId, frameId }: OnBoard & { frameId: string | null },
): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    if (frameId !== null) {
      const { rows } = await tx.execute(
        sql`select 1 from board_items where board_id = ${boardId} and frame_id = ${frameId.slice(0, 64)}`,
      )
      if (rows.length === 0) throw notFound('pinned frame')
    }
    const { rowCount } = await tx.execute(sql`
      update boards set cover_frame_id = ${frameId}, updated_at = now()
       where id = ${boardId} and cover_frame_id is distinct from ${frameId}`)
    if (rowCount === 1)
      await appendEvent(tx, {
        type: 'board.cover_chosen',
        subject: boardId,
        accountId,
        data: { board_id: boardId, name: board.name, frame_id: frameId },
      })
  })
}

type OwnedVersion = BoardVersion & { accountId: string }

export class ShareEnded extends AppError {
  constructor() {
    super('not_found', 'This share link has ended, or is incomplete. Ask the owner of the board for a new one.')
  }
}

/**
 * The board behind a share link. @throws ShareEnded: unknown and revoked links, and those of a disabled account, look
 * alike.
 */
export async function findSharedBoard(db: DbOrTx, token: string): Promise<OwnedVersion & { owner: string | null }> {
  const { rows } = await db.execute<OwnedVersion & { owner: string | null } & Record<string, unknown>>(sql`
    select b.id, b.account_id as "accountId", b.xmin::text as version, a.name as owner
      from boards b join accounts a on a.id = b.account_id
     where b.share_hash = ${hashOf(token)} and a.disabled_at is null`)
  if (!rows[0]) throw new ShareEnded()
  return rows[0]
}

const hashOf = (token: string) => sha256(token.slice(0, 200))

/** A token of 192 bits under a key in the settings. The row keeps its hash; the owner is shown it again. */
function tokenOf(key: Buffer, boardId: string, sharedAtMs: number): string {
  return `flb_${createHmac('sha256', key).update(`${boardId} ${sharedAtMs}`).digest('hex').slice(0, 48)}`
}

/** The token of the present link; null where there is none. */
export async function findShareToken(db: DbOrTx, { accountId, boardId }: OnBoard): Promise<string | null> {
  const [row] = await db
    .select({ sharedAt: boards.sharedAt })
    .from(boards)
    .where(and(eq(boards.id, boardId), eq(boards.accountId, accountId)))
  return row?.sharedAt ? tokenOf(await loadKey(db, 'share-links'), boardId, row.sharedAt.getTime()) : null
}

/** Creates a new link and revokes the earlier one. @throws AppError not_found. */
export async function shareBoard(db: DbOrTx, { accountId, boardId }: OnBoard): Promise<{ token: string }> {
  return inTransactionOf(accountId, db, async (tx) => {
    const board = await lockBoard(tx, { accountId, boardId })
    // Later than the link before, which would otherwise be the same.
    const { rows } = await tx.execute<{ ms: string }>(sql`
      update boards set shared_at = greatest(now(), shared_at + interval '1 millisecond') where id = ${boardId}
       returning (extract(epoch from shared_at) * 1000)::bigint as ms`)
    const token = tokenOf(await loadKey(tx, 'share-links'), boardId, Number(rows[0]!.ms))
    await tx.execute(sql`update boards set share_hash = ${sha256(token)} where id = ${boardId}`)
    await appendEvent(tx, {
      type: 'board.shared',
      subject: boardId,
      accountId,
      data: { board_id: boardId, name: board.name },
    })
    return { token }
  })
}

/** Ends the link from the next request on. No-op when there is none. @throws AppError not_found. */
export async function unshareBoard(db: DbOrTx, { accountId, boardId }: OnBoard): Promise<void> {
  await inTransactionOf(accountId, db, async (tx) => {
    await lockBoard(tx, { accountId, boardId })
    await endShares(tx, sql`id = ${boardId} and share_hash is not null`, 'owner')
  })
}

/**
 * Ends a share link as an operator, whoever owns the board. `link`: the address of the page or of its JSON, or the
 * token at its end. @throws AppError not_found: there is no such link.
 */
export async function endShare(db: Db, link: string): Promise<void> {
  const token = /flb_[0-9A-Za-z]+/.exec(link)?.[0] ?? ''
  const ended = await db.transaction((tx) => endShares(tx, sql`share_hash = ${hashOf(token)}`, 'operator'))
  if (ended === 0) throw notFound('share link')
}

export async function endShares(
  tx: Tx,
  where: SQL,
  endedBy: 'owner' | 'operator' | 'account_deleted',
): Promise<number> {
  const { rows } = await tx.execute<{ id: string; account_id: string; name: string }>(
    sql`update boards set share_hash = null, shared_at = null where ${where} returning id, account_id, name`,
  )
  for (const { id, account_id, name } of rows)
    await appendEvent(tx, {
      type: 'board.unshared',
      subject: id,
      accountId: account_id,
      data: { board_id: id, name, ended_by: endedBy },
    })
  return rows.length
}
