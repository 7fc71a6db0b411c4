import { PICTURE_HEIGHT, PICTURE_WIDTH } from './features.ts'
import type { Direction } from './push-fit.ts'
import { THRESHOLDS } from './thresholds.ts'

/**
 * Whether A and B are parts of one wide picture, overlapping or side by side. Then the camera moved or the page was
 * scrolled, and no picture was driven out.
 */
export function isPanorama(A: Uint8Array, B: Uint8Array, direction: Direction): boolean {
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
export function overlaps(A: Uint8Array, B: Uint8Array, direction: Direction): boolean {
  const { first, second, ...sizes } = layOut(A, B, direction)
  for (let shift = 1; shift < sizes.length - 1; shift++)
    if (matchesShifted(first, second, { shift, ...sizes })) return true
  return false
}

function layOut(A: Uint8Array, B: Uint8Array, direction: Direction) {
  const [first, second] = direction === 'right' || direction === 'down' ? [B, A] : [A, B]
  const across = direction === 'left' || direction === 'right'
  const [length, stride] = across ? [PICTURE_WIDTH, 1] : [PICTURE_HEIGHT, PICTURE_WIDTH]
  const [lines, lineStride] = across ? [PICTURE_HEIGHT, PICTURE_WIDTH] : [PICTURE_WIDTH, 1]
  return { first, second, length, stride, lines, lineStride }
}

interface Shift {
  shift: number
  length: number
  stride: number
  lines: number
  lineStride: number
}

/** Whether the part `shift` pixels into `first` recurs at the beginning of `second`. A flat part proves nothing. */
function matchesShifted(
  first: Uint8Array,
  second: Uint8Array,
  { shift, length, stride, lines, lineStride }: Shift,
): boolean {
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
