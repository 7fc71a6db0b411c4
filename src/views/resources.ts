import { z } from 'zod'
import type { BrandDocument, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import { FRAME_EXAMPLE, matchShape, shown, videoShape } from './frame.ts'

/** Videos, brands and techniques as public resources: each schema, then the function that makes it. */

const video = {
  ...videoShape,
  duration_sec: z.number().nullable(),
  width: z.int().nullable(),
  height: z.int().nullable(),
  fps: z.number().nullable(),
  frame_count: z.int(),
  published_at: z.iso.datetime().nullable(),
  added_at: z.iso.datetime(),
  image_url: z.url().nullable().describe('Its strongest frame.'),
}
const brand = { name: z.string(), video_count: z.int(), frame_count: z.int(), image_url: z.url().nullable() }
const technique = {
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  frame_count: z.int(),
  image_url: z.url().nullable(),
}

export const Video = z.strictObject(video).meta({
  id: 'Video',
  examples: [
    {
      ...FRAME_EXAMPLE.video,
      width: 1280,
      height: 720,
      fps: 30,
      frame_count: 24,
      published_at: null,
      added_at: '2026-11-20T12:00:00.000Z',
      image_url: FRAME_EXAMPLE.image_url,
    },
  ],
})
export const Brand = z.strictObject(brand).meta({
  id: 'Brand',
  examples: [{ name: 'Northwind Labs', video_count: 2, frame_count: 41, image_url: FRAME_EXAMPLE.image_url }],
})
export const Technique = z.strictObject(technique).meta({
  id: 'Technique',
  examples: [
    {
      slug: 'cursor-zoom',
      name: 'Cursor zoom',
      description: 'The picture moves in on where the cursor clicks.',
      frame_count: 12,
      image_url: FRAME_EXAMPLE.image_url,
    },
  ],
})
export const VideoHit = z.strictObject({ ...video, ...matchShape }).meta({ id: 'VideoHit' })
export const BrandHit = z.strictObject({ ...brand, ...matchShape }).meta({ id: 'BrandHit' })
export const TechniqueHit = z.strictObject({ ...technique, ...matchShape }).meta({ id: 'TechniqueHit' })

export function toVideo(document: VideoDocument, publicUrl: string) {
  return shown(video, withImage(document, publicUrl))
}

export function toBrand(document: BrandDocument, publicUrl: string) {
  return shown(brand, withImage(document, publicUrl))
}

export function toTechnique(document: TechniqueDocument, publicUrl: string) {
  return shown(technique, withImage(document, publicUrl))
}

function withImage<D extends { image_path: string | null }>(document: D, publicUrl: string) {
  return { ...document, image_url: document.image_path === null ? null : publicUrl + document.image_path }
}

/** The answer of a write that returns no data. */
export const Ok = z.strictObject({ ok: z.literal(true) }).meta({ id: 'Ok' })
export const OK = { ok: true } as const
