import { isOverlaid } from './blend.ts'
import type { BoundaryCandidate } from './boundary.ts'
import { isBlank, miniCorrelation, miniDistance, shareOfEdges } from './compare.ts'
import { findCut } from './cut.ts'
import type { FrameFeatures } from './features.ts'
import { DIRECTIONS, overlaps } from './push.ts'
import { THRESHOLDS } from './thresholds.ts'

/**
 * A dissolve between a shot in quick motion and one that nearly rests, whose middle is about frame `i`. No blend of two
 * ends explains it, because one of them never holds still. But the edges of the shot at rest come up, or go, in place:
 * a camera that comes to rest brings its edges along.
 */
export function findCalm(frames: FrameFeatures[], i: number): BoundaryCandidate | null {
  if (frames[i]!.difference < THRESHOLDS.calmMotion || i < 2) return null
  return findTowards(frames, i, 1) ?? findTowards(frames, i, -1)
}

/** `step` is 1 when the shot at rest comes after frame `i`, and -1 when it came before. */
function findTowards(frames: FrameFeatures[], i: number, step: 1 | -1): BoundaryCandidate | null {
  const rest = findRest(frames, i, step)
  if (rest === null) return null
  const calm = frames[rest]!
  // Most quick motion that comes to rest ends here.
  if (shareOfEdges(calm.picture, frames[i]!.picture) < THRESHOLDS.calmEdgesMixed) return null
  const span = Math.abs(rest - i)
  const far = i - step * (span + 1)
  const wild = frames[far]
  if (!wild || isBlank(calm) || Math.min(wild.deviation, calm.deviation) < THRESHOLDS.calmDeviation) return null
  const distance = miniDistance(wild.mini, calm.mini)
  if (distance < THRESHOLDS.calmDistance || miniCorrelation(wild.mini, calm.mini) > THRESHOLDS.calmCorrelation)
    return null
  if (shareOfEdges(calm.picture, wild.picture) > THRESHOLDS.calmEdgesFar || isOverlaid(wild, calm)) return null
  if (DIRECTIONS.some((direction) => overlaps(frames[i]!.picture, calm.picture, direction))) return null
  // Two mixed pictures at least: of a cut there are none.
  let mixed = 0
  for (let j = rest - step; j !== far; j -= step) {
    const way = miniDistance(frames[j]!.mini, calm.mini)
    if (way >= 0.2 * distance && shareOfEdges(calm.picture, frames[j]!.picture) >= THRESHOLDS.calmEdgesMixed) mixed++
  }
  if (mixed < 2) return null
  for (let j = Math.min(far, rest) + 1; j <= Math.max(far, rest); j++) if (findCut(frames, j)) return null
  const [start, end] = step === 1 ? [wild, calm] : [calm, wild]
  return {
    type: 'dissolve',
    tMs: frames[i]!.tMs,
    startMs: start.tMs,
    endMs: end.tMs,
    strength: distance,
    score: distance / (1 + Math.abs(2 * mixed - span)),
  }
}

/** The first frame from which the picture rests for a while, at most `calmReachMs` from frame `i`; null without one. */
function findRest(frames: FrameFeatures[], i: number, step: 1 | -1): number | null {
  const stepTo = (j: number) => (step === 1 ? frames[j] : frames[j + 1])?.difference ?? Number.POSITIVE_INFINITY
  const limit = THRESHOLDS.calmRest * frames[i]!.difference
  for (let j = i + step; frames[j] && Math.abs(frames[j]!.tMs - frames[i]!.tMs) <= THRESHOLDS.calmReachMs; j += step) {
    let rests = 0
    while (rests < 5 && stepTo(j + step * (rests + 1)) <= limit) rests++
    if (rests === 5) return j
  }
  return null
}
