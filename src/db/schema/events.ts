import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
import { at, xid8 } from './columns.ts'

export const events = pgTable(
  'events',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** The writing transaction. Readers stop before the oldest one that is still open. */
    xid: xid8().notNull().default(sql`pg_current_xact_id()`),
    id: uuid().notNull().unique().defaultRandom(),
    type: text().notNull(),
    version: smallint().notNull().default(1),
    /** The id of the frame, video, board, key or account it is about. */
    subject: text().notNull(),
    accountId: text('account_id'),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
    time: at('time').notNull().defaultNow(),
  },
  (t) => [index('events_cursor_idx').on(t.xid, t.seq), index('events_type_idx').on(t.type, t.xid, t.seq)],
)

export const checkpoints = pgTable('checkpoints', {
  consumer: text().primaryKey(),
  xid: xid8().notNull().default('0'),
  seq: bigint({ mode: 'number' }).notNull().default(0),
  /** Raised by every consumer that takes over, so that a suspended predecessor cannot move the checkpoint. */
  epoch: bigint({ mode: 'number' }).notNull().default(0),
  updatedAt: at('updated_at').notNull().defaultNow(),
})

/** Events that a consumer skipped after repeated failures. */
export const deadEvents = pgTable(
  'dead_events',
  {
    consumer: text().notNull(),
    eventId: uuid('event_id').notNull(),
    error: text().notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.consumer, t.eventId] })],
)
