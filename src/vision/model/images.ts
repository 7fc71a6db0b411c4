import sharp from 'sharp'
import { hashDistance } from '../../vocabulary.ts'
import type { FrameToAnnotate } from '../annotator.ts'
import { holdsText, measurePicture } from '../measured/picture.ts'
import { tokensOfPicture } from './window.ts'

/** Long side of the JPEG that is sent: enough for labels, or enough for small text where there is much of it. */
const SIDE = 768
const SIDE_WITH_TEXT = 1280
/** Kept frames are 1280 wide. A picture near this size is hostile. */
const MAX_PIXELS = 8_000_000

/** A picture as the model gets it. Local servers take no WebP. */
export interface ModelImage {
  /** In base64. */
  jpeg: string
  tokens: number
}

/** Rejects when the bytes are not a picture. */
export async function toModelImage(image: Buffer): Promise<ModelImage> {
  const source = sharp(image, { limitInputPixels: MAX_PIXELS, failOn: 'error' }).flatten({ background: '#000' })
  const { data, info } = await source
    .clone()
    .resize(640, 640, { fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  const side = holdsText(measurePicture({ data, width: info.width, height: info.height })) ? SIDE_WITH_TEXT : SIDE
  const sent = await source
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 80 })
    .toBuffer({ resolveWithObject: true })
  return { jpeg: sent.data.toString('base64'), tokens: tokensOfPicture(sent.info.width, sent.info.height) }
}

const MINI_WIDTH = 160
const MINI_HEIGHT = 90

/** A small grey copy, for comparing pictures pixel by pixel. */
function toMiniature(image: Buffer): Promise<Buffer> {
  return sharp(image, { limitInputPixels: MAX_PIXELS })
    .resize(MINI_WIDTH, MINI_HEIGHT, { fit: 'fill' })
    .removeAlpha()
    .grayscale()
    .raw()
    .toBuffer()
}

/**
 * Near-identical: a mean difference of at most 2 levels, and fewer than one pixel in 200 clearly changed. The second
 * part tells two text cards apart that differ only in their words.
 */
function looksTheSame(a: Buffer, b: Buffer): boolean {
  let sum = 0
  let changed = 0
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!)
    sum += difference
    if (difference > 24) changed++
  }
  return sum <= 2 * a.length && changed * 200 < a.length
}

const NEAR_HASH = 6

/**
 * Frames that look the same as the kept one before them in time, by the kept frame's id. Every frame of a chain is
 * compared with its first, so that slow change does not add up.
 */
export async function findTwins(frames: readonly FrameToAnnotate[]): Promise<Map<string, FrameToAnnotate[]>> {
  const twins = new Map<string, FrameToAnnotate[]>()
  const miniatures = new Map<string, Promise<Buffer>>()
  const miniatureOf = (frame: FrameToAnnotate) => {
    const known = miniatures.get(frame.id) ?? toMiniature(frame.image)
    miniatures.set(frame.id, known)
    return known
  }
  const isTwin = async (first: FrameToAnnotate, frame: FrameToAnnotate) => {
    const near = first.imageSha256 === frame.imageSha256 || hashDistance(first.phash, frame.phash) <= NEAR_HASH
    if (!near) return false
    // A picture that cannot be read has no twin.
    const pair = await Promise.all([miniatureOf(first), miniatureOf(frame)]).catch(() => null)
    return pair !== null && looksTheSame(...pair)
  }
  let first: FrameToAnnotate | undefined
  for (const frame of frames.toSorted((a, b) => a.tSec - b.tSec)) {
    if (first && (await isTwin(first, frame))) twins.set(first.id, [...(twins.get(first.id) ?? []), frame])
    else first = frame
  }
  return twins
}
