import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { at, oneOf, xid8 } from './columns.ts'

export const ENDPOINT_STATES = ['active', 'paused', 'gone'] as const
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'skipped'] as const
export type EndpointState = (typeof ENDPOINT_STATES)[number]
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Receivers of events. */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text().primaryKey(),
    url: text().notNull(),
    description: text().notNull().default(''),
    /** Null: every type, those of later versions too. */
    types: text().array(),
    state: text().$type<EndpointState>().notNull().default('active'),
    pausedBecause: text('paused_because').$type<'operator' | 'failures'>(),
    /** `whsec_…`, or encrypted (`src/webhooks/secrets.ts`). */
    secret: text().notNull(),
    /** Signs beside the new one until then. */
    oldSecret: text('old_secret'),
    oldSecretUntil: at('old_secret_until'),
    /** Deliveries are written by the consumer of the log. Otherwise they are written from the position on. */
    following: boolean().notNull().default(true),
    /** No event at or before this position of the log is written for it again by itself. */
    xid: xid8().notNull(),
    seq: bigint({ mode: 'number' }).notNull(),
    /** Failed attempts since the last success, and the time of the first. */
    failures: integer().notNull().default(0),
    failingSince: at('failing_since'),
    lastSuccessAt: at('last_success_at'),
    /** The receiver asked for no requests until then (`Retry-After`). */
    heldUntil: at('held_until'),
    /** The process that raised the epoch last sends, until the lease ends. */
    leaseUntil: at('lease_until'),
    leaseEpoch: bigint('lease_epoch', { mode: 'number' }).notNull().default(0),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  () => [check('webhook_endpoints_state', oneOf('state', ENDPOINT_STATES))],
)

/** One event for one endpoint. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id, { onDelete: 'cascade' }),
    eventId: uuid('event_id').notNull(),
    /** The event's position in the log. Null for a test event, which is in no log. */
    xid: xid8(),
    seq: bigint({ mode: 'number' }),
    type: text().notNull(),
    /** The body of a test event. */
    test: jsonb().$type<Record<string, unknown>>(),
    state: text().$type<DeliveryState>().notNull().default('waiting'),
    /** Failed attempts of this round. Sending again begins a new round. */
    tries: smallint().notNull().default(0),
    round: integer().notNull().default(0),
    nextAt: at('next_at').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    finishedAt: at('finished_at'),
  },
  (t) => [
    unique('webhook_deliveries_event').on(t.endpointId, t.eventId),
    index('webhook_deliveries_due_idx').on(t.endpointId, t.nextAt, t.id).where(sql`state = 'waiting'`),
    index('webhook_deliveries_list_idx').on(t.endpointId, t.id),
    index('webhook_deliveries_finished_idx').on(t.finishedAt).where(sql`finished_at is not null`),
    check('webhook_deliveries_state', oneOf('state', DELIVERY_STATES)),
  ],
)

/** What a receiver answered. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    deliveryId: bigint('delivery_id', { mode: 'number' })
      .notNull()
      .references(() => webhookDeliveries.id, { onDelete: 'cascade' }),
    at: at('at').notNull(),
    /** The HTTP status; null when none came. */
    status: smallint(),
    /** Milliseconds to the head of the answer, or to the failure. */
    latencyMs: integer('latency_ms').notNull(),
    /** The class of the failure; null for a success. */
    error: text(),
    /** The first kilobyte. */
    answer: text(),
  },
  (t) => [index('webhook_attempts_delivery_idx').on(t.deliveryId, t.id), index('webhook_attempts_at_idx').on(t.at)],
)

/** Number of attempts ever made, by outcome: the class of the failure, or `delivered`. */
export const webhookCounts = pgTable('webhook_counts', {
  outcome: text().primaryKey(),
  attempts: bigint({ mode: 'number' }).notNull(),
})
