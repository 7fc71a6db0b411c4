import { check, index, json, jsonb, pgTable, primaryKey, smallint, sql, text } from '../../sql/orm.ts'
import { PLANS, type Plan } from '../../vocabulary.ts'
import { at, oneOf } from './columns.ts'

export const ROLES = ['member', 'operator'] as const
export type Role = (typeof ROLES)[number]

export const accounts = pgTable(
  'accounts',
  {
    /** Random. Only this row ties events to a person. */
    id: text().primaryKey(),
    /** Null once the deletion of the account has begun. */
    email: text().unique(),
    /** As its person wants to be called where others see a board of theirs. */
    name: text(),
    role: text().$type<Role>().notNull().default('member'),
    plan: text().$type<Plan>().notNull().default('free'),
    createdAt: at('created_at').notNull().defaultNow(),
    /** From this moment on its keys and sessions are refused. Nothing of it is deleted. */
    disabledAt: at('disabled_at'),
  },
  () => [
    check('accounts_role', oneOf('role', ROLES)),
    check('accounts_plan', oneOf('plan', PLANS)),
    check('accounts_email', sql`email = lower(email)`),
  ],
)

/** The account to which a row belongs: with it the row ends. */
export const ofAccount = () =>
  text('account_id')
    .notNull()
    .references(() => accounts.id, { onDelete: 'cascade' })

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    name: text().notNull(),
    /** SHA-256 of the whole key, hex. */
    hash: text().notNull().unique(),
    /** The key's last four characters. */
    hint: text().notNull(),
    scopes: text().array().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at'),
    lastUsedAt: at('last_used_at'),
    /** The key is invalid from this moment on. For a rotated key it is the end of the grace period. */
    revokedAt: at('revoked_at'),
    replacedBy: text('replaced_by'),
  },
  (t) => [index('api_keys_account_idx').on(t.accountId)],
)

/** Browser sessions. Only the SHA-256 of the cookie's token is stored. */
export const sessions = pgTable(
  'sessions',
  {
    hash: text().primaryKey(),
    accountId: ofAccount(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [index('sessions_account_idx').on(t.accountId), index('sessions_expires_idx').on(t.expiresAt)],
)

/**
 * One-time sign-in links, by the SHA-256 of their code. They name an address, not an account: using the link may create
 * the account.
 */
export const signInLinks = pgTable(
  'sign_in_links',
  {
    hash: text().primaryKey(),
    email: text().notNull(),
    /** The plan of an account that the link creates. Null: it signs in to an existing account only. */
    plan: text().$type<Plan>(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [index('sign_in_links_email_idx').on(t.email), index('sign_in_links_expires_idx').on(t.expiresAt)],
)

/**
 * Responses to POSTs with an Idempotency-Key, stored in the transaction of the write. The key is stored as its SHA-256.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: ofAccount(),
    keyHash: text('key_hash').notNull(),
    /** SHA-256 of method, path and body. */
    fingerprint: text().notNull(),
    status: smallint().notNull(),
    /** As it was sent: json keeps the order of fields. Null when the response contained a secret. */
    body: json().$type<unknown>(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.keyHash] }), index('idempotency_keys_created_idx').on(t.createdAt)],
)

/** What an account lets an app do in its name. A revoked grant is deleted, and its tokens with it. */
export const grants = pgTable(
  'grants',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    clientId: text('client_id').notNull(),
    /** As the client names itself. */
    clientName: text('client_name').notNull(),
    /** Where it receives its codes. */
    returnsTo: text('returns_to').notNull(),
    scopes: text().array().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    lastUsedAt: at('last_used_at'),
  },
  (t) => [index('grants_account_idx').on(t.accountId), index('grants_client_idx').on(t.clientId)],
)

/** What the authorization server keeps: clients, requests under way, codes and tokens, by the SHA-256 of their id. */
export const oauthRecords = pgTable(
  'oauth_records',
  {
    kind: text().notNull(),
    hash: text().notNull(),
    /** Without the id itself. */
    payload: jsonb().$type<Record<string, unknown>>().notNull(),
    grantId: text('grant_id').references(() => grants.id, { onDelete: 'cascade' }),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at'),
    consumedAt: at('consumed_at'),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.hash] }),
    index('oauth_records_grant_idx').on(t.grantId).where(sql`grant_id is not null`),
    index('oauth_records_expires_idx').on(t.expiresAt).where(sql`expires_at is not null`),
  ],
)
