import { sql } from 'drizzle-orm'
import { bigint, index, jsonb, pgTable, smallint, text, unique, uuid } from 'drizzle-orm/pg-core'
import { apiKeys, ofAccount } from './accounts.ts'
import { at, xid8 } from './columns.ts'
import { grants } from './oauth.ts'

/** What an app asked to be told of. It ends unless the app renews it. */
export const subscriptions = pgTable(
  'subscriptions',
  {
    /** A hash of account, address, name and arguments: asking again renews. */
    id: text().primaryKey(),
    accountId: ofAccount(),
    /** The grant or the key by which it was made: one of the two. With it the subscription ends. */
    grantId: text('grant_id').references(() => grants.id, { onDelete: 'cascade' }),
    keyId: text('key_id').references(() => apiKeys.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** As they were checked. */
    arguments: jsonb().$type<Record<string, unknown>>().notNull(),
    url: text().notNull(),
    /** The app's `whsec_…`, or encrypted (`src/webhooks/secrets.ts`). */
    secret: text().notNull(),
    /** Signs beside the new one until then. */
    oldSecret: text('old_secret'),
    oldSecretUntil: at('old_secret_until'),
    /** No event at or before this position of the log is delivered by itself. */
    xid: xid8().notNull(),
    seq: bigint({ mode: 'number' }).notNull(),
    refreshBefore: at('refresh_before').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    lastDeliveryAt: at('last_delivery_at'),
    /** Of the last event that failed, since the last success. */
    lastError: text('last_error'),
    failedSince: at('failed_since'),
    /** One process at a time sends. */
    leaseUntil: at('lease_until'),
  },
  (t) => [
    index('subscriptions_account_idx').on(t.accountId),
    index('subscriptions_grant_idx').on(t.grantId).where(sql`grant_id is not null`),
    index('subscriptions_key_idx').on(t.keyId).where(sql`key_id is not null`),
    index('subscriptions_end_idx').on(t.refreshBefore),
  ],
)

/** One event for one subscription, until it is delivered or given up. */
export const subscriptionDeliveries = pgTable(
  'subscription_deliveries',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    subscriptionId: text('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** The event of the log. */
    eventId: uuid('event_id').notNull(),
    /** What is sent, from the first attempt on: every attempt sends the same bytes. */
    body: text(),
    tries: smallint().notNull().default(0),
    nextAt: at('next_at').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    unique('subscription_deliveries_event').on(t.subscriptionId, t.eventId),
    index('subscription_deliveries_due_idx').on(t.nextAt, t.subscriptionId),
  ],
)
