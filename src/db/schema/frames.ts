import { sql } from 'drizzle-orm'
import { check, doublePrecision, foreignKey, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { type FrameRest, KINDS, SHOTS, type Source, SUBJECTS, SURFACES, TONES, ZONES } from '../../vocabulary.ts'
import { at, oneOf } from './columns.ts'
import { techniques } from './techniques.ts'
import { videos } from './videos.ts'

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
    videoId: text('video_id')
      .notNull()
      .references(() => videos.id, { onDelete: 'cascade' }),
    tMs: integer('t_ms').notNull(),
    /** The instant of the picture. It is `t_ms`, but for a `cut` of earlier versions, which was named after its cut. */
    sampleMs: integer('sample_ms').notNull(),
    kind: text().notNull(),
    /** Why the detector kept it (`frames status --explain`). */
    reason: text().notNull(),
    /** Null: a camera's shot, or kept before rests were told apart. */
    rest: jsonb().$type<FrameRest>(),
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
    /** log2 Σ 2^(save time ÷ half-life), see library/collections/save-strength.ts. Null without saves. */
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

export type FrameRow = typeof frames.$inferSelect
