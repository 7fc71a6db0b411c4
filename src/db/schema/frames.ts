import {
  check,
  doublePrecision,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  unique,
} from '../../sql/orm.ts'
import {
  type Annotated,
  type FrameRest,
  KINDS,
  SHOTS,
  type Source,
  SUBJECTS,
  SURFACES,
  TONES,
  ZONES,
} from '../../vocabulary.ts'
import { at, oneOf } from './columns.ts'
import { techniques } from './techniques.ts'
import { ofVideo } from './videos.ts'

/** Where an attribute's value came from. Stored beside every attribute; null before the first answer. */
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

const provenance = (name: string) => jsonb(name).$type<Provenance>()

export const frames = pgTable(
  'frames',
  {
    /** `<video id>-<t_ms in base 36>`. */
    id: text().primaryKey(),
    videoId: ofVideo(),
    tMs: integer('t_ms').notNull(),
    kind: text().notNull(),
    /** Why the detector kept it (`frames status --explain`). */
    reason: text().notNull(),
    /** Null in a camera's shot. */
    rest: jsonb().$type<FrameRest>(),
    width: integer().notNull(),
    height: integer().notNull(),
    imageKey: text('image_key').notNull(),
    thumbKey: text('thumb_key').notNull(),
    /** Two seconds of its motion, animated. Null where little moves, and of all but the liveliest of its film. */
    loopKey: text('loop_key'),
    imageBytes: integer('image_bytes').notNull(),
    imageSha256: text('image_sha256').notNull(),
    /** thumbhash, base64. */
    placeholder: text().notNull(),
    luma: doublePrecision().notNull(),
    darkShare: doublePrecision('dark_share').notNull(),
    palette: text().array().notNull(),
    paletteShares: doublePrecision('palette_shares').array().notNull(),
    coloredShare: doublePrecision('colored_share').notNull(),
    sharpness: doublePrecision().notNull(),
    motion: doublePrecision().notNull(),
    phash: text().notNull(),
    /** Human faces in the picture. Null before it was measured, and where one is neither sure nor ruled out. */
    faces: integer(),
    /** Share of a drawn picture that is bare ground, 0–1. Null for filmed pictures. */
    emptyShare: doublePrecision('empty_share'),
    /** The colours of letters and ground of a text card, `#rrggbb`. Null for other pictures. */
    ink: text(),
    ground: text(),

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

    /** The public `annotation.model`: the model that described the frame. */
    annotationModel: text('annotation_model'),
    saveCount: integer('save_count').notNull().default(0),
    /** log2 Σ 2^(save time ÷ half-life), see library/collections/saves.ts. Null without saves. */
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
    check('frames_instant', sql`t_ms >= 0`),
    index('frames_image_key_idx').on(t.imageKey),
    index('frames_thumb_key_idx').on(t.thumbKey),
    index('frames_loop_key_idx').on(t.loopKey).where(sql`loop_key is not null`),
    index('frames_kind_idx').on(t.kind),
    index('frames_tone_idx').on(t.tone),
    index('frames_subject_idx').on(t.subject),
    index('frames_surface_idx').on(t.surface),
    index('frames_shot_idx').on(t.shot),
    index('frames_technique_idx').on(t.technique),
    index('frames_zone_idx').on(t.zone),
  ],
)

export type FrameRow = typeof frames.$inferSelect

/** The column of each attribute that an annotator or a person sets. Its source is in `<column>Provenance`. */
export const ATTRIBUTE_COLUMN = {
  subject: 'subject',
  surface: 'surface',
  shot: 'shot',
  technique: 'technique',
  zone: 'zone',
  caption: 'caption',
  composition: 'composition',
  steal: 'steal',
  on_screen_text: 'onScreenText',
} as const satisfies Record<Annotated, keyof FrameRow>

/** The frame to which a row belongs: with it the row ends. */
export const ofFrame = () =>
  text('frame_id')
    .notNull()
    .references(() => frames.id, { onDelete: 'cascade' })

/**
 * One annotator's answer for one frame; the frame's columns hold the winning values. A refused or failed frame also has
 * a row, so that every frame counts as answered.
 */
export const annotations = pgTable(
  'annotations',
  {
    frameId: ofFrame(),
    annotator: text().notNull(),
    /** The annotator's public name. */
    model: text().notNull(),
    status: text().$type<'annotated' | 'refused' | 'failed'>().notNull(),
    reason: text(),
    /** The slug of a proposed technique outside the vocabulary. It awaits an operator and is never indexed. */
    proposedTechnique: text('proposed_technique'),
    values: jsonb().$type<Record<string, unknown>>().notNull(),
    issues: jsonb().$type<unknown[]>().notNull().default([]),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.frameId, t.annotator] }),
    check('annotations_status', sql`status in ('annotated', 'refused', 'failed')`),
    index('annotations_proposed_idx').on(t.proposedTechnique).where(sql`proposed_technique is not null`),
  ],
)

/** Requested re-annotations of frames of ready videos that have no answer yet. */
export const reannotations = pgTable(
  'reannotations',
  {
    frameId: ofFrame().primaryKey(),
    videoId: ofVideo(),
    /** The annotator to answer. After a change of settings the reconciler sets the new one (workers/dispatch.ts). */
    annotator: text().notNull(),
    requestedAt: at('requested_at').notNull().defaultNow(),
  },
  (t) => [index('reannotations_video_idx').on(t.videoId)],
)

/** Suggestions that an operator dismissed: not shown again. */
export const dismissedSuggestions = pgTable('dismissed_suggestions', {
  slug: text().primaryKey(),
  at: at('at').notNull().defaultNow(),
})

/**
 * Frames that an operator accepted in review, also where no value was there to lock. They come back to the queue with a
 * newer answer only.
 */
export const reviewedFrames = pgTable('reviewed_frames', {
  frameId: ofFrame().primaryKey(),
  at: at('at').notNull().defaultNow(),
})
