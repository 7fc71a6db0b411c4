import type { Db, Tx } from '../../db/client.ts'
import { toCloudEvent } from '../../events/cloud-event.ts'
import { readAccountEvents } from '../../events/read.ts'
import { type SQL, sql } from '../../sql/orm.ts'
import { toShownAddress } from '../../video/source/shown-address.ts'
import { PRESENT } from '../collections/board-settings.ts'
import { loadBoard } from '../collections/boards.ts'
import { type Account, describeAccount, loadAccountByEmail } from './accounts.ts'

/** Rows per read. */
const BATCH = 500

type Row = Record<string, unknown>
type Batches = AsyncGenerator<readonly object[]>

interface AccountExport {
  account: object
  lists: Readonly<Record<string, Batches>>
}

/**
 * Passes `write` everything that is stored about a person, as lists in batches from one snapshot. It contains no
 * secrets: only their hashes are stored. @throws AppError not_found
 */
export async function exportAccount(
  db: Db,
  { email, publicUrl }: { email: string; publicUrl: string },
  write: (found: AccountExport) => Promise<void>,
): Promise<void> {
  const snapshot = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const
  await db.transaction(async (tx) => {
    // The reader of the export may be slow, and a long log is read whole.
    await tx.execute(sql`set local idle_in_transaction_session_timeout = 0`)
    await tx.execute(sql`set local statement_timeout = 0`)
    const account = await loadAccountByEmail(tx, email)
    const entry = { ...describeAccount(account), name: account.name }
    await write({ account: entry, lists: listsOf(tx, account, publicUrl) })
  }, snapshot)
}

function listsOf(tx: Tx, { id, email }: Account, publicUrl: string): AccountExport['lists'] {
  return {
    keys: whole(
      tx,
      sql`select id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at, replaced_by
            from api_keys where account_id = ${id} order by created_at, id`,
    ),
    apps: whole(
      tx,
      sql`select id, client_name as name, returns_to, scopes, created_at, last_used_at
            from grants where account_id = ${id} order by created_at, id`,
    ),
    sessions: whole(tx, sql`select created_at, expires_at from sessions where account_id = ${id} order by created_at`),
    sign_in_links: whole(
      tx,
      sql`select created_at, expires_at from sign_in_links where email = ${email} order by created_at`,
    ),
    stored_answers: whole(
      tx,
      sql`select status, body, created_at from idempotency_keys where account_id = ${id} order by created_at`,
    ),
    removed_saves: whole(
      tx,
      sql`select frame_id, created_at as saved_at, removed_at from removed_saves
           where account_id = ${id} order by removed_at, frame_id`,
    ),
    deleted_boards: whole(
      tx,
      sql`select id, name, description, created_at, deleted_at,
                 array(select note from board_items where board_id = b.id and note is not null) as notes
            from boards b where account_id = ${id} and not ${PRESENT} order by deleted_at, id`,
    ),
    saves: savesOf(tx, id),
    boards: boardsOf(tx, id),
    events: eventsOf(tx, id, publicUrl),
  }
}

async function* whole(tx: Tx, query: SQL): Batches {
  const { rows } = await tx.execute<Row>(query)
  yield rows.map(toShown)
}

async function* savesOf(tx: Tx, accountId: string): Batches {
  for (let after = '0'; ; ) {
    const { rows } = await tx.execute<Row & { seq: string }>(sql`
      select s.seq, s.frame_id, v.title as video_title, v.source_url, s.created_at as saved_at
        from saves s join frames f on f.id = s.frame_id join videos v on v.id = f.video_id
       where s.account_id = ${accountId} and s.seq > ${after}::bigint order by s.seq limit ${BATCH}`)
    yield rows.map(({ seq: _, ...row }) => toShown(row))
    if (rows.length < BATCH) return
    after = rows.at(-1)!.seq
  }
}

/** One board a batch: it may have 5,000 notes. */
async function* boardsOf(tx: Tx, accountId: string): Batches {
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from boards where account_id = ${accountId} and ${PRESENT} order by created_at, id`,
  )
  for (const { id } of rows) {
    const { board, pins } = await loadBoard(tx, { accountId, boardId: id })
    const { name, description, createdAt, updatedAt, sharedAt } = board
    const items = pins.map(({ frameId, note, pinnedAt }) => ({ frame_id: frameId, note, pinned_at: pinnedAt }))
    yield [{ id, name, description, created_at: createdAt, updated_at: updatedAt, shared_at: sharedAt, items }]
  }
}

async function* eventsOf(tx: Tx, accountId: string, publicUrl: string): Batches {
  for await (const events of readAccountEvents(tx, accountId, BATCH))
    yield events.map((event) => toCloudEvent(event, publicUrl))
}

const TIME = /^(at|refresh_before|\w+_at)$/

/** PostgreSQL's text of the time columns becomes RFC 3339. Addresses go without what lets their holder in. */
function toShown(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value !== 'string') return [name, value]
      if (name === 'source_url') return [name, toShownAddress(value)]
      return [name, TIME.test(name) ? new Date(value).toISOString() : value]
    }),
  )
}
