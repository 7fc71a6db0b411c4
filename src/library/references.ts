import { sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import { appendEvents } from '../events/append.ts'
import type { NewEvent } from '../events/catalogue.ts'

interface FactsRow extends Record<string, unknown> {
  account_id: string
  frame_id: string
  video_id: string
  author: string | null
  technique: string | null
  subject: string | null
  board_id: string
}

/** Takes frames out of every save and board, with an event for each, before the frames themselves go. */
export async function undoFrameReferences(tx: Tx, frameIds: readonly string[], cause: 'frame_deleted' | 'video_deleted'): Promise<void> {
  if (frameIds.length === 0) return
  const ids = sql`any(${sql.param([...frameIds])}::text[])`
  const saved = await tx.execute<FactsRow>(sql`
    with gone as (delete from saves where frame_id = ${ids} returning account_id, frame_id)
    select gone.account_id, f.id as frame_id, f.video_id, v.author, f.technique, f.subject
      from gone join frames f on f.id = gone.frame_id join videos v on v.id = f.video_id`)
  // Boards in one order, so that two deletions cannot wait for each other.
  await tx.execute(sql`select id from boards where id in (select board_id from board_items where frame_id = ${ids}) order by id for update`)
  const pinned = await tx.execute<FactsRow>(sql`
    with gone as (delete from board_items where frame_id = ${ids} returning board_id, frame_id)
    select b.account_id, b.id as board_id, f.id as frame_id, f.video_id, v.author, f.technique, f.subject
      from gone join boards b on b.id = gone.board_id join frames f on f.id = gone.frame_id join videos v on v.id = f.video_id`)
  if (pinned.rows.length > 0) {
    const touched = sql.param([...new Set(pinned.rows.map((row) => row.board_id))])
    await tx.execute(sql`
      update board_items i set position = o.position
        from (select board_id, frame_id, row_number() over (partition by board_id order by position) - 1 as position
                from board_items where board_id = any(${touched}::text[])) o
       where i.board_id = o.board_id and i.frame_id = o.frame_id and i.position <> o.position`)
    await tx.execute(sql`update boards set updated_at = now() where id = any(${touched}::text[])`)
  }
  const list: NewEvent[] = [
    ...saved.rows.map((row) => ({
      type: 'frame.unsaved' as const,
      subject: row.frame_id,
      accountId: row.account_id,
      data: { ...factsOf(row), cause },
    })),
    ...pinned.rows.map((row) => ({
      type: 'board.frame_unpinned' as const,
      subject: row.board_id,
      accountId: row.account_id,
      data: { board_id: row.board_id, ...factsOf(row), cause },
    })),
  ]
  await appendEvents(tx, list)
}

function factsOf(row: FactsRow) {
  return { frame_id: row.frame_id, video_id: row.video_id, author: row.author, technique: row.technique, subject: row.subject }
}
