import {
  type FrameFeatures,
  MINI_BYTES,
  MINI_HEIGHT,
  MINI_PIXELS,
  MINI_WIDTH,
  PICTURE_HEIGHT,
  PICTURE_WIDTH,
} from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/**
 * Mean absolute difference of two mini images: luma plus twice both colour planes, on the same scale as `difference`.
 */
export function miniDistance(a: Uint8Array, b: Uint8Array): number {
  let dY = 0
  let dC = 0
  for (let i = 0; i < MINI_PIXELS; i++) {
    const d = a[i]! - b[i]!
    dY += (d ^ (d >> 31)) - (d >> 31)
  }
  for (let i = MINI_PIXELS; i < MINI_BYTES; i++) {
    const d = a[i]! - b[i]!
    dC += (d ^ (d >> 31)) - (d >> 31)
  }
  return (dY + 2 * dC) / MINI_PIXELS
}

/**
 * Pearson correlation of the lumas of two mini images, inside the bars that both have. It says how much of the layout
 * is the same in any light.
 */
export function miniCorrelation(a: Uint8Array, b: Uint8Array): number {
  const { top, bottom, left, right } = commonBars(a, b)
  let n = 0
  let sumA = 0
  let sumB = 0
  let sumAB = 0
  let sumAA = 0
  let sumBB = 0
  for (let row = top; row < MINI_HEIGHT - bottom; row++) {
    for (let i = row * MINI_WIDTH + left, end = (row + 1) * MINI_WIDTH - right; i < end; i++) {
      const x = a[i]!
      const y = b[i]!
      n++
      sumA += x
      sumB += y
      sumAB += x * y
      sumAA += x * x
      sumBB += y * y
    }
  }
  // Whole numbers up to here: nothing is lost.
  const ab = n * sumAB - sumA * sumB
  const aa = n * sumAA - sumA * sumA
  const bb = n * sumBB - sumB * sumB
  if (aa * bb === 0) return aa === bb ? 1 : 0
  return ab / Math.sqrt(aa * bb)
}

/** Black, white or one flat colour, without text or outlines. */
export function isBlank(frame: Pick<FrameFeatures, 'deviation' | 'luma' | 'picture' | 'mini'>): boolean {
  const extreme = frame.luma < THRESHOLDS.blankBelowLuma || frame.luma > THRESHOLDS.blankAboveLuma
  if (frame.deviation >= (extreme ? THRESHOLDS.blankGrain : THRESHOLDS.blankDeviation / 3)) return false
  // Grain alone makes edges and deviation. The cells of the mini image even it out.
  return frame.deviation < THRESHOLDS.blankDeviation
    ? countEdges(frame.picture, THRESHOLDS.blankEdges) < THRESHOLDS.blankEdges
    : miniDeviation(frame.mini) < THRESHOLDS.blankCellDeviation
}

/** Standard deviation of the luma of a mini image. */
function miniDeviation(mini: Uint8Array): number {
  let sum = 0
  let squares = 0
  for (let i = 0; i < MINI_PIXELS; i++) {
    sum += mini[i]!
    squares += mini[i]! * mini[i]!
  }
  return Math.sqrt(Math.max(0, squares / MINI_PIXELS - (sum / MINI_PIXELS) ** 2))
}

/** Edge pixels of a 160×90 luma, counted row by row until there are `enough`. */
export function countEdges(picture: Uint8Array, enough = Number.POSITIVE_INFINITY): number {
  let count = 0
  for (let row = 0; row < PICTURE_HEIGHT - 1 && count < enough; row++) {
    const end = row * PICTURE_WIDTH + PICTURE_WIDTH - 1
    for (let at = row * PICTURE_WIDTH; at < end; at++) {
      const a = picture[at]!
      if (Math.abs(picture[at + 1]! - a) + Math.abs(picture[at + PICTURE_WIDTH]! - a) >= EDGE) count++
    }
  }
  return count
}

/** Black bars around a picture, in cells of the mini image. */
interface Bars {
  top: number
  bottom: number
  left: number
  right: number
}

/** The black bars that two pictures have in common; they say nothing of a shot. */
function commonBars(a: Uint8Array, b: Uint8Array): Bars {
  const count = (line: number, side: Side) => {
    let lines = 0
    while (lines < line && isBlack(a, lines, side) && isBlack(b, lines, side)) lines++
    return lines
  }
  const [rows, columns] = [Math.floor(MINI_HEIGHT / 3), Math.floor(MINI_WIDTH * 0.4)]
  const [top, left] = [count(rows, SIDES.top), count(columns, SIDES.left)]
  const [bottom, right] = [count(rows, SIDES.bottom), count(columns, SIDES.right)]
  return { top, bottom, left, right }
}

interface Side {
  start: number
  /** From one line to the next one further inside. */
  inward: number
  along: number
  length: number
}

const SIDES: Record<keyof Bars, Side> = {
  top: { start: 0, inward: MINI_WIDTH, along: 1, length: MINI_WIDTH },
  bottom: { start: (MINI_HEIGHT - 1) * MINI_WIDTH, inward: -MINI_WIDTH, along: 1, length: MINI_WIDTH },
  left: { start: 0, inward: 1, along: MINI_WIDTH, length: MINI_HEIGHT },
  right: { start: MINI_WIDTH - 1, inward: -1, along: MINI_WIDTH, length: MINI_HEIGHT },
}

/** Limited range black is 16, and codecs ring around it. */
const BLACK = 22

function isBlack(mini: Uint8Array, line: number, { start, inward, along, length }: Side): boolean {
  for (let k = 0; k < length; k++) if (mini[start + line * inward + k * along]! > BLACK) return false
  return true
}

/** What two pictures have in common, as shares of the poorer picture's edge pixels. */
export interface Structure {
  /** Edges in the same place with the same luma: window borders, text that did not change. */
  kept: number
  /**
   * Edges in the same place and direction, at any contrast: they survive a change of light or a dimming overlay.
   */
  aligned: number
  /** Edge pixels of the poorer picture. */
  edges: number
}

const EDGE = 18
const FAINT_EDGE = 6
const SAME_LUMA = 7
/** The squared cosine of the angle between the gradients of two edges of one direction. */
const SAME_DIRECTION = 0.92 * 0.92

/** Whether two gradients point the same way. */
function areAligned(ax: number, ay: number, bx: number, by: number, least: number): boolean {
  const dot = ax * bx + ay * by
  return dot > 0 && dot * dot >= least * (ax * ax + ay * ay) * (bx * bx + by * by)
}

/** Without the cells in which a bar ends: its own edge is no edge of the picture. */
function toPixels({ top, bottom, left, right }: Bars): Bars {
  const skipped = (cells: number) => (cells === 0 ? 0 : 5 * (cells + 1))
  return { top: skipped(top), bottom: skipped(bottom), left: skipped(left), right: skipped(right) }
}

type Seen = Pick<FrameFeatures, 'picture' | 'mini'>

/** Compares the edges of two 160×90 lumas, inside the bars that both have. */
export function compareStructure(
  { picture: before, mini }: Seen,
  { picture: after, mini: afterMini }: Seen,
): Structure {
  const { top, bottom, left, right } = toPixels(commonBars(mini, afterMini))
  let kept = 0
  let alignedA = 0
  let alignedB = 0
  let edgesA = 0
  let edgesB = 0
  for (let row = top; row < PICTURE_HEIGHT - 1 - bottom; row++) {
    const end = (row + 1) * PICTURE_WIDTH - 1 - right
    for (let at = row * PICTURE_WIDTH + left; at < end; at++) {
      const a = before[at]!
      const b = after[at]!
      const ax = before[at + 1]! - a
      const ay = before[at + PICTURE_WIDTH]! - a
      const bx = after[at + 1]! - b
      const by = after[at + PICTURE_WIDTH]! - b
      const strengthA = Math.abs(ax) + Math.abs(ay)
      const strengthB = Math.abs(bx) + Math.abs(by)
      const edgeA = strengthA >= EDGE
      const edgeB = strengthB >= EDGE
      if (!edgeA && !edgeB) continue
      if (edgeA) edgesA++
      if (edgeB) edgesB++
      if (edgeA && edgeB && Math.abs(a - b) <= SAME_LUMA) kept++
      if (Math.min(strengthA, strengthB) < FAINT_EDGE || !areAligned(ax, ay, bx, by, SAME_DIRECTION)) continue
      if (edgeA) alignedA++
      if (edgeB) alignedB++
    }
  }
  const edges = Math.min(edgesA, edgesB)
  return {
    kept: kept / Math.max(1, edges),
    aligned: Math.max(alignedA / Math.max(1, edgesA), alignedB / Math.max(1, edgesB)),
    edges,
  }
}

/**
 * How many edge pixels two 160×90 lumas have, and how many of the first one's the second has in the same place and
 * direction at no less than half of the contrast. Only those count of whose pixel `where` says so.
 */
export function compareEdges(first: Uint8Array, second: Uint8Array, where?: (at: number) => boolean) {
  let [edges, otherEdges, kept] = [0, 0, 0]
  for (let row = 0; row < PICTURE_HEIGHT - 1; row++) {
    const end = (row + 1) * PICTURE_WIDTH - 1
    for (let at = row * PICTURE_WIDTH; at < end; at++) {
      const ax = first[at + 1]! - first[at]!
      const ay = first[at + PICTURE_WIDTH]! - first[at]!
      const bx = second[at + 1]! - second[at]!
      const by = second[at + PICTURE_WIDTH]! - second[at]!
      const [a, b] = [Math.abs(ax) + Math.abs(ay), Math.abs(bx) + Math.abs(by)]
      if (a < EDGE && b < EDGE) continue
      if (where && !where(at)) continue
      if (a >= EDGE) edges++
      if (b >= EDGE) otherEdges++
      if (a >= EDGE && b >= a / 2 && areAligned(ax, ay, bx, by, 0.8)) kept++
    }
  }
  return { edges, otherEdges, kept }
}

/** A straight edge over so much of the picture's width or height belongs to a window or a panel. */
const LONG_EDGE = 0.4

/** Whether a long straight edge, upright or level, is in both pictures: the border of a window. */
export function keepsFrame(before: Seen, after: Seen): boolean {
  const { top, bottom, left, right } = toPixels(commonBars(before.mini, after.mini))
  const isKept = (at: number, step: number) =>
    Math.abs(before.picture[at + step]! - before.picture[at]!) >= EDGE &&
    Math.abs(after.picture[at + step]! - after.picture[at]!) >= EDGE &&
    Math.abs(after.picture[at]! - before.picture[at]!) <= SAME_LUMA
  const columns = new Uint8Array(PICTURE_WIDTH)
  for (let row = top; row < PICTURE_HEIGHT - 1 - bottom; row++) {
    let level = 0
    for (let column = left; column < PICTURE_WIDTH - 1 - right; column++) {
      const at = row * PICTURE_WIDTH + column
      if (isKept(at, PICTURE_WIDTH)) level++
      if (isKept(at, 1)) columns[column]!++
    }
    if (level >= LONG_EDGE * PICTURE_WIDTH) return true
  }
  return columns.some((count) => count >= LONG_EDGE * PICTURE_HEIGHT)
}
