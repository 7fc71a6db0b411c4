import sharp from 'sharp'
import { holdsText, measurePicture } from '../measured/picture.ts'

/** Long side of the JPEG that is sent: enough for labels, or enough for small text where there is much of it. */
const SIDE = 768
const SIDE_WITH_TEXT = 1280
/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

/** A data URL for the model. Rejects when the bytes are not a picture. */
export async function toModelImage(image: Buffer): Promise<string> {
  const source = sharp(image, { limitInputPixels: MAX_PIXELS, failOn: 'error' }).flatten({ background: '#000' })
  const { data, info } = await source
    .clone()
    .resize(640, 640, { fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  const side = holdsText(measurePicture({ data, width: info.width, height: info.height })) ? SIDE_WITH_TEXT : SIDE
  const jpeg = await source
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 80 })
    .toBuffer()
  return `data:image/jpeg;base64,${jpeg.toString('base64')}`
}

/** The small picture of a build-up for the model. Undefined when the bytes are not a picture. */
export async function toModelStrip(build: Buffer): Promise<string | undefined> {
  const jpeg = await sharp(build, { limitInputPixels: MAX_PIXELS })
    .jpeg({ quality: 75 })
    .toBuffer()
    .catch(() => null)
  return jpeg ? `data:image/jpeg;base64,${jpeg.toString('base64')}` : undefined
}

/** A small grey copy, for comparing pictures pixel by pixel. */
export interface Miniature {
  pixels: Buffer
}

const MINI_WIDTH = 160
const MINI_HEIGHT = 90

export async function toMiniature(image: Buffer): Promise<Miniature> {
  const pixels = await sharp(image, { limitInputPixels: MAX_PIXELS })
    .resize(MINI_WIDTH, MINI_HEIGHT, { fit: 'fill' })
    .removeAlpha()
    .grayscale()
    .raw()
    .toBuffer()
  return { pixels }
}

/**
 * Near-identical: a mean difference of at most 2 levels, and fewer than one pixel in 200 clearly changed. The second
 * part tells two text cards apart that differ only in their words.
 */
export function looksTheSame(a: Miniature, b: Miniature): boolean {
  let sum = 0
  let changed = 0
  for (let i = 0; i < a.pixels.length; i++) {
    const difference = Math.abs(a.pixels[i]! - b.pixels[i]!)
    sum += difference
    if (difference > 24) changed++
  }
  return sum <= 2 * a.pixels.length && changed * 200 < a.pixels.length
}

/** Bits in which two 64-bit hashes of 16 hex digits differ. */
export function hashDistance(a: string, b: string): number {
  let bits = BigInt(`0x${a}`) ^ BigInt(`0x${b}`)
  let count = 0
  for (; bits > 0n; bits >>= 1n) count += Number(bits & 1n)
  return count
}
