import { createHash } from 'node:crypto'
import sharp from 'sharp'
import type { Db } from '../../src/db/client.ts'
import { frames, type Provenance } from '../../src/db/schema/frames.ts'
import { techniques } from '../../src/db/schema/techniques.ts'
import { videos } from '../../src/db/schema/videos.ts'
import { appendEvents } from '../../src/events/append.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { frameIdOf, videoIdOf } from '../../src/library/ids.ts'
import { imageKeysOf, loopKeyOf } from '../../src/media/image-name.ts'
import type { ANNOTATED, Kind, Platform, Shot, Subject, Surface, Tone, Zone } from '../../src/vocabulary.ts'

/** A picture of 16:9 in one colour, as WebP. */
let plain: Promise<Buffer> | undefined
export const plainPicture = (): Promise<Buffer> =>
  (plain ??= sharp({ create: { width: 480, height: 270, channels: 3, background: '#336699' } })
    .webp()
    .toBuffer())

export interface SeedFrame {
  tSec?: number
  kind?: Kind
  subject?: Subject | null
  surface?: Surface | null
  shot?: Shot | null
  technique?: string | null
  zone?: Zone | null
  tone?: Tone
  caption?: string | null
  /** The caption is a sentence of measured facts. */
  isMeasured?: boolean
  composition?: string | null
  steal?: string | null
  onScreenText?: string | null
  palette?: string[]
  paletteShares?: number[]
  coloredShare?: number
  phash?: string
  luma?: number
  confidence?: number
  width?: number
  height?: number
  faces?: number | null
  emptyShare?: number | null
  ink?: string | null
  ground?: string | null
  /** Its motion is kept as a loop; no file is written. */
  loop?: boolean
}

export interface SeedVideo {
  sourceKey?: string
  sourceUrl?: string | null
  title?: string
  author?: string | null
  platform?: Platform
  durationSec?: number
  addedAt?: Date
  frames?: SeedFrame[]
  /** False leaves the video `annotating`: not public. */
  ready?: boolean
}

let counter = 0

/**
 * Adds one ready video with its frames, rows and events as the write path leaves them. Unknown techniques are added to
 * the vocabulary.
 */
export async function seedVideo(db: Db, seed: SeedVideo = {}): Promise<{ id: string; frameIds: string[] }> {
  const n = ++counter
  const sourceKey = seed.sourceKey ?? `sha256:${createHash('sha256').update(`seed ${n}`).digest('hex')}`
  const id = videoIdOf(sourceKey)
  const ready = seed.ready ?? true
  const addedAt = seed.addedAt ?? new Date()
  const video = {
    title: seed.title ?? `Video ${n}`,
    author: seed.author === undefined ? `Author ${n}` : seed.author,
    platform: seed.platform ?? 'web',
  }
  const rows = (seed.frames ?? [{}]).map((frame, at) => toFrameRow(id, frame, at, addedAt))
  const facts = { video_id: id, ...video }
  await db.transaction(async (tx) => {
    const named = [...new Set(rows.flatMap((row) => row.technique ?? []))]
    if (named.length > 0) {
      await tx
        .insert(techniques)
        .values(
          named.map((slug) => ({
            slug,
            name: slug.replaceAll('-', ' '),
            description: `Uses ${slug}.`,
            recognise: 'Seeded.',
          })),
        )
        .onConflictDoNothing()
    }
    await tx.insert(videos).values({
      id,
      sourceKey,
      sourceUrl: seed.sourceUrl ?? null,
      ...video,
      durationSec: seed.durationSec ?? 60,
      width: 1280,
      height: 720,
      fps: 30,
      addedAt,
      status: ready ? 'ready' : 'annotating',
      annotator: 'seed-1',
      firstReadyAt: ready ? addedAt : null,
      readyAt: ready ? addedAt : null,
    })
    if (rows.length > 0) await tx.insert(frames).values(rows)
    const isReady: NewEvent<'video.ready'> = {
      type: 'video.ready',
      subject: id,
      accountId: null,
      data: { ...facts, frame_count: rows.length, stages: [] },
    }
    await appendEvents(tx, [
      { type: 'video.submitted', subject: id, accountId: null, data: { ...facts, revision: 1, reason: 'added' } },
      {
        type: 'frames.extracted',
        subject: id,
        accountId: null,
        data: { ...facts, revision: 1, frame_count: rows.length, removed_frame_ids: [] },
      },
      ...(ready ? [isReady] : []),
    ])
  })
  return { id, frameIds: rows.map((row) => row.id) }
}

export function toFrameRow(
  videoId: string,
  frame: SeedFrame,
  at: number,
  createdAt: Date,
): typeof frames.$inferInsert & { id: string } {
  const tMs = Math.round((frame.tSec ?? at) * 1000)
  const id = frameIdOf(videoId, tMs)
  const hash = createHash('sha256').update(id).digest('hex')
  const keys = imageKeysOf(id, hash)
  const stamp = (source: Provenance['source'], confidence: number | null): Provenance => ({
    source,
    confidence,
    by: 'seed-1',
    at: createdAt.toISOString(),
  })
  const values = {
    subject: frame.subject ?? null,
    surface: frame.surface ?? null,
    shot: frame.shot ?? null,
    technique: frame.technique ?? null,
    zone: frame.zone ?? null,
    caption: frame.caption ?? null,
    composition: frame.composition ?? null,
    steal: frame.steal ?? null,
    on_screen_text: frame.onScreenText ?? null,
  }
  const known = (attribute: (typeof ANNOTATED)[number]) =>
    values[attribute] === null ? null : stamp('model', frame.confidence ?? 0.8)
  const tone = frame.tone ?? (at % 2 === 0 ? 'dark' : 'bright')
  return {
    id,
    videoId,
    tMs,
    kind: frame.kind ?? 'cut',
    reason: 'seeded',
    width: frame.width ?? 1280,
    height: frame.height ?? 720,
    faces: frame.faces ?? null,
    emptyShare: frame.emptyShare ?? null,
    ink: frame.ink ?? null,
    ground: frame.ground ?? null,
    imageKey: keys.image,
    thumbKey: keys.thumb,
    loopKey: frame.loop ? loopKeyOf(id, hash) : null,
    imageBytes: 40_000,
    imageSha256: hash,
    placeholder: 'YTkGJwaRhWUIt4lbgnhZl3ath2BUBGYA',
    luma: frame.luma ?? (tone === 'dark' ? 50 : 180),
    darkShare: tone === 'dark' ? 0.6 : 0.1,
    palette: frame.palette ?? ['#101820', '#f2aa4c', '#ffffff', '#5a5a5a', '#2f6f9f'],
    paletteShares: frame.paletteShares ?? [0.5, 0.2, 0.15, 0.1, 0.05],
    coloredShare: frame.coloredShare ?? 0.5,
    sharpness: 120,
    motion: 2,
    phash: frame.phash ?? hash.slice(0, 16),
    tone,
    toneProvenance: stamp('measured', null),
    kindProvenance: stamp('measured', null),
    subject: values.subject,
    subjectProvenance: known('subject'),
    surface: values.surface,
    surfaceProvenance: known('surface'),
    shot: values.shot,
    shotProvenance: known('shot'),
    technique: values.technique,
    techniqueProvenance: known('technique'),
    zone: values.zone,
    zoneProvenance: known('zone'),
    caption: values.caption,
    captionProvenance: frame.isMeasured ? stamp('measured', null) : known('caption'),
    composition: values.composition,
    compositionProvenance: known('composition'),
    steal: values.steal,
    stealProvenance: known('steal'),
    onScreenText: values.on_screen_text,
    onScreenTextProvenance: known('on_screen_text'),
    annotationModel: 'seed',
    createdAt,
    updatedAt: createdAt,
  }
}
