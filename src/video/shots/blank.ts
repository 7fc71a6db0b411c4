import { countEdges, miniDeviation } from './compare.ts'
import type { FrameFeatures } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

type Judged = Pick<FrameFeatures, 'deviation' | 'luma' | 'picture' | 'mini'>

/** Frames are asked about many times, as the ends of many possible transitions. */
const known = new WeakMap<Judged, boolean>()

/** Black, white or one flat colour, without text or outlines. */
export function isBlank(frame: Judged): boolean {
  const extreme = frame.luma < THRESHOLDS.blankBelowLuma || frame.luma > THRESHOLDS.blankAboveLuma
  if (frame.deviation >= (extreme ? THRESHOLDS.blankGrain : THRESHOLDS.blankDeviation / 3)) return false
  let blank = known.get(frame)
  if (blank === undefined) {
    // Grain alone makes edges and deviation. The cells of the mini image even it out.
    blank =
      frame.deviation < THRESHOLDS.blankDeviation
        ? countEdges(frame.picture, THRESHOLDS.blankEdges) < THRESHOLDS.blankEdges
        : miniDeviation(frame.mini) < THRESHOLDS.blankCellDeviation
    known.set(frame, blank)
  }
  return blank
}
