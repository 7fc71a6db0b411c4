import { bigint, doublePrecision, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../../sql/orm.ts'
import { at, bytes } from './columns.ts'
import { ofFrame } from './frames.ts'
import { videos } from './videos.ts'

/** Spending: one row per call to a paid endpoint. */
export const visionCalls = pgTable(
  'vision_calls',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    videoId: text('video_id').references(() => videos.id, { onDelete: 'set null' }),
    model: text().notNull(),
    frames: integer().notNull(),
    inputTokens: integer('input_tokens'),
    cachedTokens: integer('cached_tokens'),
    outputTokens: integer('output_tokens'),
    costUsd: doublePrecision('cost_usd'),
    durationMs: integer('duration_ms').notNull(),
    outcome: text().notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [index('vision_calls_video_idx').on(t.videoId), index('vision_calls_at_idx').on(t.at)],
)

/** A model's answers by image, so that the same image is paid for once. */
export const visionAnswers = pgTable(
  'vision_answers',
  {
    imageSha256: text('image_sha256').notNull(),
    model: text().notNull(),
    prompt: text().notNull(),
    answer: jsonb().$type<unknown>().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.imageSha256, t.model, t.prompt] })],
)

/**
 * What the texts of a frame mean, as a vector of a space: a model and its number of dimensions. A byte a dimension, its
 * largest is ±127.
 */
export const frameVectors = pgTable(
  'frame_vectors',
  {
    frameId: ofFrame(),
    space: text().notNull(),
    /** Of the text that it was made from. */
    sourceHash: text('source_hash').notNull(),
    /** Null where the model refuses the text. */
    q8: bytes(),
    /** Why. */
    refused: text(),
  },
  (t) => [
    primaryKey({ columns: [t.space, t.frameId] }),
    index('frame_vectors_frame_idx').on(t.frameId),
    index('frame_vectors_sample_idx').on(t.space, sql`hashtext(frame_id)`),
  ],
)
