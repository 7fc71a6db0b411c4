import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import { AppError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'

/*
 * Every transaction locks in one order: the account, frames by id, boards by id. A save locks its frame's row, so that
 * counts add up and the frame cannot be deleted between the check and the insert.
 */

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
  throw new AppError('not_found', wanted.length > 1 ? `${which} Nothing was changed.` : which)
}

export async function lockFrames(tx: Tx, where: SQL, strength: 'update' | 'no key update'): Promise<void> {
  await tx.execute(sql`select 1 from frames f where ${where} order by f.id for ${sql.raw(strength)}`)
}
