import { type SQL, sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  customType,
  doublePrecision,
  foreignKey,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { KINDS, PLATFORMS, SHOTS, type Source, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'

const xid8 = customType<{ data: string; driverData: string }>({ dataType: () => 'xid8' })

const at = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 })
const oneOf = (column: string, values: readonly string[]): SQL =>
  sql.raw(`${column} in (${values.map((value) => `'${value}'`).join(', ')})`)

/** Where an attribute's value came from. Stored beside every attribute; null while nobody has looked. */
export interface Provenance {
  source: Source
  /** 0–1, or null where the source gives none. */
  confidence: number | null
  /** Annotator and prompt version, or `person:<account id>` for a correction. */
  by: string
  /** RFC 3339. */
  at: string
  /** Why the value is null. */
  reason?: string
}

/* ---------- videos ---------- */

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

/** One entry per stage, in the order they ran: what `frames status` shows. Times RFC 3339. */
export interface StageProgress {
  stage: 'fetching' | 'extracting' | 'annotating'
  startedAt: string
  finishedAt: string | null
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
    /** The image store's key of an upload's bytes; null for a video that is fetched from its URL. */
    uploadKey: text('upload_key'),
    title: text().notNull(),
    author: text(),
    platform: text().notNull(),
    /** A person gave these at submission: what the source says later does not replace them. */
    titleGiven: boolean('title_given').notNull().default(false),
    authorGiven: boolean('author_given').notNull().default(false),
    durationSec: doublePrecision('duration_sec'),
    width: integer(),
    height: integer(),
    fps: doublePrecision(),
    rotation: integer(),
    codec: text(),
    publishedAt: at('published_at'),
    addedAt: at('added_at').notNull().defaultNow(),
    status: text().$type<VideoStatus>().notNull().default('queued'),
    failureCode: text('failure_code'),
    failureMessage: text('failure_message'),
    stages: jsonb().$type<StageProgress[]>().notNull().default([]),
    /** Times a worker began this video, killed workers included. */
    attempts: integer().notNull().default(0),
    /** Drawn at random by a submit, raised by every retry and cancel: part of the job id, and the fence that keeps an old worker from writing. */
    revision: integer().notNull().default(1),
    backfill: boolean().notNull().default(false),
    priority: integer().notNull().default(0),
    detector: jsonb().$type<DetectorRecord>(),
    shots: jsonb().$type<{ startMs: number; endMs: number; transition: string }[]>(),
    /** The annotator version whose answers make this video complete. */
    annotator: text(),
    /** Set once, at the first `ready`: from then on the video is public until it is deleted. */
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

/* ---------- techniques ---------- */

export const techniques = pgTable(
  'techniques',
  {
    slug: text().primaryKey(),
    name: text().notNull(),
    description: text().notNull(),
    /** How to recognise it in a single frame. */
    recognise: text().notNull(),
    aliases: text().array().notNull().default([]),
    /** A retired technique takes no new frames; frames keep it until they are annotated again. */
    retiredAt: at('retired_at'),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  () => [check('techniques_slug', sql`slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 64`)],
)

/** Old slugs of renamed and merged techniques: still understood in filters and in a model's answers. */
export const techniqueRedirects = pgTable('technique_redirects', {
  oldSlug: text('old_slug').primaryKey(),
  slug: text()
    .notNull()
    .references(() => techniques.slug, { onUpdate: 'cascade', onDelete: 'cascade' }),
  createdAt: at('created_at').notNull().defaultNow(),
})

/* ---------- frames ---------- */

const provenance = (name: string) => jsonb(name).$type<Provenance>()

export const frames = pgTable(
  'frames',
  {
    /** `<video id>-<t_ms in base 36>`: the video and the instant. */
    id: text().primaryKey(),
    videoId: text('video_id')
      .notNull()
      .references(() => videos.id, { onDelete: 'cascade' }),
    tMs: integer('t_ms').notNull(),
    sampleMs: integer('sample_ms').notNull(),
    kind: text().notNull(),
    /** Why the detector kept it (`frames status --explain`). */
    reason: text().notNull(),
    width: integer().notNull(),
    height: integer().notNull(),
    imageKey: text('image_key').notNull(),
    thumbKey: text('thumb_key').notNull(),
    imageBytes: integer('image_bytes').notNull(),
    imageSha256: text('image_sha256').notNull(),
    /** thumbhash, base64. */
    placeholder: text().notNull(),
    luma: doublePrecision().notNull(),
    darkShare: doublePrecision('dark_share').notNull(),
    palette: text().array().notNull(),
    paletteShares: doublePrecision('palette_shares').array().notNull(),
    sharpness: doublePrecision().notNull(),
    motion: doublePrecision().notNull(),
    phash: text().notNull(),

    tone: text().notNull(),
    toneProvenance: provenance('tone_provenance').notNull(),
    kindProvenance: provenance('kind_provenance').notNull(),
    subject: text(),
    subjectProvenance: provenance('subject_provenance'),
    surface: text(),
    surfaceProvenance: provenance('surface_provenance'),
    shot: text(),
    shotProvenance: provenance('shot_provenance'),
    technique: text(),
    techniqueProvenance: provenance('technique_provenance'),
    zone: text(),
    zoneProvenance: provenance('zone_provenance'),
    caption: text(),
    captionProvenance: provenance('caption_provenance'),
    composition: text(),
    compositionProvenance: provenance('composition_provenance'),
    steal: text(),
    stealProvenance: provenance('steal_provenance'),
    onScreenText: text('on_screen_text'),
    onScreenTextProvenance: provenance('on_screen_text_provenance'),

    /** The public `annotation.model`: the best annotator that has answered. */
    annotationModel: text('annotation_model'),
    saveCount: integer('save_count').notNull().default(0),
    /** log2 Σ 2^(save time ÷ half-life), see library/strength.ts. Null without saves. */
    saveStrength: doublePrecision('save_strength'),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [
    unique('frames_video_instant').on(t.videoId, t.tMs),
    foreignKey({ name: 'frames_technique_fk', columns: [t.technique], foreignColumns: [techniques.slug] }).onUpdate(
      'cascade',
    ),
    check('frames_kind', oneOf('kind', KINDS)),
    check('frames_tone', oneOf('tone', TONES)),
    check('frames_subject', oneOf('subject', SUBJECTS)),
    check('frames_surface', oneOf('surface', SURFACES)),
    check('frames_shot', oneOf('shot', SHOTS)),
    check('frames_zone', oneOf('zone', ZONES)),
    check('frames_instant', sql`t_ms >= 0 and sample_ms >= 0`),
    index('frames_image_key_idx').on(t.imageKey),
    index('frames_thumb_key_idx').on(t.thumbKey),
    index('frames_kind_idx').on(t.kind),
    index('frames_tone_idx').on(t.tone),
    index('frames_subject_idx').on(t.subject),
    index('frames_surface_idx').on(t.surface),
    index('frames_shot_idx').on(t.shot),
    index('frames_technique_idx').on(t.technique),
    index('frames_zone_idx').on(t.zone),
  ],
)

/** One annotator's answer for one frame; the frame's columns hold what won. A refused or failed frame has its row too, so that the count closes. */
export const annotations = pgTable(
  'annotations',
  {
    frameId: text('frame_id')
      .notNull()
      .references(() => frames.id, { onDelete: 'cascade' }),
    annotator: text().notNull(),
    /** The annotator's public name. */
    model: text().notNull(),
    status: text().$type<'annotated' | 'refused' | 'failed'>().notNull(),
    reason: text(),
    /** The technique it proposed outside the vocabulary, as a slug: waits for an operator, is never indexed. */
    proposedTechnique: text('proposed_technique'),
    values: jsonb().$type<Record<string, unknown>>().notNull(),
    issues: jsonb().$type<unknown[]>().notNull().default([]),
    copiedFrom: text('copied_from'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.frameId, t.annotator] }),
    check('annotations_status', sql`status in ('annotated', 'refused', 'failed')`),
    index('annotations_proposed_idx').on(t.proposedTechnique).where(sql`proposed_technique is not null`),
  ],
)

/** Frames of ready videos that are to be described again: what re-annotation asked for and no worker has answered yet. */
export const reannotations = pgTable(
  'reannotations',
  {
    frameId: text('frame_id')
      .primaryKey()
      .references(() => frames.id, { onDelete: 'cascade' }),
    videoId: text('video_id')
      .notNull()
      .references(() => videos.id, { onDelete: 'cascade' }),
    /** Whose answer is waited for; a changed setting names the new one (workers/reconcile.ts). */
    annotator: text().notNull(),
    requestedAt: at('requested_at').notNull().defaultNow(),
  },
  (t) => [index('reannotations_video_idx').on(t.videoId)],
)

/** Suggestions an operator turned down: not shown again. */
export const dismissedSuggestions = pgTable('dismissed_suggestions', {
  slug: text().primaryKey(),
  at: at('at').notNull().defaultNow(),
})

/** The books: one row per call to a paid endpoint. */
export const visionCalls = pgTable(
  'vision_calls',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    videoId: text('video_id').references(() => videos.id, { onDelete: 'set null' }),
    model: text().notNull(),
    frames: integer().notNull(),
    inputTokens: integer('input_tokens'),
    cachedTokens: integer('cached_tokens'),
    outputTokens: integer('output_tokens'),
    costUsd: doublePrecision('cost_usd'),
    durationMs: integer('duration_ms').notNull(),
    outcome: text().notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [index('vision_calls_video_idx').on(t.videoId), index('vision_calls_at_idx').on(t.at)],
)

/** A model's answers by picture: asking again about the same image costs nothing. */
export const visionAnswers = pgTable(
  'vision_answers',
  {
    imageSha256: text('image_sha256').notNull(),
    model: text().notNull(),
    prompt: text().notNull(),
    answer: jsonb().$type<unknown>().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.imageSha256, t.model, t.prompt] })],
)

/* ---------- accounts ---------- */

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

/* ---------- saves and boards ---------- */

export const saves = pgTable(
  'saves',
  {
    /** Newest save first, also within one millisecond. */
    seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    frameId: text('frame_id')
      .notNull()
      .references(() => frames.id, { onDelete: 'cascade' }),
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
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** SHA-256 of the share link's token, hex; the token itself is shown once. */
    shareHash: text('share_hash').unique(),
    sharedAt: at('shared_at'),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (t) => [index('boards_account_idx').on(t.accountId, t.createdAt, t.id)],
)

export const boardItems = pgTable(
  'board_items',
  {
    boardId: text('board_id')
      .notNull()
      .references(() => boards.id, { onDelete: 'cascade' }),
    frameId: text('frame_id')
      .notNull()
      .references(() => frames.id, { onDelete: 'cascade' }),
    /** Dense from 0 in the owner's order; rewritten under the board's row lock. */
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

/* ---------- events ---------- */

export const events = pgTable(
  'events',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** The writing transaction: readers go no further than the oldest one still open. */
    xid: xid8().notNull().default(sql`pg_current_xact_id()`),
    id: uuid().notNull().unique().defaultRandom(),
    type: text().notNull(),
    version: smallint().notNull().default(1),
    /** The id of the frame, video, board, key or account it tells of. */
    subject: text().notNull(),
    accountId: text('account_id'),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
    time: at('time').notNull().defaultNow(),
  },
  (t) => [index('events_cursor_idx').on(t.xid, t.seq), index('events_type_idx').on(t.type, t.xid, t.seq)],
)

export const checkpoints = pgTable('checkpoints', {
  consumer: text().primaryKey(),
  xid: xid8().notNull().default('0'),
  seq: bigint({ mode: 'number' }).notNull().default(0),
  /** Raised by every consumer that takes over: a paused predecessor can no longer move the checkpoint. */
  epoch: bigint({ mode: 'number' }).notNull().default(0),
  updatedAt: at('updated_at').notNull().defaultNow(),
})

/** Events a consumer gave up on after repeated failure: visible, and skipped. */
export const deadEvents = pgTable(
  'dead_events',
  {
    consumer: text().notNull(),
    eventId: uuid('event_id').notNull(),
    error: text().notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.consumer, t.eventId] })],
)

/** Small facts of the installation: read-model generation, pauses, breaker states. */
export const settings = pgTable('settings', {
  name: text().primaryKey(),
  value: jsonb().$type<unknown>().notNull(),
  updatedAt: at('updated_at').notNull().defaultNow(),
})
