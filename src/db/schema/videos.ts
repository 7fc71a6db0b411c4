import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
} from '../../sql/orm.ts'
import { type FilmPicture, PLATFORMS, TRANSITIONS, type Transition } from '../../vocabulary.ts'
import { at, oneOf } from './columns.ts'

export const VIDEO_STATUSES = [
  'queued',
  'fetching',
  'extracting',
  'annotating',
  'ready',
  'failed',
  'cancelled',
] as const
export type VideoStatus = (typeof VIDEO_STATUSES)[number]

/** One entry per stage, in order, for `frames status`. Times are RFC 3339. */
export interface StageProgress {
  stage: 'fetching' | 'extracting' | 'annotating'
  startedAt: string
  finishedAt: string | null
  /** When `done` last rose. */
  movedAt: string
  done: number
  total: number | null
}

export interface DetectorRecord {
  version: string
  parameters: Record<string, number>
}

export const videos = pgTable(
  'videos',
  {
    id: text().primaryKey(),
    /** The canonical source that gives the id: `youtube:<id>`, `url:<canonical>`, `sha256:<hex>`. */
    sourceKey: text('source_key').notNull().unique(),
    sourceUrl: text('source_url'),
    /** The media store's key of an upload; null for a video that is fetched from its URL. */
    uploadKey: text('upload_key'),
    title: text().notNull(),
    author: text(),
    platform: text().notNull(),
    /** A person gave the title: the source's own one does not replace it. */
    titleGiven: boolean('title_given').notNull().default(false),
    authorGiven: boolean('author_given').notNull().default(false),
    durationSec: doublePrecision('duration_sec'),
    width: integer(),
    height: integer(),
    fps: doublePrecision(),
    /** The exact rate, `30000/1001`; null where it varies or was not kept. */
    frameRate: text('frame_rate'),
    /** The timecode of the first frame as the file has it. */
    startTimecode: text('start_timecode'),
    rotation: integer(),
    codec: text(),
    publishedAt: at('published_at'),
    addedAt: at('added_at').notNull().defaultNow(),
    status: text().$type<VideoStatus>().notNull().default('queued'),
    failureCode: text('failure_code'),
    failureMessage: text('failure_message'),
    stages: jsonb().$type<StageProgress[]>().notNull().default([]),
    /** Attempts at the current revision, interrupted ones included. */
    attempts: integer().notNull().default(0),
    /**
     * Random at submission, raised by every retry and cancel. It is part of the job id, and it keeps the worker of an
     * old job from writing.
     */
    revision: integer().notNull().default(1),
    backfill: boolean().notNull().default(false),
    priority: integer().notNull().default(0),
    detector: jsonb().$type<DetectorRecord>(),
    /** Pictures that were considered and not kept, in order of time (`frames status --explain`). */
    passedOver: jsonb('passed_over').$type<{ tMs: number; why: string }[]>(),
    /** The annotator version whose answers complete this video. */
    annotator: text(),
    /** Set once, at the first `ready`. From then on the video is public until it is deleted. */
    firstReadyAt: at('first_ready_at'),
    readyAt: at('ready_at'),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [
    check('videos_platform', oneOf('platform', PLATFORMS)),
    check('videos_status', oneOf('status', VIDEO_STATUSES)),
    check('videos_failed_has_code', sql`(status = 'failed') = (failure_code is not null)`),
    index('videos_status_idx').on(t.status, t.updatedAt),
    index('videos_added_idx').on(t.addedAt, t.id),
    index('videos_author_idx').on(t.author),
    index('videos_platform_idx').on(t.platform),
  ],
)

export type VideoRow = typeof videos.$inferSelect

/** The video to which a row belongs: with it the row ends. */
export const ofVideo = () =>
  text('video_id')
    .notNull()
    .references(() => videos.id, { onDelete: 'cascade' })

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
  },
  (t) => [
    primaryKey({ columns: [t.videoId, t.n] }),
    check('shots_transition', oneOf('transition', TRANSITIONS)),
    check('shots_bounds', sql`from_ms <= to_ms and clean_from_ms <= clean_to_ms`),
  ],
)

/** How a film is built, as one row. It follows from its shots and its picture. */
export const films = pgTable('films', {
  videoId: ofVideo().primaryKey(),
  /** What only the decode can measure. */
  picture: jsonb().$type<FilmPicture>().notNull(),
  /** By the names of library/films/measures.ts. */
  measures: jsonb().$type<Record<string, number | null>>().notNull(),
})
