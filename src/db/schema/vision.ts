import { sql } from 'drizzle-orm'
import { bigint, doublePrecision, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { at } from './columns.ts'
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
    /** 0 for an answer of a batch. */
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
 * Half-price batches that were sent to the provider, or will be. `preparing`: only here. `uploaded`: its file is at the
 * provider. `sent`: the provider works on it. `ended`: its answers are taken over.
 */
export const visionBatches = pgTable(
  'vision_batches',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    model: text().notNull(),
    status: text().$type<'preparing' | 'uploaded' | 'sent' | 'ended'>().notNull(),
    /** The prompt version of the file's requests: part of the answer cache's key. */
    promptVersion: text('prompt_version'),
    fileId: text('file_id'),
    providerId: text('provider_id'),
    /** How the provider ended it (`completed`, `expired`, …), or why we did: `dropped`, `refused`. */
    outcome: text(),
    createdAt: at('created_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
  },
  (t) => [index('vision_batches_open_idx').on(t.status).where(sql`status <> 'ended'`)],
)

/** One request of a batch: some frames of one video, and its row in the books. */
export const visionBatchRequests = pgTable(
  'vision_batch_requests',
  {
    batchId: bigint('batch_id', { mode: 'number' })
      .notNull()
      .references(() => visionBatches.id, { onDelete: 'cascade' }),
    /** Its number in the batch. */
    n: integer().notNull(),
    videoId: text('video_id').notNull(),
    /** The frames asked about, in order, and near-identical ones that share their answers. */
    frameIds: text('frame_ids').array().notNull(),
    copyIds: text('copy_ids').array().notNull(),
    callId: bigint('call_id', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.batchId, t.n] })],
)

/**
 * How often a frame was in a batch since its description was last requested. `open`: it was put into one that does not
 * count yet. `again`: it waits for another batch. `done`: whatever is still missing is asked for in the usual calls.
 */
export const visionBatchFrames = pgTable('vision_batch_frames', {
  frameId: ofFrame().primaryKey(),
  attempts: integer().notNull(),
  state: text().$type<'open' | 'again' | 'done'>().notNull(),
})
