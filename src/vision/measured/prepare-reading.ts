import sharp from 'sharp'
import { isDrawn, type Picture, type Raster } from './picture.ts'
import type { Readable } from './read-text.ts'

/** Tesseract reads small letters best at about 20 pixels high, which this width gives. */
const READ_WIDTH = 1600
/** Pictures darker than this are inverted, because the reader needs dark letters on a bright ground. */
const INVERT_BELOW = 115

/** A grey PNG for the reader: dark on bright and enlarged. A dark drawn picture loses the lines of its boxes. */
export async function prepareReading(raster: Raster, picture: Picture): Promise<Readable> {
  const start = performance.now()
  const inverted = picture.luma < INVERT_BELOW
  let grey = sharp(raster.data, { raw: { width: raster.width, height: raster.height, channels: 3 } }).grayscale()
  if (inverted) grey = grey.negate()
  // From the darkest to the brightest pixel: percentiles would cut off the letters of a nearly empty picture.
  const pixels = await grey.normalise({ lower: 0, upper: 100 }).raw().toBuffer()
  if (inverted && isDrawn(picture)) eraseLines(pixels, raster.width, raster.height)
  const { data, info } = await sharp(pixels, { raw: { width: raster.width, height: raster.height, channels: 1 } })
    .resize(READ_WIDTH, READ_WIDTH, { fit: 'inside', kernel: 'cubic' })
    .png({ compressionLevel: 1 })
    .toBuffer({ resolveWithObject: true })
  return { png: data, width: info.width, height: info.height, preparedMs: performance.now() - start }
}

const INK = 190
/** A thicker line is a bar or a letter of a heading. */
const MAX_THICKNESS = 7
const MARGIN = 2

/**
 * Erases long thin lines, dark on bright, in place. Terminals draw boxes with characters, and a word at a box's corner
 * would be read together with it ("rUnstaged"). A letter's stroke is shorter than an eighth of the height.
 */
export function eraseLines(grey: Uint8Array, width: number, height: number): void {
  const isInk = (x: number, y: number) => grey[y * width + x]! < INK
  const erased: Array<[number, number, number, number]> = []
  findRuns(width, height, isInk, height / 8, (x, from, to) => erased.push([x, x, from, to]))
  findRuns(
    height,
    width,
    (y, x) => isInk(x, y),
    width / 20,
    (y, from, to) => erased.push([from, to, y, y]),
  )
  for (const [x0, x1, y0, y1] of erased) {
    for (let y = Math.max(0, y0 - MARGIN); y <= Math.min(height - 1, y1 + MARGIN); y++) {
      grey.fill(255, y * width + Math.max(0, x0 - MARGIN), y * width + Math.min(width - 1, x1 + MARGIN) + 1)
    }
  }
}

/** Reports every run of ink along the second axis that is at least `minLength` long and thin across it. */
function findRuns(
  across: number,
  along: number,
  isInk: (a: number, b: number) => boolean,
  minLength: number,
  report: (a: number, from: number, to: number) => void,
): void {
  for (let a = 0; a < across; a++) {
    let start = -1
    for (let b = 0; b <= along; b++) {
      const ink = b < along && isInk(a, b)
      if (ink && start < 0) start = b
      if (ink || start < 0) continue
      if (b - start >= minLength && isThin(a, (start + b) >> 1)) report(a, start, b - 1)
      start = -1
    }
  }

  function isThin(a: number, b: number): boolean {
    let low = a
    let high = a
    while (low > 0 && a - low <= MAX_THICKNESS && isInk(low - 1, b)) low--
    while (high < across - 1 && high - a <= MAX_THICKNESS && isInk(high + 1, b)) high++
    return high - low < MAX_THICKNESS
  }
}
