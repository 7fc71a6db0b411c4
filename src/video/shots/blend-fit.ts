import { type FrameFeatures, MINI_BYTES, MINI_HEIGHT, MINI_WIDTH } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/** How well a kind of transition explains the frames between two ends. */
export interface BlendFit {
  residual: number
  /** Frames after the first end that still show the old picture alone. */
  lead: number
  /** Frames before the last end that already show the new picture alone. */
  tail: number
}

/**
 * How well M(t) = (1−a)·A + a·B explains the frames between `lo` and `hi`, with `a` rising from 0 to 1. Null when it
 * does not.
 */
export function fitDissolve(frames: FrameFeatures[], lo: number, hi: number): BlendFit | null {
  const A = frames[lo]!.mini
  const B = frames[hi]!.mini
  let squares = 0
  let span = 0
  for (let k = 0; k < MINI_BYTES; k++) {
    const d = B[k]! - A[k]!
    squares += d * d
    span += d < 0 ? -d : d
  }
  const alphaAt = (i: number): number => {
    const M = frames[i]!.mini
    let dot = 0
    for (let k = 0; k < MINI_BYTES; k++) dot += (M[k]! - A[k]!) * (B[k]! - A[k]!)
    return dot / squares
  }
  const residualAt = (i: number, alpha: number): number => {
    const M = frames[i]!.mini
    let sum = 0
    for (let k = 0; k < MINI_BYTES; k++) {
      const d = M[k]! - A[k]! - alpha * (B[k]! - A[k]!)
      sum += d < 0 ? -d : d
    }
    return sum / span
  }
  const middle = (lo + hi) >> 1
  const alpha = alphaAt(middle)
  if (alpha < 0.3 || alpha > 0.7 || residualAt(middle, alpha) > THRESHOLDS.blendResidualFar * 1.5) return null
  const points = Math.min(hi - lo - 1, 8)
  let last = 0
  let sum = 0
  let lead = 0
  let tail = 0
  for (let p = 1; p <= points; p++) {
    const i = lo + Math.round((p * (hi - lo)) / (points + 1))
    const a = alphaAt(i)
    if (a < last - 0.06 || a - last > 0.42) return null
    sum += residualAt(i, a)
    if (a < 0.03) lead = i - lo
    if (a > 0.97 && tail === 0) tail = hi - i
    last = a
  }
  if (1 - last > 0.42) return null
  const residual = sum / points
  return residual <= THRESHOLDS.blendResidualFar ? { residual, lead, tail } : null
}

/**
 * Whether every cell of the frames between `lo` and `hi` shows one of the two ends, and ever more of them the later
 * one. That is a wipe, an iris, or a slide that uncovers.
 */
export function fitWipe(frames: FrameFeatures[], lo: number, hi: number): BlendFit | null {
  const A = frames[lo]!.mini
  const B = frames[hi]!.mini
  const cells = MINI_BYTES / 3
  const active: number[] = []
  for (let k = 0; k < cells; k++) if (cellDistance(A, B, k, cells) > 30) active.push(k)
  if (active.length < cells * 0.5) return null
  const isActive = new Uint8Array(cells)
  for (const k of active) isActive[k] = 1
  const shows = new Uint8Array(cells)
  const points = Math.min(hi - lo - 1, 8)
  let last = 0
  let undecided = 0
  let middle = 0
  let lead = 0
  let tail = 0
  for (let p = 1; p <= points; p++) {
    const i = lo + Math.round((p * (hi - lo)) / (points + 1))
    const M = frames[i]!.mini
    let b = 0
    let neither = 0
    for (const k of active) {
      const toA = cellDistance(A, M, k, cells)
      const toB = cellDistance(B, M, k, cells)
      shows[k] = toB < toA ? 1 : 0
      b += shows[k]!
      if (Math.min(toA, toB) > 0.35 * cellDistance(A, B, k, cells)) neither++
    }
    const share = b / active.length
    if (borderShare(isActive, shows) > THRESHOLDS.wipeBorder) return null
    if (neither / active.length > THRESHOLDS.wipeUndecided || share < last - 0.04 || share - last > 0.42) return null
    undecided += neither / active.length
    if (share < 0.02) lead = i - lo
    if (share > 0.98 && tail === 0) tail = hi - i
    if (p === Math.ceil(points / 2)) middle = share
    last = share
  }
  if (middle < 0.25 || middle > 0.75) return null
  return { residual: 0.05 + undecided / points, lead, tail }
}

/**
 * Share of neighbouring cells that show different shots: small for one clean front, large for motion that happens to
 * look like either end.
 */
function borderShare(isActive: Uint8Array, shows: Uint8Array): number {
  let pairs = 0
  let border = 0
  for (let row = 0; row < MINI_HEIGHT; row++) {
    for (let column = 0; column < MINI_WIDTH; column++) {
      const k = row * MINI_WIDTH + column
      if (!isActive[k]) continue
      if (column + 1 < MINI_WIDTH && isActive[k + 1]) {
        pairs++
        if (shows[k] !== shows[k + 1]) border++
      }
      if (row + 1 < MINI_HEIGHT && isActive[k + MINI_WIDTH]) {
        pairs++
        if (shows[k] !== shows[k + MINI_WIDTH]) border++
      }
    }
  }
  return pairs === 0 ? 1 : border / pairs
}

function cellDistance(a: Uint8Array, b: Uint8Array, k: number, cells: number): number {
  return (
    Math.abs(a[k]! - b[k]!) +
    2 * Math.abs(a[k + cells]! - b[k + cells]!) +
    2 * Math.abs(a[k + 2 * cells]! - b[k + 2 * cells]!)
  )
}
