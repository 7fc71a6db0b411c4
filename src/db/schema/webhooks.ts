import { bigint, check, index, integer, jsonb, pgTable, smallint, sql, text, unique, uuid } from '../../sql/orm.ts'
import { at, oneOf, xid8 } from './columns.ts'

export const ENDPOINT_STATES = ['active', 'paused', 'gone'] as const
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'skipped'] as const
export type EndpointState = (typeof ENDPOINT_STATES)[number]
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Why an attempt failed. The list is closed: metrics and the delivery log name these. */
export const DELIVERY_ERRORS = [
  'timeout',
  'refused_address',
  'name_not_found',
  'connection_failed',
  'connection_closed',
  'tls',
  'bad_answer',
  'redirect',
  'status',
  'gone',
] as const
export type DeliveryError = (typeof DELIVERY_ERRORS)[number]

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
    /** The checkpoint: the log is read on from here. What failed before it waits as a delivery. */
    xid: xid8().notNull(),
    seq: bigint({ mode: 'number' }).notNull(),
    /** Raised when somebody sets the checkpoint: what was read from the log before does not count any more. */
    epoch: integer().notNull().default(0),
    /** Failed attempts since the last success, and the time of the first. */
    failures: integer().notNull().default(0),
    failingSince: at('failing_since'),
    lastSuccessAt: at('last_success_at'),
    /** The receiver asked for no requests until then (`Retry-After`). */
    heldUntil: at('held_until'),
    /** One process sends, until the lease ends. Each lease has an id of its own. */
    lease: uuid(),
    leaseUntil: at('lease_until'),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  () => [check('webhook_endpoints_state', oneOf('state', ENDPOINT_STATES))],
)

/** What became of an attempt, as HTTP and the command line show it. */
export interface AttemptEntry {
  at: string
  /** The HTTP status; null when none came. */
  status: number | null
  /** Milliseconds to the head of the answer, or to the failure. */
  latency_ms: number
  /** The class of the failure; null for a success. */
  error: DeliveryError | null
  /** The first kilobyte. */
  answer: string | null
}

/** An event that was sent to an endpoint, or that somebody asked to be sent. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id, { onDelete: 'cascade' }),
    eventId: uuid('event_id').notNull(),
    type: text().notNull(),
    /** A test event, which is in no log. */
    test: jsonb().$type<Record<string, unknown>>(),
    state: text().$type<DeliveryState>().notNull().default('waiting'),
    /** Failed attempts since the event was last read from the log, resent or resumed. */
    tries: smallint().notNull().default(0),
    /** When it is tried again; null when it is over. */
    nextAt: at('next_at'),
    createdAt: at('created_at').notNull().defaultNow(),
    finishedAt: at('finished_at'),
    /** The last 50 attempts, the newest last. */
    attempts: jsonb().$type<AttemptEntry[]>().notNull().default([]),
  },
  (t) => [
    unique('webhook_deliveries_event').on(t.endpointId, t.eventId),
    index('webhook_deliveries_due_idx').on(t.endpointId, t.nextAt, t.id).where(sql`state = 'waiting'`),
    index('webhook_deliveries_test_idx')
      .on(t.endpointId, t.nextAt, t.id)
      .where(sql`state = 'waiting' and test is not null`),
    index('webhook_deliveries_list_idx').on(t.endpointId, t.id),
    index('webhook_deliveries_finished_idx').on(t.finishedAt).where(sql`finished_at is not null`),
    check('webhook_deliveries_state', oneOf('state', DELIVERY_STATES)),
  ],
)

/** Number of attempts ever made, by outcome: the class of the failure, or `delivered`. */
export const webhookCounts = pgTable('webhook_counts', {
  outcome: text().primaryKey(),
  attempts: bigint({ mode: 'number' }).notNull(),
})
