import { createHash } from 'node:crypto'
import { ATTRIBUTE_COLUMN, type frames } from '../../db/schema/frames.ts'
import type { techniques } from '../../db/schema/techniques.ts'
import type { videos } from '../../db/schema/videos.ts'
import { imageNamesOf, toImageName } from '../../media/image-name.ts'
import {
  type BrandDocument,
  brandIdOf,
  type FrameDocument,
  type TechniqueDocument,
  type VideoDocument,
} from '../../search/library-search.ts'
import { toBits, toSigned } from '../../search/vectors.ts'
import { toShownAddress } from '../../video/source/shown-address.ts'
import { ANNOTATED, byName, CHOSEN, type ChosenValues, type Platform, WRITTEN } from '../../vocabulary.ts'

/** Makes search documents from rows. Pure: equal rows give equal documents. */

export type FrameRow = Omit<
  typeof frames.$inferSelect,
  'reason' | 'rest' | 'imageKey' | 'thumbKey' | 'imageBytes' | 'createdAt' | 'updatedAt'
> & {
  /** The bounds of its shot without the transitions. Null where shots are not known. */
  shotMs: [number, number] | null
  /** In the space that is searched. */
  vector: Buffer | null
}
export type VideoRow = typeof videos.$inferSelect
export type TechniqueRow = typeof techniques.$inferSelect

/** The address of one second of a video, on platforms that have such links. */
export type DeepLink = (platform: Platform, sourceUrl: string, tSec: number) => string | null

/** A summary of the frames of a video, brand or technique. */
export interface GroupSummary {
  frameCount: number
  imagePath: string | null
  strength: number
}

export function toFrameDocument(row: FrameRow, video: VideoRow, deepLink: DeepLink): FrameDocument {
  const values = byName(ANNOTATED, (name) => row[ATTRIBUTE_COLUMN[name]])
  const provenance = byName(ANNOTATED, (name) => row[`${ATTRIBUTE_COLUMN[name]}Provenance`])
  const confidence: FrameDocument['annotation']['confidence'] = {}
  for (const attribute of ANNOTATED) {
    const known = provenance[attribute]?.confidence
    if (values[attribute] !== null && known !== null && known !== undefined) confidence[attribute] = known
  }
  const tSec = row.tMs / 1000
  const platform = video.platform as Platform
  const names = imageNamesOf(row.id, row.imageSha256)
  return revised({
    id: row.id,
    video_id: row.videoId,
    t_sec: tSec,
    shot_sec: row.shotMs && [row.shotMs[0] / 1000, row.shotMs[1] / 1000],
    kind: row.kind as FrameDocument['kind'],
    ...(byName(CHOSEN, (name) => values[name]) as ChosenValues),
    tone: row.tone as FrameDocument['tone'],
    author: video.author,
    platform,
    ...byName(WRITTEN, (name) => values[name]),
    palette: row.palette,
    image_path: `/media/${names.image}`,
    thumb_path: `/media/${names.thumb}`,
    ...(row.loopKey === null ? {} : { loop_path: `/media/${toImageName(row.loopKey)}` }),
    placeholder: row.placeholder,
    width: row.width,
    height: row.height,
    save_count: row.saveCount,
    source_url: video.sourceUrl === null ? null : deepLink(platform, toShownAddress(video.sourceUrl), tSec),
    annotation: {
      model: row.annotationModel,
      confidence,
      reviewed: [row.toneProvenance, row.kindProvenance, ...Object.values(provenance)].some(
        (entry) => entry?.source === 'person',
      ),
    },
    measures: { faces: row.faces, empty_share: row.emptyShare, ink: row.ink, ground: row.ground },
    video: refOf(video),
    luma: row.luma,
    palette_shares: row.paletteShares,
    colored_share: row.coloredShare,
    phash: row.phash,
    ...(row.vector ? { bits: toBits(toSigned(row.vector)) } : {}),
    ...(row.captionProvenance?.source === 'measured' ? { has_measured_caption: true as const } : {}),
    added_ms: video.addedAt.getTime(),
    t_ms: row.tMs,
    strength: frameStrength({
      saveStrength: row.saveStrength,
      confidences: ANNOTATED.map((attribute) =>
        values[attribute] === null ? 0 : (provenance[attribute]?.confidence ?? 0.5),
      ),
      sharpness: row.sharpness,
      motion: row.motion,
      darkShare: row.darkShare,
      addedMs: video.addedAt.getTime(),
    }),
    provenance: { tone: row.toneProvenance, kind: row.kindProvenance, ...provenance },
  })
}

function refOf(video: VideoRow): FrameDocument['video'] {
  const { id, title, author, durationSec } = video
  const platform = video.platform as Platform
  return { id, title, author, platform, source_url: shownSource(video), duration_sec: durationSec }
}

/** The stored address is for fetching and may hold a secret; this one may be shown. */
function shownSource({ sourceUrl }: VideoRow): string | null {
  return sourceUrl === null ? null : toShownAddress(sourceUrl)
}

export function toVideoDocument(video: VideoRow, summary: GroupSummary): VideoDocument {
  return revised({
    id: video.id,
    title: video.title,
    author: video.author,
    platform: video.platform as Platform,
    source_url: shownSource(video),
    duration_sec: video.durationSec,
    width: video.width,
    height: video.height,
    fps: video.fps,
    frame_count: summary.frameCount,
    published_at: video.publishedAt?.toISOString() ?? null,
    added_at: video.addedAt.toISOString(),
    image_path: summary.imagePath,
    added_ms: video.addedAt.getTime(),
    strength: summary.strength,
    source_key: video.sourceKey,
    ...(video.detector ? { extraction: video.detector.version } : {}),
  })
}

export function toBrandDocument(name: string, summary: GroupSummary & { videoCount: number }): BrandDocument {
  return revised({
    id: brandIdOf(name),
    name,
    video_count: summary.videoCount,
    frame_count: summary.frameCount,
    image_path: summary.imagePath,
    strength: summary.strength,
  })
}

/** `oldSlugs`: slugs it had before, which still lead to it. */
export function toTechniqueDocument(
  row: TechniqueRow,
  oldSlugs: readonly string[],
  summary: GroupSummary,
): TechniqueDocument {
  return revised({
    slug: row.slug,
    name: row.name,
    description: row.description,
    aliases: [...new Set([...row.aliases, ...oldSlugs])],
    frame_count: summary.frameCount,
    image_path: summary.imagePath,
    strength: summary.strength,
  })
}

/** The keys of a document always have the same order, so its text can be compared. */
function revised<T extends object>(document: T): T & { revision: string } {
  return { ...document, revision: createHash('sha1').update(JSON.stringify(document)).digest('base64url').slice(0, 20) }
}

/** The order of a blank search as one number, so that both engines sort by one field. Pure. */

interface StrengthFacts {
  /** log2 Σ 2^(save time ÷ half-life); null without saves. */
  saveStrength: number | null
  /** Per attribute: the confidence of its value, 0.5 for a value without one, 0 without a value. */
  confidences: readonly number[]
  sharpness: number
  motion: number
  darkShare: number
  addedMs: number
}

const EPOCH = Date.UTC(2020, 0, 1)

/**
 * Saves first, then completeness and confidence, then visual quality, then newest.
 * Each is cut into steps, which are the digits of one whole number (22 + 7 + 5 + 19 bits), exact in a double.
 */
function frameStrength(facts: StrengthFacts): number {
  // 4,096 steps per half-life of 30 days, ten minutes each; 0 is "never saved".
  const saves = facts.saveStrength === null ? 0 : step(1 + facts.saveStrength * 4_096, 2 ** 22)
  const complete = facts.confidences.reduce((sum, value) => sum + value, 0) / Math.max(1, facts.confidences.length)
  const hours = step((facts.addedMs - EPOCH) / 3_600_000, 2 ** 19)
  return ((saves * 128 + step(complete * 128, 128)) * 32 + step(visualQuality(facts) * 32, 32)) * 2 ** 19 + hours
}

/** 0–1: sharp, still, and not mostly black. */
function visualQuality({ sharpness, motion, darkShare }: StrengthFacts): number {
  const sharp = Math.max(0, sharpness) / (Math.max(0, sharpness) + 100)
  const still = 1 / (1 + Math.max(0, motion) / 20)
  return 0.5 * sharp + 0.25 * still + 0.25 * (1 - Math.min(1, Math.max(0, darkShare)))
}

function step(value: number, steps: number): number {
  return Number.isFinite(value) ? Math.min(steps - 1, Math.max(0, Math.floor(value))) : 0
}
