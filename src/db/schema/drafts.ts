import { sql } from 'drizzle-orm'
import { check, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import {
  DRAFT_STATES,
  type DraftState,
  type FilmPicture,
  type FilmShot,
  type Kind,
  type Shot,
  type Subject,
  type Surface,
  type Tone,
} from '../../vocabulary.ts'
import { ofAccount } from './accounts.ts'
import { at, oneOf } from './columns.ts'

const RUNNING = sql`state in ('queued', 'fetching', 'measuring')`

/** What was measured of a draft. Its grammar follows from it as it is read. Nothing of its pictures is kept. */
export interface DraftFilm {
  durationSec: number
  shots: FilmShot[]
  picture: FilmPicture
  frames: {
    id: string
    t_sec: number
    kind: Kind
    shot_sec: [number, number] | null
    subject: Subject | null
    surface: Surface | null
    shot: Shot | null
    tone: Tone
    on_screen_text: string | null
  }[]
}

/** Unpublished films that members measure against the library. Only their owner sees them; they end after a day. */
export const drafts = pgTable(
  'drafts',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    title: text().notNull(),
    sourceUrl: text('source_url'),
    /** The media store's key of a file; it is deleted once the draft is measured. Null for an address. */
    uploadKey: text('upload_key'),
    state: text().$type<DraftState>().notNull().default('queued'),
    failureCode: text('failure_code'),
    failureMessage: text('failure_message'),
    /** Attempts so far, interrupted ones included. */
    attempts: integer().notNull().default(0),
    film: jsonb().$type<DraftFilm>(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [
    check('drafts_state', oneOf('state', DRAFT_STATES)),
    check('drafts_ready_has_film', sql`(state = 'ready') = (film is not null)`),
    uniqueIndex('drafts_running_idx').on(t.accountId).where(RUNNING),
    index('drafts_account_idx').on(t.accountId, t.createdAt),
    index('drafts_expires_idx').on(t.expiresAt),
  ],
)

export type DraftRow = typeof drafts.$inferSelect
