import { sql } from 'drizzle-orm'
import { check, doublePrecision, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { CAMERA_MOVES, type CameraMove, type FilmPicture, TRANSITIONS, type Transition } from '../../vocabulary.ts'
import { oneOf } from './columns.ts'
import { ofVideo } from './videos.ts'

/** The shots of a video. Their bounds meet; the clean part of a shot is without the transitions at its ends. */
export const shots = pgTable(
  'shots',
  {
    videoId: ofVideo(),
    /** From 0, in order of time. */
    n: integer().notNull(),
    fromMs: integer('from_ms').notNull(),
    toMs: integer('to_ms').notNull(),
    cleanFromMs: integer('clean_from_ms').notNull(),
    cleanToMs: integer('clean_to_ms').notNull(),
    /** The way into it. */
    transition: text().$type<Transition>().notNull(),
    /** The blank picture that a fade passes through, where it is clearly black or white. */
    through: text().$type<'black' | 'white'>(),
    /** Share of the clean part in which the picture stays as it is, 0–1. Null where it has no length. */
    held: doublePrecision(),
    /** How much the picture changes in a second of the clean part, 8-bit levels. Null where it has no length. */
    motion: doublePrecision(),
    /** How the camera moves in the clean part. Null, as the jumps are, for films that were read before it was told. */
    camera: text().$type<CameraMove>(),
    /** Milliseconds at which a filmed shot leaps forward, without a new shot. */
    jumps: integer().array(),
  },
  (t) => [
    primaryKey({ columns: [t.videoId, t.n] }),
    check('shots_transition', oneOf('transition', TRANSITIONS)),
    check('shots_camera', oneOf('camera', CAMERA_MOVES)),
    check('shots_bounds', sql`from_ms <= to_ms and clean_from_ms <= clean_to_ms`),
  ],
)

/** How a film is built, as one row. It follows from its shots and its picture. */
export const films = pgTable('films', {
  videoId: ofVideo().primaryKey(),
  /** Of the rules that made `measures`. A row of another version is computed again where it is read. */
  version: text().notNull(),
  /** What only the decode can measure. */
  picture: jsonb().$type<FilmPicture>().notNull(),
  /** By the names of library/films/measures.ts. */
  measures: jsonb().$type<Record<string, number | null>>().notNull(),
})
