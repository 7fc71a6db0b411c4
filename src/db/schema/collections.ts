import { bigint, index, integer, pgTable, primaryKey, sql, text } from '../../sql/orm.ts'
import { ofAccount } from './accounts.ts'
import { at } from './columns.ts'
import { ofFrame } from './frames.ts'

export const saves = pgTable(
  'saves',
  {
    /** Orders saves, also within one millisecond. */
    seq: bigint({ mode: 'number' }).generatedByDefaultAsIdentity(),
    accountId: ofAccount(),
    frameId: ofFrame(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.frameId] }),
    index('saves_newest_idx').on(t.accountId, t.seq),
    index('saves_frame_idx').on(t.frameId),
  ],
)

export const boards = pgTable(
  'boards',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    name: text().notNull(),
    description: text(),
    /** SHA-256 of the share link's token, hex. The token follows from a key in the settings. */
    shareHash: text('share_hash').unique(),
    sharedAt: at('shared_at'),
    /** The pinned frame that the owner chose as the cover. Null: the first pin. */
    coverFrameId: text('cover_frame_id'),
    /** The number of its rows in `board_items`, changed in the same transaction. */
    itemCount: integer('item_count').notNull().default(0),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
    /** Nobody sees a deleted board. For a day its owner can take it back. */
    deletedAt: at('deleted_at'),
  },
  (t) => [
    index('boards_account_idx').on(t.accountId, t.createdAt, t.id),
    index('boards_deleted_idx').on(t.deletedAt).where(sql`deleted_at is not null`),
  ],
)

export const boardItems = pgTable(
  'board_items',
  {
    boardId: text('board_id')
      .notNull()
      .references(() => boards.id, { onDelete: 'cascade' }),
    frameId: ofFrame(),
    /** The owner's order: whole numbers with gaps, changed under the lock of the board's row. */
    position: integer().notNull(),
    note: text(),
    pinnedAt: at('pinned_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.boardId, t.frameId] }),
    index('board_items_order_idx').on(t.boardId, t.position),
    index('board_items_frame_idx').on(t.frameId),
  ],
)

/** When a save was made that its person removed within the last day, so that it comes back in its place. */
export const removedSaves = pgTable(
  'removed_saves',
  {
    accountId: ofAccount(),
    frameId: ofFrame(),
    seq: bigint({ mode: 'number' }).notNull(),
    createdAt: at('created_at').notNull(),
    removedAt: at('removed_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.frameId] }),
    index('removed_saves_frame_idx').on(t.frameId),
    index('removed_saves_removed_idx').on(t.removedAt),
  ],
)
