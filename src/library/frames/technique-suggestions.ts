import type { Db, Tx } from '../../db/client.ts'
import { annotations, dismissedSuggestions, frames } from '../../db/schema/frames.ts'
import { appendEvent } from '../../events/append.ts'
import { and, eq, inArray, isNotNull, sql } from '../../sql/orm.ts'
import { idArray } from '../ids.ts'
import {
  knownNames,
  loadVocabulary,
  requireSlug,
  resolveSlug,
  shareVocabulary,
  type Vocabulary,
} from '../techniques/vocabulary.ts'
import { aboutVideo, lockVideo } from '../videos/videos.ts'
import { lockFrames } from './frames.ts'
import { resolveFrame, valuesOf } from './provenance.ts'
import { adopt } from './sanitize-annotation.ts'

export interface Suggestion {
  slug: string
  count: number
  frame_ids: string[]
}

/** Techniques that annotators proposed and that await review, most frequent first. */
export async function listSuggestions(db: Db): Promise<Suggestion[]> {
  const { rows } = await db.execute<Suggestion & Record<string, unknown>>(sql`
    select proposed_technique as slug, count(*)::int as count,
           (array_agg(frame_id order by first_at, frame_id))[1:12] as frame_ids
      from (select proposed_technique, frame_id, min(created_at) as first_at from annotations
             where proposed_technique is not null group by proposed_technique, frame_id) p
     where not exists (select 1 from ${dismissedSuggestions} d where d.slug = p.proposed_technique)
     group by proposed_technique order by count(*) desc, proposed_technique limit 1000`)
  return rows
}

/** Hides a suggestion. Adding a technique of that name later still adopts the proposals. */
export async function dismissSuggestion(db: Db, slug: string): Promise<void> {
  await db
    .insert(dismissedSuggestions)
    .values({ slug: requireSlug(slug) })
    .onConflictDoNothing()
}

/** Shows a dismissed suggestion again. Succeeds when it was not dismissed. */
export async function restoreSuggestion(db: Db, slug: string): Promise<void> {
  await db.delete(dismissedSuggestions).where(eq(dismissedSuggestions.slug, requireSlug(slug)))
}

const ADOPTED_AT_ONCE = 200

/**
 * Gives each frame the technique its annotator proposed, once the vocabulary has that name as slug, old slug or alias.
 * The reconciler repeats it, so an interrupted run is finished. Returns the number of frames.
 */
export async function adoptProposals(db: Db): Promise<number> {
  let count = 0
  for (;;) {
    const adopted = await adoptFirstProposals(db)
    if (adopted === undefined) return count
    count += adopted
  }
}

/**
 * One batch of it, within the request that changes the vocabulary: a common proposal may have tens of thousands of
 * frames. Undefined where none is left.
 */
export async function adoptFirstProposals(db: Db): Promise<number | undefined> {
  const names = knownNames(await loadVocabulary(db))
  const { rows } = await db.execute<{ video_id: string; frame_ids: string[] }>(sql`
    select f.video_id, array_agg(distinct f.id) as frame_ids
      from (select frame_id from annotations
             where proposed_technique = any(${sql.param(names)}::text[]) limit ${ADOPTED_AT_ONCE}) p
      join frames f on f.id = p.frame_id group by f.video_id`)
  if (rows.length === 0) return undefined
  let count = 0
  for (const { video_id, frame_ids } of rows) count += await adoptInVideo(db, video_id, frame_ids)
  return count
}

async function adoptInVideo(db: Db, videoId: string, frameIds: readonly string[]): Promise<number> {
  return db.transaction(async (tx) => {
    await shareVocabulary(tx)
    const video = await lockVideo(tx, videoId)
    if (!video) return 0
    const vocabulary = await loadVocabulary(tx)
    await lockFrames(tx, sql`f.id = any(${idArray(frameIds)})`, 'no key update')
    const rows = await tx.select().from(frames).where(inArray(frames.id, frameIds))
    for (const row of rows) {
      await adoptInFrame(tx, row.id, vocabulary)
      await resolveFrame(tx, row, vocabulary)
    }
    const ids = rows.map((row) => row.id)
    const facts = { frame_ids: ids, annotator: 'vocabulary' }
    if (ids.length > 0) await appendEvent(tx, { type: 'frames.annotated', ...aboutVideo(video, facts) })
    return ids.length
  })
}

async function adoptInFrame(tx: Tx, frameId: string, vocabulary: Vocabulary): Promise<void> {
  const proposals = await tx
    .select()
    .from(annotations)
    .where(and(eq(annotations.frameId, frameId), isNotNull(annotations.proposedTechnique)))
  for (const answer of proposals) {
    const slug = resolveSlug(vocabulary, answer.proposedTechnique!)
    if (slug === undefined) continue
    const values = valuesOf(answer)
    await tx
      .update(annotations)
      .set({ proposedTechnique: null, values: { ...values, technique: adopt(values.technique, slug) } })
      .where(and(eq(annotations.frameId, frameId), eq(annotations.annotator, answer.annotator)))
  }
}
