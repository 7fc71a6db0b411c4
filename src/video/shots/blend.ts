import { fitDissolve, fitWipe } from './blend-fit.ts'
import type { BoundaryCandidate } from './boundary.ts'
import { compareStructure, isBlank, miniCorrelation, miniDistance } from './compare.ts'
import { type FrameFeatures, MINI_HEIGHT, MINI_WIDTH } from './features.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Lengths of the dissolves and wipes looked for, seconds. */
const BLEND_SECONDS = [0.2, 0.33, 0.5, 0.75, 1, 1.5, 2] as const

/** By how much rounding its cells to whole levels can raise the distance of two mini images. */
const MINI_ROUNDING = 5

/** The best dissolve or wipe whose middle is frame `i`. */
export function findBlend(frames: FrameFeatures[], i: number): BoundaryCandidate | null {
  const from = Math.max(0, i - 8)
  const to = Math.min(frames.length - 1, i + 8)
  if (to - from < 8) return null
  const frameMs = (frames[to]!.tMs - frames[from]!.tMs) / (to - from)
  let best: BoundaryCandidate | null = null
  let lastHalf = 0
  let way = 0
  let longest = 0
  let reached = 0
  for (const seconds of BLEND_SECONDS) {
    const half = Math.max(2, Math.round((seconds * 500) / frameMs))
    if (half === lastHalf) continue
    lastHalf = half
    const lo = i - half
    const hi = i + half
    if (lo < 0 || hi >= frames.length) break
    // No two pictures are further apart than the way between them. Most pictures are judged by this alone.
    for (; reached < half; reached++) {
      const [before, after] = [frames[i - reached]!.difference, frames[i + reached + 1]!.difference]
      way += before + after
      longest = Math.max(longest, before, after)
    }
    if (way + MINI_ROUNDING < THRESHOLDS.blendDistance || longest > 0.55 * (way + MINI_ROUNDING)) continue
    const a = frames[lo]!
    const b = frames[hi]!
    const distance = miniDistance(a.mini, b.mini)
    if (distance < THRESHOLDS.blendDistance || isBlank(a) || isBlank(b)) continue
    if (hasJump(frames, lo, hi, distance)) continue
    const far = distance >= THRESHOLDS.blendFar
    const overMotion = far ? THRESHOLDS.blendOverMotionFar : THRESHOLDS.blendOverMotion
    if (distance < overMotion * Math.max(ownMotion(frames, lo, -half), ownMotion(frames, hi, half))) continue
    const dissolve = fitDissolve(frames, lo, hi)
    const fit = dissolve ?? fitWipe(frames, lo, hi)
    if (!fit) continue
    const score = (distance * (1 - fit.residual)) / (0.05 + fit.residual)
    if (best && best.score >= score) continue
    const correlation = miniCorrelation(a.mini, b.mini)
    if (correlation > THRESHOLDS.correlationAtMost) continue
    // Shots that move while they are mixed fit less well. Then the two ends must be very different.
    if (fit.residual > THRESHOLDS.blendResidual && !(distance >= THRESHOLDS.blendMoving && correlation < 0.4)) continue
    if (keepsStructure(a, b) || isOverlaid(a, b)) continue
    best = {
      type: dissolve ? 'dissolve' : 'wipe',
      tMs: frames[i]!.tMs,
      startMs: frames[lo + fit.lead]!.tMs,
      endMs: frames[hi - fit.tail]!.tMs,
      strength: distance,
      score,
    }
  }
  return best
}

/** One step that covers more than half of the way: a cut lies between, not a gradual transition. */
function hasJump(frames: FrameFeatures[], lo: number, hi: number, distance: number): boolean {
  for (let i = lo + 1; i <= hi; i++) if (isStep(frames, i, 0.55 * distance)) return true
  return false
}

/** Whether frame `i` differs by more than `limit` from the one before it, grain left aside. */
function isStep(frames: FrameFeatures[], i: number, limit: number): boolean {
  const { difference } = frames[i]!
  if (difference <= limit) return false
  const around = (frames[i - 1]!.difference + (frames[i + 1]?.difference ?? 0)) / 2
  return difference > 2 * around || miniDistance(frames[i - 1]!.mini, frames[i]!.mini) > limit
}

/**
 * How far the picture moves within one shot over `span` frames from `from`. A slow pan of a soft picture also looks
 * like a blend of its ends.
 */
function ownMotion(frames: FrameFeatures[], from: number, span: number): number {
  const step = Math.sign(span)
  let to = from
  while (to !== from + span && frames[to + step] && !isStep(frames, step > 0 ? to + 1 : to, 25)) to += step
  const length = Math.abs(to - from)
  return length === 0 ? 0 : (miniDistance(frames[from]!.mini, frames[to]!.mini) * Math.abs(span)) / length
}

function keepsStructure(a: FrameFeatures, b: FrameFeatures): boolean {
  const structure = compareStructure(a, b)
  if (structure.edges < 40) return false
  return structure.kept > THRESHOLDS.keptAtMost || structure.aligned > THRESHOLDS.alignedAtMost
}

/** The same shot, perhaps dimmed, with a title or a logo that faded in or out over it. */
function isOverlaid(a: FrameFeatures, b: FrameFeatures): boolean {
  if (unchangedCells(a.mini, b.mini, THRESHOLDS.overlaySameTolerance) >= THRESHOLDS.overlaySame) return true
  const { share, slope, correlation, deviation } = fitOverlaid(a.mini, b.mini, THRESHOLDS.overlayTolerance)
  if (share < THRESHOLDS.overlayShare) return false
  const steepness = Math.max(slope, 1 / slope)
  const dimmer = Math.min(deviation, deviation * slope)
  // Little is left of a picture that is nearly black. What is left must then agree better.
  return steepness <= THRESHOLDS.overlaySteep
    ? correlation >= THRESHOLDS.overlayCorrelation && deviation >= THRESHOLDS.overlayDeviation
    : steepness <= THRESHOLDS.overlaySteepest &&
        correlation >= THRESHOLDS.overlayCorrelationSteep &&
        dimmer >= THRESHOLDS.overlayDeviationSteep
}

const CELLS = MINI_WIDTH * MINI_HEIGHT
/** Rounds of fitting; each forgets what the round before could not explain. */
const ROUNDS = 6

/** How far one picture is another one, dimmed or lit, with something laid over part of it. */
interface Overlaid {
  /** Share of the cells that `slope · before + offset` explains. */
  share: number
  slope: number
  /** Pearson correlation of the explained cells. */
  correlation: number
  /** Standard deviation of `before` over the explained cells. */
  deviation: number
}

/** Where fitting starts: as it was, dimmed, lit. */
const SLOPES = [1, 0.6, 0.35, 1.7, 2.8] as const

/**
 * Fits `after = slope · before + offset` to the lumas of two mini images, without the cells that something was laid
 * over. It repeats least squares on the cells within `tolerance` (iteratively trimmed least squares, Rousseeuw 1984),
 * from several starts. The best is the one that explains most.
 */
function fitOverlaid(before: Uint8Array, after: Uint8Array, tolerance: number): Overlaid {
  let best: Overlaid = { share: 0, slope: 0, correlation: 0, deviation: 0 }
  for (const slope of SLOPES) {
    const fit = fitFrom(slope, before, after, tolerance)
    if (fit && fit.share > best.share) best = fit
  }
  return best
}

function fitFrom(start: number, before: Uint8Array, after: Uint8Array, tolerance: number): Overlaid | null {
  let slope = start
  let offset = middleStep(before, after, slope)
  for (let round = 1; ; round++) {
    const reach = tolerance * (round < 3 ? 2 : 1)
    const inside: number[] = []
    for (let k = 0; k < CELLS; k++) if (Math.abs(after[k]! - slope * before[k]! - offset) <= reach) inside.push(k)
    const fit = leastSquares(before, after, inside)
    if (!fit) return null
    slope = fit.slope
    offset = fit.offset
    if (round === ROUNDS) return { ...fit, share: inside.length / CELLS }
  }
}

/** Share of the cells whose luma differs by at most `tolerance`. */
function unchangedCells(before: Uint8Array, after: Uint8Array, tolerance: number): number {
  let count = 0
  for (let k = 0; k < CELLS; k++) if (Math.abs(after[k]! - before[k]!) <= tolerance) count++
  return count / CELLS
}

/** The median of what is left of `after` when `slope · before` is taken away. */
function middleStep(before: Uint8Array, after: Uint8Array, slope: number): number {
  const counts = new Uint16Array(1024)
  for (let k = 0; k < CELLS; k++) counts[Math.round(after[k]! - slope * before[k]!) + 720]!++
  let step = 0
  for (let below = counts[0]!; below <= CELLS >> 1; below += counts[step]!) step++
  return step - 720
}

function leastSquares(before: Uint8Array, after: Uint8Array, cells: readonly number[]) {
  const n = cells.length
  if (n < 20) return null
  let sa = 0
  let sb = 0
  let aa = 0
  let ab = 0
  let bb = 0
  for (const k of cells) {
    const a = before[k]!
    const b = after[k]!
    sa += a
    sb += b
    aa += a * a
    ab += a * b
    bb += b * b
  }
  const varA = aa / n - (sa / n) ** 2
  const varB = bb / n - (sb / n) ** 2
  const cov = ab / n - (sa / n) * (sb / n)
  if (varA < 1e-6) return null
  const slope = cov / varA
  return {
    slope,
    offset: sb / n - (slope * sa) / n,
    correlation: varB < 1e-6 ? 0 : cov / Math.sqrt(varA * varB),
    deviation: Math.sqrt(varA),
  }
}
