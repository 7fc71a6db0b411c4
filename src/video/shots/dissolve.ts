import { type FrameFeatures, MINI_BYTES } from './features.ts'
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
