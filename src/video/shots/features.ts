/**
 * The size every frame is reduced to for finding shots. Portrait pictures are squeezed into it, which does not affect
 * the difference of two frames.
 */
export const PICTURE_WIDTH = 160
export const PICTURE_HEIGHT = 90
/** Pixels of one reduced frame. */
export const PICTURE_PIXELS = PICTURE_WIDTH * PICTURE_HEIGHT
/** Bytes of one reduced frame: planar YUV 4:4:4. */
export const PICTURE_BYTES = PICTURE_PIXELS * 3

/** The mini image: 5×5 blocks of the reduced frame, three planes one after the other. */
export const MINI_WIDTH = 32
export const MINI_HEIGHT = 18
export const MINI_PIXELS = MINI_WIDTH * MINI_HEIGHT
export const MINI_BYTES = MINI_PIXELS * 3

const CHANGED_BY = 24
const DARK_LUMA = 60

/** What the detector and the picker know about one frame. Luma and differences in 8-bit steps, shares 0–1. */
export interface FrameFeatures {
  tMs: number
  /** Mean |ΔY| + 2·mean |ΔU| + 2·mean |ΔV| to the frame before; 0 for the first. */
  difference: number
  /** Share of pixels whose luma changed by more than 24. */
  changedShare: number
  /** Share of pixels whose luma changed by at most 1. */
  unchangedShare: number
  luma: number
  deviation: number
  darkShare: number
  mini: Uint8Array
  /** Luma at 160×90. */
  picture: Uint8Array
}

/** Measures one video's reduced frames (planar YUV 4:4:4) in order, each against the one before it. */
export function createFrameMeter() {
  const last = new Uint8Array(PICTURE_BYTES)
  let isFirst = true

  return {
    /** `frame` may be reused at once. */
    measure(tMs: number, frame: Uint8Array): FrameFeatures {
      // The first frame is compared with itself.
      if (isFirst) last.set(frame)
      isFirst = false
      const { sum, squares, dark, total, changed, unchanged } = compareLuma(frame, last)
      const colour = compareColour(frame, last)
      last.set(frame)
      const luma = sum / PICTURE_PIXELS
      return {
        tMs,
        difference: (total + 2 * colour) / PICTURE_PIXELS,
        changedShare: changed / PICTURE_PIXELS,
        unchangedShare: unchanged / PICTURE_PIXELS,
        luma,
        deviation: Math.sqrt(Math.max(0, squares / PICTURE_PIXELS - luma * luma)),
        darkShare: dark / PICTURE_PIXELS,
        mini: miniOf(frame),
        picture: frame.slice(0, PICTURE_PIXELS),
      }
    },
  }
}

// Each loop is a function of its own, which is optimised sooner.

function compareLuma(frame: Uint8Array, last: Uint8Array) {
  let [sum, squares, dark, total, changed, unchanged] = [0, 0, 0, 0, 0, 0]
  for (let i = 0; i < PICTURE_PIXELS; i++) {
    const y = frame[i]!
    const d = Math.abs(y - last[i]!)
    sum += y
    squares += y * y
    total += d
    if (y < DARK_LUMA) dark++
    if (d > CHANGED_BY) changed++
    if (d <= 1) unchanged++
  }
  return { sum, squares, dark, total, changed, unchanged }
}

/** Sum of all differences of both colour planes. */
function compareColour(frame: Uint8Array, last: Uint8Array): number {
  let total = 0
  for (let i = PICTURE_PIXELS; i < PICTURE_BYTES; i++) total += Math.abs(frame[i]! - last[i]!)
  return total
}

function miniOf(frame: Uint8Array): Uint8Array {
  const mini = new Uint8Array(MINI_BYTES)
  for (let n = 0, row = 0; row < 3 * MINI_HEIGHT; row++)
    for (let column = 0; column < MINI_WIDTH; column++, n++) {
      let at = (row * PICTURE_WIDTH + column) * 5
      let sum = 0
      for (let y = 0; y < 5; y++, at += PICTURE_WIDTH)
        sum += frame[at]! + frame[at + 1]! + frame[at + 2]! + frame[at + 3]! + frame[at + 4]!
      mini[n] = (sum + 12) / 25
    }
  return mini
}
