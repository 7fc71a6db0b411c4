import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'
import type { FrameRest, Kind, Tone } from '../../vocabulary.ts'
import type { PickedFrame } from './kept-frames.ts'
import { differenceHash, measureLuma, shrink, type YuvPicture } from './measure.ts'
import { measurePalette } from './palette.ts'

/** One kept frame. Everything but the images goes into the database. */
export interface ExtractedFrame {
  /** The instant of the picture, milliseconds. It names the frame. */
  tMs: number
  kind: Kind
  /** For people: why this frame was kept. */
  reason: string
  /** Null in a camera's shot. */
  rest: FrameRest | null
  width: number
  height: number
  luma: number
  tone: Tone
  /** Share of pixels darker than luma 60, 0–1. */
  darkShare: number
  /** Five colours, the largest area first: `#rrggbb`. */
  palette: string[]
  /** The same colours' shares of the area, 0–1. */
  paletteShares: number[]
  sharpness: number
  motion: number
  /** 64-bit difference hash, 16 hex digits. */
  phash: string
  /** thumbhash, base64. */
  placeholder: string
  /** WebP files in the scratch folder, at most 1280 and 480 wide. The caller stores them and removes the folder. */
  imagePath: string
  imageBytes: number
  /** SHA-256 of the 1280-wide bytes, hex. */
  imageSha256: string
  thumbPath: string
  /** States of its build-up side by side: a WebP file, and the SHA-256 of its bytes, hex. */
  build: { path: string; sha256: string } | null
}

const THUMB_WIDTH = 480

/** Packed RGB of a small picture of the same video. */
type ToPixels = (picture: YuvPicture) => Uint8ClampedArray

/** Measures a picked picture and writes its images. `rgb` holds the picture's packed pixels. */
export async function writeFrame(
  scratchDir: string,
  picked: PickedFrame,
  { rgb, motion, toPixels }: { rgb: Uint8ClampedArray; motion: number; toPixels: ToPixels },
): Promise<ExtractedFrame> {
  const { picture, features, sharpness, tMs } = picked.candidate
  const { width, height } = picture
  const small = shrink(rgb, width, height, 100)
  const { palette, shares } = measurePalette(small.rgb)
  const { luma, tone } = measureLuma(small.rgb)
  const { image, thumb } = await encodeImages(rgb, width, height)
  const name = Math.round(tMs).toString(36)
  const imagePath = join(scratchDir, `${name}.webp`)
  const thumbPath = join(scratchDir, `${name}-${THUMB_WIDTH}.webp`)
  await writeFile(imagePath, image)
  await writeFile(thumbPath, thumb)
  const build = picked.before?.length
    ? await writeBuild(join(scratchDir, `${name}-build.webp`), picked.before, toPixels)
    : null
  return {
    tMs: Math.round(tMs),
    kind: picked.kind,
    reason: picked.reason,
    rest: picked.rest,
    width,
    height,
    luma,
    tone,
    darkShare: Math.round(features.darkShare * 10_000) / 10_000,
    palette,
    paletteShares: shares,
    sharpness: Math.round(sharpness * 100) / 100,
    motion: Math.round(motion * 100) / 100,
    phash: differenceHash(features.picture),
    placeholder: toPlaceholder(shrink(small.rgb, small.width, small.height, 50)),
    imagePath,
    imageBytes: image.length,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    thumbPath,
    build,
  }
}

async function writeBuild(path: string, states: readonly YuvPicture[], toPixels: ToPixels) {
  const { width, height } = states[0]!
  const raw = { width, height, channels: 3 as const }
  const layers = states.map((state, n) => ({ input: Buffer.from(toPixels(state)), raw, left: n * width, top: 0 }))
  const create = { width: width * states.length, height, channels: 3 as const, background: '#000' }
  const strip = await sharp({ create }).composite(layers).webp({ quality: 70 }).toBuffer()
  await writeFile(path, strip)
  return { path, sha256: createHash('sha256').update(strip).digest('hex') }
}

/** The two kept sizes, from packed RGB at most 1280 wide. */
export async function encodeImages(
  rgb: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
): Promise<{ image: Buffer; thumb: Buffer }> {
  sharp.concurrency(1)
  sharp.cache(false)
  const raw = { width, height, channels: 3 as const }
  const image = await sharp(rgb, { raw }).webp({ quality: 80 }).toBuffer()
  const thumb = await sharp(rgb, { raw })
    .resize({ width: THUMB_WIDTH, withoutEnlargement: true })
    .webp({ quality: 75 })
    .toBuffer()
  return { image, thumb }
}

function toPlaceholder({ width, height, rgb }: { width: number; height: number; rgb: Uint8Array }): string {
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0, j = 0; i < rgb.length; i += 3, j += 4) {
    rgba[j] = rgb[i]!
    rgba[j + 1] = rgb[i + 1]!
    rgba[j + 2] = rgb[i + 2]!
    rgba[j + 3] = 255
  }
  return Buffer.from(rgbaToThumbHash(width, height, rgba)).toString('base64')
}
