import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { AppError, notFound } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'

/*
 * Locks are taken in one order everywhere: the account, frames by id, boards by id. A save holds its frame's row, so that counts add up and a frame cannot be
 * deleted between the check and the row.
 */

/** What every event about a frame tells, so that it can be counted without a second look-up. */
export type FrameFacts = EventData<'frame.saved'>
export type UndoCause = EventData<'frame.unsaved'>['cause']

/** Of `frames f` joined with `videos v`. */
export const FACT_COLUMNS = 'f.id as frame_id, f.video_id, v.author, f.technique, f.subject'
export const factColumns: SQL = sql.raw(FACT_COLUMNS)

export function toFacts({ frame_id, video_id, author, technique, subject }: FrameFacts): FrameFacts {
  return { frame_id, video_id, author, technique, subject }
}

const ID = /^[0-9A-Za-z_-]{1,64}$/

/** Anything else names nothing; some of it (NUL) cannot even be asked for. */
export function isId(text: string): boolean {
  return ID.test(text)
}

/** A `text[]` parameter of those ids that can exist. */
export function idArray(ids: readonly string[]): SQL {
  return sql`${sql.param([...new Set(ids)].filter(isId))}::text[]`
}

/** @throws AppError not_found that names the missing ids. */
export function requireAll(wanted: readonly string[], found: readonly { frame_id: string }[]): void {
  if (found.length === wanted.length) return
  const known = new Set(found.map((row) => row.frame_id))
  const missing = wanted.filter((id) => !known.has(id))
  if (missing.length === 1) throw notFound('frame')
  throw new AppError('not_found', `No such frames: ${missing.slice(0, 20).join(', ')}.`)
}

export async function lockFrames(tx: Tx, where: SQL, strength: 'update' | 'no key update'): Promise<void> {
  await tx.execute(sql`select 1 from frames f where ${where} order by f.id for ${sql.raw(strength)}`)
}
