import { eq, isNotNull, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { techniqueRedirects, techniques } from '../../db/schema/techniques.ts'
import { AppError } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { lockVocabulary } from './vocabulary.ts'

/*
 * A rename or a merge moves every frame of a technique, and readers of the event log wait for each open transaction. So
 * it is marked first, then the frames follow in pieces, and its event comes with the last step. A worker finishes what
 * a stopped process began.
 */

const FRAMES_AT_ONCE = 1_000

/** Marks a technique: from here on its slug, aliases and old slugs stand for `to`. The vocabulary must be locked. */
export async function startMove(tx: Tx, slug: string, { to, as }: { to: string; as: 'renamed' | 'merged' }) {
  const [coming] = await tx.select().from(techniques).where(eq(techniques.movesTo, slug))
  if (coming)
    throw new AppError('conflict', `Frames of ${coming.slug} are still moving to ${slug}. Try again in a moment.`)
  await tx.execute(sql`update technique_redirects set slug = ${to} where slug = ${slug}`)
  await tx.update(techniques).set({ movesTo: to, movesAs: as, aliases: [] }).where(eq(techniques.slug, slug))
}

/** Finishes the moves that have begun. Safe at any time, in any process. */
export async function finishMoves(db: Db, signal?: AbortSignal): Promise<void> {
  const begun = await db.select({ slug: techniques.slug }).from(techniques).where(isNotNull(techniques.movesTo))
  for (const { slug } of begun) await finishMove(db, slug, signal)
}

/** Moves the frames that are left and ends the move. Nothing happens where none has begun. */
export async function finishMove(db: Db, slug: string, signal?: AbortSignal): Promise<void> {
  // Locks frames by id, as every transaction does (frame-facts.ts).
  const moveSome = () =>
    db.execute(sql`
      update frames set technique = t.moves_to, updated_at = now() from techniques t
       where t.slug = ${slug} and t.moves_to is not null and frames.id in (
         select id from frames where technique = ${slug} order by id limit ${FRAMES_AT_ONCE} for no key update)`)
  while (!signal?.aborted) {
    const { rowCount } = await moveSome()
    if (rowCount === 0 && (await endMove(db, slug))) return
  }
}

/** False while frames are left: an answer that was under way may have given it one. */
async function endMove(db: Db, slug: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockVocabulary(tx)
    // Waits for writers whose frames refer to it. Only the next statement sees what they wrote.
    const [row] = await tx.select().from(techniques).where(eq(techniques.slug, slug)).for('update')
    if (!row || row.movesTo === null || row.movesAs === null) return true
    const { rows } = await tx.execute(sql`select 1 from frames where technique = ${slug} limit 1`)
    if (rows.length > 0) return false
    await tx.delete(techniques).where(eq(techniques.slug, slug))
    await tx.insert(techniqueRedirects).values({ oldSlug: slug, slug: row.movesTo })
    const data = { slug: row.movesTo, change: row.movesAs, previous_slug: slug }
    await appendEvent(tx, { type: 'technique.changed', subject: row.movesTo, accountId: null, data })
    return true
  })
}
