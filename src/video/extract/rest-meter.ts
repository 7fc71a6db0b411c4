import { HISTORY_FRAMES } from '../shots/detector.ts'
import { type FrameFeatures, PICTURE_PIXELS } from '../shots/features.ts'
import { changedBlocks, LIMITS } from './drawn-pictures.ts'

/** A stretch in which every picture looks the same. */
export interface Held {
  fromMs: number
  toMs: number
}

export interface RestMeter {
  /** The next frame of the film. */
  add(frame: FrameFeatures): void
  /** How long the picture at `tMs` was held, as far as is known: at most `HELD_MS` to both sides. */
  around(tMs: number): Held
}

/** A picture that stands for so long is at rest. Shorter ones come of typing and of easings at a low rate. */
export const HELD_MS = 100
/** Movements that are remembered. The picker's candidates go back by fewer frames. */
const REMEMBERED = 4 * HISTORY_FRAMES

/** Tells rests by every frame, which stills are too far apart for. */
export function createRestMeter(): RestMeter {
  const reference = new Uint8Array(PICTURE_PIXELS)
  /** Instants of pictures that differ from the one held before. */
  let moves: number[] = []
  return {
    add({ tMs, picture }) {
      if (moves.length > 0 && changedBlocks({ picture: reference }, { picture }, LIMITS.quiet) <= LIMITS.quiet) return
      reference.set(picture)
      moves.push(tMs)
      if (moves.length > 2 * REMEMBERED) moves = moves.slice(-REMEMBERED)
    },
    around(tMs) {
      const fromMs = moves.findLast((move) => move <= tMs) ?? tMs
      const toMs = moves.find((move) => move > tMs) ?? Number.POSITIVE_INFINITY
      return { fromMs: Math.max(fromMs, tMs - HELD_MS), toMs: Math.min(toMs, tMs + HELD_MS) }
    },
  }
}
