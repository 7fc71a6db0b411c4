import { bigint, doublePrecision, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { at } from './columns.ts'
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
