import { bigint, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { accounts } from './accounts.ts'
import { at } from './columns.ts'

/** Files that arrive in parts. The parts are in the media store, so that any API process can go on. */
export const uploads = pgTable(
  'uploads',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    filename: text().notNull(),
    /** The announced size of the whole file. */
    bytes: bigint({ mode: 'number' }).notNull(),
    partBytes: integer('part_bytes').notNull(),
    /** Of the whole file, hex, where the sender announced it: by it a second sending finds the first. */
    sha256: text(),
    /** Title, author and platform for the video. */
    details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** The video that the finished upload became; kept, so that a repeated request gets the same answer. */
    videoId: text('video_id'),
    createdAt: at('created_at').notNull().defaultNow(),
    /** Extended by every part. An upload without new parts is deleted then. */
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [index('uploads_account_idx').on(t.accountId, t.createdAt), index('uploads_expires_idx').on(t.expiresAt)],
)

export const uploadParts = pgTable(
  'upload_parts',
  {
    uploadId: text('upload_id')
      .notNull()
      .references(() => uploads.id, { onDelete: 'cascade' }),
    /** From 0. */
    n: integer().notNull(),
    bytes: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.uploadId, t.n] })],
)
