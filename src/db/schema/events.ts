import {
  bigint,
  check,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  smallint,
  sql,
  text,
  uuid,
} from '../../sql/orm.ts'
import { at, xid8 } from './columns.ts'

export const events = pgTable(
  'events',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /**
     * The newest transaction number when it is written plus the shift of the cluster (`eventLog`). Readers stop before
     * the oldest transaction that is still open.
     */
    xid: xid8().notNull().default(sql`event_log_position()`),
    id: uuid().notNull().unique().defaultRandom(),
    type: text().notNull(),
    version: smallint().notNull().default(1),
    /** The id of the frame, video, board, key or account it is about. */
    subject: text().notNull(),
    accountId: text('account_id'),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
    time: at('time').notNull().defaultNow(),
  },
  (t) => [
    index('events_cursor_idx').on(t.xid, t.seq),
    index('events_type_idx').on(t.type, t.xid, t.seq),
    // Of a few kilobytes: events are stored nearly in the order of their times. Finds the events of a day.
    index('events_time_idx').using('brin', t.time).with({ autosummarize: true }),
  ],
)

/**
 * The PostgreSQL cluster that the log is written in. Transaction numbers start again in another cluster: a new shift
 * then puts new events after all others. The functions of the migration maintain the row.
 */
export const eventLog = pgTable(
  'event_log',
  {
    id: smallint().primaryKey().default(1),
    /** System identifier and timeline. */
    cluster: text().notNull(),
    shift: bigint({ mode: 'bigint' }).notNull(),
    since: at('since').notNull().defaultNow(),
  },
  () => [check('event_log_one_row', sql`id = 1`)],
)

export const checkpoints = pgTable('checkpoints', {
  consumer: text().primaryKey(),
  xid: xid8().notNull().default('0'),
  seq: bigint({ mode: 'number' }).notNull().default(0),
  /** Raised by every consumer that takes over, so that a suspended predecessor cannot move the checkpoint. */
  epoch: bigint({ mode: 'number' }).notNull().default(0),
  updatedAt: at('updated_at').notNull().defaultNow(),
  /** What the consumer waits for, while it waits (`OutageRecord`). */
  outage: jsonb(),
})

/** Events that a consumer skipped after repeated failures, each with the last error. */
export const deadEvents = pgTable(
  'dead_events',
  {
    consumer: text().notNull(),
    eventId: uuid('event_id').notNull(),
    error: text().notNull(),
    /** How often it was tried. */
    attempts: integer().notNull().default(10),
    at: at('at').notNull().defaultNow(),
    /** Set when an operator asks for another attempt, until it is made. */
    retryAt: at('retry_at'),
  },
  (t) => [primaryKey({ columns: [t.consumer, t.eventId] })],
)

/*
 * Figures per day (UTC), counted from the events alone. Only the analytics projection writes them. An empty key stands
 * for what the events do not name.
 */

/**
 * Saves and pins: one row for each day and dimension, so that a frame takes an array element and no row. `dimension`:
 * `all` (with one empty key), or what `keys` are. Each count is at the index of its key. A frame appears twice when its
 * facts changed on that day.
 */
export const analyticsUses = pgTable(
  'analytics_uses',
  {
    day: date().notNull(),
    dimension: text().notNull(),
    keys: text().array().notNull(),
    saves: integer().array().notNull(),
    unsaves: integer().array().notNull(),
    pins: integer().array().notNull(),
    unpins: integer().array().notNull(),
  },
  (t) => [primaryKey({ columns: [t.dimension, t.day] })],
)

/** Everything else. `amount`: seconds of a stage, dollars of model calls; null where nothing is measured. */
export const analyticsFigures = pgTable(
  'analytics_figures',
  {
    day: date().notNull(),
    figure: text().notNull(),
    key: text().notNull(),
    count: bigint({ mode: 'number' }).notNull(),
    amount: numeric(),
  },
  (t) => [primaryKey({ columns: [t.figure, t.day, t.key] })],
)
