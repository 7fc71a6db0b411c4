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
/** Words of four pixels in one row of its cells. */
const ROW_WORDS = (5 * PICTURE_WIDTH) / 4

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

/** Bytes that one `FrameFeatures` keeps of its frame: the luma and the mini image. */
export const KEPT_BYTES = PICTURE_PIXELS + MINI_BYTES

/** Measures one video's reduced frames (planar YUV 4:4:4) in order, each against the one before it. */
export interface FrameMeter {
  /**
   * `frame` must begin at a multiple of four bytes and may be reused at once. What is kept of it is written to `into`,
   * so that a long video can reuse a ring of memory.
   */
  measure(tMs: number, frame: Uint8Array, into?: Uint8Array): FrameFeatures
}

/**
 * Sums are carried from frame to frame. Only words of four pixels that differ change them, because most of a screen and
 * much of a film's background repeats. The sums are whole numbers, so nothing drifts.
 */
export function createFrameMeter(): FrameMeter {
  const last = new Uint8Array(PICTURE_BYTES)
  const lastWords = new Int32Array(last.buffer)
  const mini = new Uint8Array(MINI_BYTES)
  const stale = new Uint8Array(3 * MINI_HEIGHT).fill(1)
  const change: LumaChange = { sum: 0, squares: 0, dark: 0, total: 0, changed: 0, unchanged: 0 }
  let first = true
  let sum = 0
  let squares = 0
  let dark = PICTURE_PIXELS

  function measure(tMs: number, frame: Uint8Array, into: Uint8Array = new Uint8Array(KEPT_BYTES)): FrameFeatures {
    const words = new Int32Array(frame.buffer, frame.byteOffset, PICTURE_BYTES / 4)
    compareLuma(frame, words, last, lastWords, stale, change)
    const colour = compareColour(frame, words, last, lastWords, stale)
    sum += change.sum
    squares += change.squares
    dark += change.dark
    last.set(frame)
    for (let row = 0; row < stale.length; row++) if (stale[row]) writeMiniRow(last, mini, row)
    stale.fill(0)
    into.set(frame.subarray(0, PICTURE_PIXELS))
    into.set(mini, PICTURE_PIXELS)
    const luma = sum / PICTURE_PIXELS
    const features = {
      tMs,
      difference: first ? 0 : (change.total + 2 * colour) / PICTURE_PIXELS,
      changedShare: first ? 0 : change.changed / PICTURE_PIXELS,
      unchangedShare: first ? 1 : change.unchanged / PICTURE_PIXELS,
      luma,
      deviation: Math.sqrt(Math.max(0, squares / PICTURE_PIXELS - luma * luma)),
      darkShare: dark / PICTURE_PIXELS,
      mini: into.subarray(PICTURE_PIXELS),
      picture: into.subarray(0, PICTURE_PIXELS),
    }
    first = false
    return features
  }

  return { measure }
}

/**
 * What changed in the luma: the sums to add, the sum of all differences, and how many pixels differ by much and by
 * nothing.
 */
interface LumaChange {
  sum: number
  squares: number
  dark: number
  total: number
  changed: number
  unchanged: number
}

function compareLuma(
  frame: Uint8Array,
  words: Int32Array,
  last: Uint8Array,
  lastWords: Int32Array,
  stale: Uint8Array,
  into: LumaChange,
): void {
  let sum = 0
  let squares = 0
  let dark = 0
  let total = 0
  let changed = 0
  let unchanged = PICTURE_PIXELS
  for (let w = 0; w < PICTURE_PIXELS / 4; w++) {
    if (words[w] === lastWords[w]) continue
    stale[(w / ROW_WORDS) | 0] = 1
    for (let i = 4 * w; i < 4 * w + 4; i++) {
      const y = frame[i]!
      const before = last[i]!
      const d = y - before
      sum += d
      squares += d * (y + before)
      // `x >> 31` is −1 where x is negative. On moving pictures a branch would be mispredicted half of the time.
      dark += ((before - DARK_LUMA) >> 31) - ((y - DARK_LUMA) >> 31)
      const sign = d >> 31
      const size = (d ^ sign) - sign
      total += size
      changed -= (CHANGED_BY - size) >> 31
      unchanged += (1 - size) >> 31
    }
  }
  into.sum = sum
  into.squares = squares
  into.dark = dark
  into.total = total
  into.changed = changed
  into.unchanged = unchanged
}

/** Sum of all differences of both colour planes. */
function compareColour(
  frame: Uint8Array,
  words: Int32Array,
  last: Uint8Array,
  lastWords: Int32Array,
  stale: Uint8Array,
): number {
  let total = 0
  for (let w = PICTURE_PIXELS / 4; w < PICTURE_BYTES / 4; w++) {
    if (words[w] === lastWords[w]) continue
    stale[(w / ROW_WORDS) | 0] = 1
    const i = 4 * w
    const a = frame[i]! - last[i]!
    const b = frame[i + 1]! - last[i + 1]!
    const c = frame[i + 2]! - last[i + 2]!
    const d = frame[i + 3]! - last[i + 3]!
    total +=
      (a ^ (a >> 31)) -
      (a >> 31) +
      (b ^ (b >> 31)) -
      (b >> 31) +
      (c ^ (c >> 31)) -
      (c >> 31) +
      (d ^ (d >> 31)) -
      (d >> 31)
  }
  return total
}

/** A copy with its own memory. */
export function copyFeatures(features: FrameFeatures): FrameFeatures {
  return { ...features, mini: features.mini.slice(), picture: features.picture.slice() }
}

/** Writes one row of cells of one plane. `row` counts through all three planes. */
function writeMiniRow(frame: Uint8Array, mini: Uint8Array, row: number): void {
  for (let column = 0; column < MINI_WIDTH; column++) {
    let at = row * 5 * PICTURE_WIDTH + column * 5
    let sum = 0
    for (let y = 0; y < 5; y++, at += PICTURE_WIDTH)
      sum += frame[at]! + frame[at + 1]! + frame[at + 2]! + frame[at + 3]! + frame[at + 4]!
    mini[row * MINI_WIDTH + column] = (sum + 12) / 25
  }
}
