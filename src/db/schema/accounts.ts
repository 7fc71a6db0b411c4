import { sql } from 'drizzle-orm'
import { check, index, json, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core'
import { at, oneOf } from './columns.ts'

export const ROLES = ['member', 'operator'] as const
export const PLANS = ['free', 'pro'] as const
export type Role = (typeof ROLES)[number]
export type Plan = (typeof PLANS)[number]

export const accounts = pgTable(
  'accounts',
  {
    /** Random; the only tie between events and a person is this row. */
    id: text().primaryKey(),
    email: text().notNull().unique(),
    role: text().$type<Role>().notNull().default('member'),
    plan: text().$type<Plan>().notNull().default('free'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  () => [
    check('accounts_role', oneOf('role', ROLES)),
    check('accounts_plan', oneOf('plan', PLANS)),
    check('accounts_email', sql`email = lower(email)`),
  ],
)

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** SHA-256 of the whole key, hex. */
    hash: text().notNull().unique(),
    /** The key's last four characters. */
    hint: text().notNull(),
    scopes: text().array().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at'),
    lastUsedAt: at('last_used_at'),
    /** Dead from this moment on; a rotated key's lies ahead by the grace period. */
    revokedAt: at('revoked_at'),
    replacedBy: text('replaced_by'),
  },
  (t) => [index('api_keys_account_idx').on(t.accountId)],
)

/** Who is signed in to the pages. Only the SHA-256 of the cookie's token is kept. */
export const sessions = pgTable(
  'sessions',
  {
    hash: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [index('sessions_account_idx').on(t.accountId), index('sessions_expires_idx').on(t.expiresAt)],
)

/** One-time sign-in links, by the SHA-256 of their code. By address, not account: the account may be made when the link is used. */
export const signInLinks = pgTable(
  'sign_in_links',
  {
    hash: text().primaryKey(),
    email: text().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [index('sign_in_links_email_idx').on(t.email), index('sign_in_links_expires_idx').on(t.expiresAt)],
)

/** Answers to POSTs that came with an Idempotency-Key, written in the transaction of what they answer. The key is kept as its SHA-256. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    keyHash: text('key_hash').notNull(),
    /** SHA-256 of method, path and body. */
    fingerprint: text().notNull(),
    status: smallint().notNull(),
    /** As it was sent (json keeps the order of fields). Null when the answer held a secret, which is told once. */
    body: json().$type<unknown>(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.keyHash] }), index('idempotency_keys_created_idx').on(t.createdAt)],
)
