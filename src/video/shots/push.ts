import type { BoundaryCandidate } from './boundary.ts'
import { isBlank, miniDistance } from './compare.ts'
import { type FrameFeatures, PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Lengths of the pushes looked for, seconds, including the rest at either end. */
const PUSH_SECONDS = [0.3, 0.45, 0.6, 0.8, 1.1] as const

/**
 * The best push whose middle is about frame `i`: the new picture drives the old one out, both moving, across two
 * edges of the frame.
 */
export function findPush(frames: FrameFeatures[], i: number): BoundaryCandidate | null {
  if (i < 5 || i > frames.length - 6 || frames[i]!.difference < THRESHOLDS.pushDifference) return null
  const from = Math.max(0, i - 8)
  const to = Math.min(frames.length - 1, i + 8)
  const frameMs = (frames[to]!.tMs - frames[from]!.tMs) / (to - from)
  let best: BoundaryCandidate | null = null
  for (const seconds of PUSH_SECONDS) {
    const half = Math.max(2, Math.round((seconds * 500) / frameMs))
    const lo = i - half
    const hi = i + half
    if (lo < 1 || hi + 1 >= frames.length) break
    const a = frames[lo]!
    const b = frames[hi]!
    if (isBlank(a) || isBlank(b)) continue
    // A pan looks like a push of its own ends. A push rests, or nearly rests, before and after.
    const inside = meanDifference(frames, lo + 1, hi)
    const outside = Math.max(
      ...[half, 2].flatMap((reach) => [
        meanDifference(frames, lo - reach + 1, lo),
        meanDifference(frames, hi + 1, hi + reach),
      ]),
    )
    if (inside < THRESHOLDS.pushDifference || inside < THRESHOLDS.pushOverMotion * outside) continue
    const middle = fitPush(a.picture, b.picture, frames[i]!.picture, null)
    if (!middle || middle.share < 0.3 || middle.share > 0.7 || middle.residual > THRESHOLDS.pushResidual) continue
    if (isPanorama(a.picture, b.picture, middle.direction)) continue
    if (!movesSteadily(frames, lo, hi, middle.direction)) continue
    const strength = miniDistance(a.mini, b.mini)
    const score = (inside * (1 - middle.residual)) / (0.05 + middle.residual)
    if (best && best.score >= score) continue
    best = { type: 'wipe', tMs: frames[i]!.tMs, startMs: a.tMs, endMs: b.tMs, strength, score }
  }
  return best
}

/** Whether the push explains four frames on the way, each with more of the new picture than the one before. */
function movesSteadily(frames: FrameFeatures[], lo: number, hi: number, direction: Direction): boolean {
  const a = frames[lo]!.picture
  const b = frames[hi]!.picture
  let last = 0
  let sum = 0
  let count = 0
  let rises = true
  for (const part of [0.25, 0.4, 0.6, 0.75]) {
    const fit = fitPush(a, b, frames[lo + Math.round(part * (hi - lo))]!.picture, direction)
    if (!fit) continue
    rises &&= fit.share >= last - 0.03
    last = fit.share
    sum += fit.residual
    count++
  }
  return rises && count >= 3 && sum / count <= THRESHOLDS.pushResidual
}

function meanDifference(frames: FrameFeatures[], from: number, to: number): number {
  let sum = 0
  let count = 0
  for (let i = Math.max(1, from); i <= Math.min(frames.length - 1, to); i++) {
    sum += frames[i]!.difference
    count++
  }
  return count === 0 ? 0 : sum / count
}

const DIRECTIONS = ['left', 'right', 'up', 'down'] as const
type Direction = (typeof DIRECTIONS)[number]

interface PushFit {
  direction: Direction
  /** How much of the new picture is in, 0–1. */
  share: number
  /** What the push leaves unexplained, as a share of what either picture standing still would leave. */
  residual: number
}

/** The direction and share by which B must have driven out A to give M. Null where M nearly equals one of the two. */
function fitPush(A: Uint8Array, B: Uint8Array, M: Uint8Array, direction: Direction | null): PushFit | null {
  const across = layOut(A, B, 'left')
  const still = Math.min(pushDistance(across, M, 0, 3), pushDistance(across, M, across.length, 3))
  if (still < 3) return null
  let best: PushFit | null = null
  for (const way of direction ? [direction] : DIRECTIONS) {
    const pair = layOut(A, B, way)
    const { length } = pair
    const isBackwards = way === 'right' || way === 'down'
    const distance = (shift: number, grid: number) => pushDistance(pair, M, isBackwards ? length - shift : shift, grid)
    // A coarse search first, then pixel by pixel around its best.
    let at = 0
    let least = Number.POSITIVE_INFINITY
    for (let step = length === PICTURE_WIDTH ? 4 : 3, shift = step; shift < length; shift += step) {
      const d = distance(shift, 7)
      if (d < least) {
        least = d
        at = shift
      }
    }
    least = Number.POSITIVE_INFINITY
    for (let shift = Math.max(1, at - 3), end = Math.min(length - 1, at + 3); shift <= end; shift++) {
      const d = distance(shift, 3)
      if (d < least) {
        least = d
        at = shift
      }
    }
    const residual = least / still
    if (!best || residual < best.residual) best = { direction: way, share: at / length, residual }
  }
  return best
}

/** Two pictures that lie one behind the other along rows (`stride` 1) or columns. */
interface Pair {
  first: Uint8Array
  second: Uint8Array
  length: number
  stride: number
  lines: number
  lineStride: number
}

function layOut(A: Uint8Array, B: Uint8Array, direction: Direction): Pair {
  const [first, second] = direction === 'right' || direction === 'down' ? [B, A] : [A, B]
  const across = direction === 'left' || direction === 'right'
  const [length, stride] = across ? [PICTURE_WIDTH, 1] : [PICTURE_HEIGHT, PICTURE_WIDTH]
  const [lines, lineStride] = across ? [PICTURE_HEIGHT, PICTURE_WIDTH] : [PICTURE_WIDTH, 1]
  return { first, second, length, stride, lines, lineStride }
}

/**
 * Mean difference of M to the first picture moved back by `shift` pixels with the second following it. Compares every
 * `grid`th pixel of every `grid`th line.
 */
function pushDistance(
  { first, second, length, stride, lines, lineStride }: Pair,
  M: Uint8Array,
  shift: number,
  grid: number,
): number {
  const seam = length - shift
  let sum = 0
  let count = 0
  for (let line = 1; line < lines; line += grid) {
    const start = line * lineStride
    for (let k = 1; k < length; k += grid) {
      const value = k < seam ? first[start + (k + shift) * stride]! : second[start + (k - seam) * stride]!
      const d = M[start + k * stride]! - value
      sum += d < 0 ? -d : d
      count++
    }
  }
  return sum / count
}

/**
 * Whether A and B are parts of one wide picture, overlapping or side by side. Then the camera moved or the page was
 * scrolled, and no picture was driven out.
 */
function isPanorama(A: Uint8Array, B: Uint8Array, direction: Direction): boolean {
  if (overlaps(A, B, direction)) return true
  const { first, second, length, stride, lines, lineStride } = layOut(A, B, direction)
  let seam = 0
  let steps = 0
  for (let line = 0; line < lines; line++) {
    const start = line * lineStride
    const end = start + (length - 1) * stride
    seam += Math.abs(first[end]! - second[start]!)
    for (let k = 0; k < 8; k++) {
      steps += Math.abs(first[end - k * stride]! - first[end - (k + 1) * stride]!)
      steps += Math.abs(second[start + k * stride]! - second[start + (k + 1) * stride]!)
    }
  }
  return seam / lines < THRESHOLDS.pushSeam || seam < THRESHOLDS.pushSeamOverSteps * (steps / 16)
}

/** Whether part of A recurs in B, shifted in this direction. */
function overlaps(A: Uint8Array, B: Uint8Array, direction: Direction): boolean {
  const pair = layOut(A, B, direction)
  for (let shift = 1; shift < pair.length - 1; shift++) if (matchesShifted(pair, shift)) return true
  return false
}

/** Whether what lies `shift` pixels into the first recurs where the second begins. A flat part proves nothing. */
function matchesShifted({ first, second, length, stride, lines, lineStride }: Pair, shift: number): boolean {
  const overlap = length - shift
  const step = Math.max(1, overlap >> 4)
  let difference = 0
  let sum = 0
  let squares = 0
  let count = 0
  for (let line = 1; line < lines; line += 3) {
    for (let k = 0; k < overlap; k += step) {
      const at = line * lineStride + k * stride
      const value = second[at]!
      difference += Math.abs(first[at + shift * stride]! - value)
      sum += value
      squares += value * value
      count++
    }
  }
  const deviation = Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2))
  return deviation > THRESHOLDS.pushFlat && difference / count < THRESHOLDS.pushOverlap * deviation
}
