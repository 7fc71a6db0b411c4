import { countEdges, type FrameFeatures } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Black, white or one flat colour, without text or outlines. */
export function isBlank(frame: Pick<FrameFeatures, 'deviation' | 'luma' | 'picture'>): boolean {
  const extreme = frame.luma < THRESHOLDS.blankBelowLuma || frame.luma > THRESHOLDS.blankAboveLuma
  return (
    frame.deviation < (extreme ? THRESHOLDS.blankDeviation : THRESHOLDS.blankDeviation / 3) &&
    countEdges(frame.picture) < THRESHOLDS.blankEdges
  )
}
