import { sql } from 'drizzle-orm'
import { boolean, index, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { ofAccount } from './accounts.ts'
import { at } from './columns.ts'

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
    /** A client that an operator registered: it does not expire. */
    permanent: boolean().notNull().default(false),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.hash] }),
    index('oauth_records_grant_idx').on(t.grantId).where(sql`grant_id is not null`),
    index('oauth_records_expires_idx').on(t.expiresAt).where(sql`expires_at is not null`),
  ],
)
