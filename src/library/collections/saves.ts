import { type Db, type DbOrTx, inTransactionOf, type Tx } from '../../db/client.ts'
import { deleteInPieces } from '../../db/delete-in-pieces.ts'
import { saves } from '../../db/schema/collections.ts'
import { AppError } from '../../errors.ts'
import { appendEvents } from '../../events/append.ts'
import type { EventData } from '../../events/catalogue.ts'
import { eq, type SQL, sql } from '../../sql/orm.ts'
import { lockFrames } from '../frames/frames.ts'
import { idArray } from '../ids.ts'

export interface Save {
  frameId: string
  savedAt: Date
}

/** Frames that an account saves, or has saved. */
export interface FramesOf {
  accountId: string
  frameIds: readonly string[]
}

/** The fields of every event about a frame, so that consumers can count without a second query. */
export type FrameFacts = EventData<'frame.saved'>
export type UndoCause = EventData<'frame.unsaved'>['cause']

/** Columns of `frames f` joined with `videos v`. */
export const factColumns: SQL = sql.raw('f.id as frame_id, f.video_id, v.author, f.technique, f.subject')

export function toFacts({ frame_id, video_id, author, technique, subject }: FrameFacts): FrameFacts {
  return { frame_id, video_id, author, technique, subject }
}

/** @throws AppError not_found that names the missing ids. One missing id rejects all. */
export function requireAll(wanted: readonly string[], found: readonly { frame_id: string }[]): void {
  if (found.length === wanted.length) return
  const known = new Set(found.map((row) => row.frame_id))
  const missing = wanted.filter((id) => !known.has(id))
  const which = `No such frame${missing.length > 1 ? 's' : ''}: ${missing.slice(0, 20).join(', ')}.`
  const message = wanted.length > 1 ? `${which} Nothing was changed.` : which
  throw new AppError('not_found', message, { missing: 'frame' })
}

/**
 * Saves a public frame for an account. Idempotent: a repeat changes nothing and appends no event.
 * @throws AppError not_found when there is no such public frame.
 */
export async function saveFrame(
  db: DbOrTx,
  { accountId, frameId }: { accountId: string; frameId: string },
): Promise<{ saved: boolean }> {
  const { saved } = await saveFrames(db, { accountId, frameIds: [frameId] })
  return { saved: saved.length === 1 }
}

/** Saves frames; one unknown id rejects them all. `saved` holds the new ones. @throws AppError not_found. */
export async function saveFrames(
  db: DbOrTx,
  { accountId, frameIds }: FramesOf,
): Promise<{ saved: string[]; already: string[] }> {
  const wanted = [...new Set(frameIds)]
  return inTransactionOf(accountId, db, async (tx) => {
    const ids = idArray(wanted)
    // The reference to `caller` makes the account's lock come first. Locking and updating a row under one snapshot can
    // wait for itself: hence two statements.
    const { rows: frames } = await tx.execute<FrameFacts>(sql`
      select f.* from (select id from accounts where id = ${accountId} for key share) caller, lateral (
        select ${factColumns} from frames f join videos v on v.id = f.video_id
         where f.id = any(${ids}) and v.first_ready_at is not null and caller.id = ${accountId}
         order by f.id for no key update of f) f`)
    requireAll(wanted, frames)
    const { rows } = await tx.execute<{ id: string }>(sql`
      with added as (
        insert into saves (account_id, frame_id) select ${accountId}, id from unnest(${ids}) id
        on conflict do nothing returning frame_id)
      update frames f
         set save_count = f.save_count + 1, save_strength = ${sql.raw(addSaveSql('f.save_strength', 'now()'))}
        from added where f.id = added.frame_id returning f.id`)
    const added = new Set(rows.map((row) => row.id))
    const saved = frames.filter((frame) => added.has(frame.frame_id))
    await appendEvents(
      tx,
      saved.map((frame) => ({ type: 'frame.saved', subject: frame.frame_id, accountId, data: toFacts(frame) })),
    )
    return { saved: wanted.filter((id) => added.has(id)), already: wanted.filter((id) => !added.has(id)) }
  })
}

/** Removes saves; ignores ids that are not saved or do not exist. For a day `resaveFrames` takes it back. */
export async function unsaveFrames(db: DbOrTx, { accountId, frameIds }: FramesOf): Promise<{ removed: string[] }> {
  return inTransactionOf(accountId, db, async (tx) => {
    await lockFrames(tx, sql`f.id = any(${idArray(frameIds)})`, 'no key update')
    const mine = sql`s.account_id = ${accountId} and s.frame_id = any(${idArray(frameIds)})`
    await tx.execute(sql`
      insert into removed_saves (account_id, frame_id, seq, created_at)
      select account_id, frame_id, seq, created_at from saves s where ${mine}
      on conflict (account_id, frame_id)
        do update set seq = excluded.seq, created_at = excluded.created_at, removed_at = now()`)
    return { removed: await removeSaves(tx, mine, 'owner') }
  })
}

/**
 * Saves again what was removed within a day, with its times and in its places in the list. Other frames are left out.
 * Every plan: the account gets what it had.
 */
export async function resaveFrames(db: DbOrTx, { accountId, frameIds }: FramesOf): Promise<{ saved: string[] }> {
  return inTransactionOf(accountId, db, async (tx) => {
    const mine = sql`r.account_id = ${accountId} and r.frame_id = any(${idArray(frameIds)}) and ${REMOVED_LATELY}`
    const { rows } = await tx.execute<{ id: string }>(sql`select frame_id as id from removed_saves r where ${mine}`)
    const { saved } = await saveFrames(tx, { accountId, frameIds: rows.map(({ id }) => id) })
    const back = sql`any(${sql.param(saved)}::text[])`
    await tx.execute(sql`
      update saves s set seq = r.seq, created_at = r.created_at from removed_saves r
       where s.account_id = r.account_id and s.frame_id = r.frame_id and ${mine} and r.frame_id = ${back}`)
    await tx.execute(sql`update frames f set save_strength = ${sql.raw(strengthSql('f.id'))} where f.id = ${back}`)
    return { saved }
  })
}

const REMOVED_LATELY = sql.raw(`removed_at > now() - interval '24 hours'`)

/** Forgets removed saves that are to stay removed. */
export async function sweepRemovedSaves(db: Db): Promise<void> {
  await deleteInPieces(db, 'removed_saves', sql`not ${REMOVED_LATELY}`)
}

/**
 * Newest save first. Without a limit the page holds all saves; `next` is null at the end.
 * @throws AppError invalid_request for a bad cursor.
 */
export async function listSaves(
  db: DbOrTx,
  accountId: string,
  { limit, after, skip = 0 }: { limit?: number | undefined; after?: string | undefined; skip?: number } = {},
): Promise<{ saves: Save[]; next: string | null }> {
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    throw new AppError('invalid_request', 'after: not a cursor of this list. Use the `next` of an earlier page.')
  const { rows } = await db.execute<{ seq: string; frame_id: string; created_at: string }>(sql`
    select seq, frame_id, created_at from saves
     where account_id = ${accountId} ${after === undefined ? sql`` : sql`and seq < ${after}::bigint`}
     order by seq desc ${limit === undefined ? sql`` : sql`limit ${limit + 1}`} offset ${skip}`)
  const page = limit === undefined ? rows : rows.slice(0, limit)
  return {
    saves: page.map((row) => ({ frameId: row.frame_id, savedAt: new Date(row.created_at) })),
    next: rows.length > page.length ? String(page.at(-1)!.seq) : null,
  }
}

export async function savedAmong(db: DbOrTx, { accountId, frameIds }: FramesOf): Promise<string[]> {
  const { rows } = await db.execute<{ frame_id: string }>(
    sql`select frame_id from saves where account_id = ${accountId} and frame_id = any(${idArray(frameIds)})`,
  )
  return rows.map((row) => row.frame_id)
}

export async function countSaves(db: DbOrTx, accountId: string): Promise<number> {
  return db.$count(saves, eq(saves.accountId, accountId))
}

/** Part of deleting an account, whose row the caller has locked. False when no save is left. */
export async function deleteSomeSaves(
  tx: Tx,
  { accountId, limit }: { accountId: string; limit: number },
): Promise<boolean> {
  const { rows } = await tx.execute<{ frame_id: string }>(
    sql`select frame_id from saves where account_id = ${accountId} order by seq limit ${limit}`,
  )
  if (rows.length === 0) return false
  const some = sql`any(${sql.param(rows.map((row) => row.frame_id))}::text[])`
  await lockFrames(tx, sql`f.id = ${some}`, 'no key update')
  await removeSaves(tx, sql`s.account_id = ${accountId} and s.frame_id = ${some}`, 'account_deleted')
  return true
}

/**
 * The caller has locked the frames' rows. Strengths are recomputed: subtracting from a sum of powers would lose digits.
 */
export async function removeSaves(tx: Tx, where: SQL, cause: UndoCause): Promise<string[]> {
  const { rows } = await tx.execute<FrameFacts & { account_id: string }>(sql`
    delete from saves s using frames f join videos v on v.id = f.video_id
     where f.id = s.frame_id and ${where} returning s.account_id, ${factColumns}`)
  if (rows.length === 0) return []
  const removed = rows.map((row) => row.frame_id)
  await tx.execute(sql`
    update frames f
       set save_count = (select count(*) from saves where frame_id = f.id),
           save_strength = ${sql.raw(strengthSql('f.id'))}
     where f.id = any(${sql.param(removed)}::text[])`)
  await appendEvents(
    tx,
    rows.map((row) => ({
      type: 'frame.unsaved',
      subject: row.frame_id,
      accountId: row.account_id,
      data: { ...toFacts(row), cause },
    })),
  )
  return removed
}

/** A save counts half as much as one made this much later. */
export const HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1000

/*
 * A frame's save strength is log2 Σ 2^(save time ÷ half-life). This is forward decay (Cormode, Shkapenyuk, Srivastava
 * and Xu, "Forward decay", ICDE 2009). The order of two frames does not depend on the time of reading. The logarithm
 * keeps 2^700 out of a double. Terms are always scaled by the greatest first.
 */

const HALF_LIFE_SEC = HALF_LIFE_MS / 1000
const term = (time: string) => `(extract(epoch from ${time})::float8 / ${HALF_LIFE_SEC})`

/**
 * SQL text: the strength after one more save, log2(2^strength + 2^(time ÷ half-life)). A null strength is the empty
 * sum. The cut-off keeps power() from raising an underflow error.
 */
function addSaveSql(strength: string, time: string): string {
  const added = term(time)
  return `case when ${strength} is null then ${added}
    else greatest(${strength}, ${added})
         + ln(1 + power(2::float8, -least(abs(${strength} - ${added}), 1000))) / ln(2::float8) end`
}

/** SQL text of a scalar subquery: the strength of one frame, recomputed from its saves; null without saves. */
function strengthSql(frameId: string): string {
  return `(select m.greatest
                  + ln(sum(power(2::float8, greatest(${term('s.created_at')} - m.greatest, -1000)))) / ln(2::float8)
    from saves s, (select max(${term('created_at')}) as greatest from saves where frame_id = ${frameId}) m
    where s.frame_id = ${frameId} group by m.greatest)`
}
