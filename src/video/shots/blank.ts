import { countEdges } from './compare.ts'
import type { FrameFeatures } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Frames are asked about many times, as the ends of many possible transitions. */
const known = new WeakMap<object, boolean>()

/** Black, white or one flat colour, without text or outlines. */
export function isBlank(frame: Pick<FrameFeatures, 'deviation' | 'luma' | 'picture'>): boolean {
  const extreme = frame.luma < THRESHOLDS.blankBelowLuma || frame.luma > THRESHOLDS.blankAboveLuma
  if (frame.deviation >= (extreme ? THRESHOLDS.blankDeviation : THRESHOLDS.blankDeviation / 3)) return false
  let blank = known.get(frame)
  if (blank === undefined) {
    blank = countEdges(frame.picture, THRESHOLDS.blankEdges) < THRESHOLDS.blankEdges
    known.set(frame, blank)
  }
  return blank
}
