import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { at } from './columns.ts'
import { frames } from './frames.ts'
import { videos } from './videos.ts'

/**
 * One annotator's answer for one frame; the frame's columns hold the winning values. A refused or failed frame also has
 * a row, so that every frame counts as answered.
 */
export const annotations = pgTable(
  'annotations',
  {
    frameId: text('frame_id')
      .notNull()
      .references(() => frames.id, { onDelete: 'cascade' }),
    annotator: text().notNull(),
    /** The annotator's public name. */
    model: text().notNull(),
    status: text().$type<'annotated' | 'refused' | 'failed'>().notNull(),
    reason: text(),
    /** The slug of a proposed technique outside the vocabulary. It awaits an operator and is never indexed. */
    proposedTechnique: text('proposed_technique'),
    values: jsonb().$type<Record<string, unknown>>().notNull(),
    issues: jsonb().$type<unknown[]>().notNull().default([]),
    copiedFrom: text('copied_from'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.frameId, t.annotator] }),
    check('annotations_status', sql`status in ('annotated', 'refused', 'failed')`),
    index('annotations_proposed_idx').on(t.proposedTechnique).where(sql`proposed_technique is not null`),
  ],
)

/** Requested re-annotations of frames of ready videos that have no answer yet. */
export const reannotations = pgTable(
  'reannotations',
  {
    frameId: text('frame_id')
      .primaryKey()
      .references(() => frames.id, { onDelete: 'cascade' }),
    videoId: text('video_id')
      .notNull()
      .references(() => videos.id, { onDelete: 'cascade' }),
    /** The annotator to answer. After a change of settings the reconciler sets the new one (workers/reconcile.ts). */
    annotator: text().notNull(),
    requestedAt: at('requested_at').notNull().defaultNow(),
  },
  (t) => [index('reannotations_video_idx').on(t.videoId)],
)

/** Suggestions that an operator dismissed: not shown again. */
export const dismissedSuggestions = pgTable('dismissed_suggestions', {
  slug: text().primaryKey(),
  at: at('at').notNull().defaultNow(),
})

/**
 * Frames that an operator accepted in review, also where no value was there to lock. They come back to the queue with a
 * newer answer only.
 */
export const reviewedFrames = pgTable('reviewed_frames', {
  frameId: text('frame_id')
    .primaryKey()
    .references(() => frames.id, { onDelete: 'cascade' }),
  at: at('at').notNull().defaultNow(),
})
