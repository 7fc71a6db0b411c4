import { PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'

export type Direction = 'left' | 'right' | 'up' | 'down'

export interface PushFit {
  direction: Direction
  /** How much of the new picture is in, 0–1. */
  share: number
  /** What the push leaves unexplained, as a share of what either picture standing still would leave. */
  residual: number
}

/** The direction and share by which B must have driven out A to give M. Null where M nearly equals one of the two. */
export function fitPush(A: Uint8Array, B: Uint8Array, M: Uint8Array, direction: Direction | null): PushFit | null {
  const still = Math.min(
    pushDistance(A, B, M, 1, PICTURE_WIDTH, 0),
    pushDistance(A, B, M, 1, PICTURE_WIDTH, PICTURE_WIDTH),
  )
  if (still < 3) return null
  let best: PushFit | null = null
  for (const way of direction ? [direction] : (['left', 'right', 'up', 'down'] as const)) {
    const across = way === 'left' || way === 'right'
    const length = across ? PICTURE_WIDTH : PICTURE_HEIGHT
    const backwards = way === 'right' || way === 'down'
    const distance = (shift: number, grid: number) =>
      backwards
        ? pushDistance(B, A, M, across ? 1 : PICTURE_WIDTH, length, length - shift, grid)
        : pushDistance(A, B, M, across ? 1 : PICTURE_WIDTH, length, shift, grid)
    // A coarse search first, then pixel by pixel around its best.
    let at = 0
    let least = Number.POSITIVE_INFINITY
    for (let step = across ? 4 : 3, shift = step; shift < length; shift += step) {
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

/**
 * Mean difference of M to `first` moved back by `shift` of `length` pixels with `second` following it, along rows
 * (`stride` 1) or columns. Compares every `grid`th pixel of every `grid`th line.
 */
function pushDistance(
  first: Uint8Array,
  second: Uint8Array,
  M: Uint8Array,
  stride: number,
  length: number,
  shift: number,
  grid = 3,
): number {
  const lines = stride === 1 ? PICTURE_HEIGHT : PICTURE_WIDTH
  const lineStride = stride === 1 ? PICTURE_WIDTH : 1
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
