import { isBlank } from './blank.ts'
import type { BoundaryCandidate } from './boundary.ts'
import { miniDistance } from './compare.ts'
import type { FrameFeatures } from './features.ts'
import { isPanorama } from './panorama.ts'
import { type Direction, fitPush } from './push-fit.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Lengths of the pushes looked for, seconds, including the rest at either end. */
const PUSH_SECONDS = [0.3, 0.45, 0.6, 0.8, 1.1] as const

/**
 * The best push whose middle is about frame `i`: the new picture drives the old one out, both moving, across two
 * edges of the frame.
 */
export function findPush(frames: FrameFeatures[], i: number): BoundaryCandidate | null {
  if (i < 5 || i > frames.length - 6 || frames[i]!.difference < THRESHOLDS.pushDifference) return null
  const from = Math.max(0, i - 8)
  const to = Math.min(frames.length - 1, i + 8)
  const frameMs = (frames[to]!.tMs - frames[from]!.tMs) / (to - from)
  let best: BoundaryCandidate | null = null
  for (const seconds of PUSH_SECONDS) {
    const half = Math.max(2, Math.round((seconds * 500) / frameMs))
    const lo = i - half
    const hi = i + half
    if (lo < 1 || hi + 1 >= frames.length) break
    const a = frames[lo]!
    const b = frames[hi]!
    if (isBlank(a) || isBlank(b)) continue
    // A pan looks like a push of its own ends. A push rests, or nearly rests, before and after.
    const inside = meanDifference(frames, lo + 1, hi)
    const outside = Math.max(
      ...[half, 2].flatMap((reach) => [
        meanDifference(frames, lo - reach + 1, lo),
        meanDifference(frames, hi + 1, hi + reach),
      ]),
    )
    if (inside < THRESHOLDS.pushDifference || inside < THRESHOLDS.pushOverMotion * outside) continue
    const middle = fitPush(a.picture, b.picture, frames[i]!.picture, null)
    if (!middle || middle.share < 0.3 || middle.share > 0.7 || middle.residual > THRESHOLDS.pushResidual) continue
    if (isPanorama(a.picture, b.picture, middle.direction)) continue
    if (!movesSteadily(frames, lo, hi, middle.direction)) continue
    const strength = miniDistance(a.mini, b.mini)
    const score = (inside * (1 - middle.residual)) / (0.05 + middle.residual)
    if (best && best.score >= score) continue
    best = { type: 'wipe', tMs: frames[i]!.tMs, startMs: a.tMs, endMs: b.tMs, strength, score }
  }
  return best
}

/** Whether the push explains four frames on the way, each with more of the new picture than the one before. */
function movesSteadily(frames: FrameFeatures[], lo: number, hi: number, direction: Direction): boolean {
  const a = frames[lo]!.picture
  const b = frames[hi]!.picture
  let last = 0
  let sum = 0
  let count = 0
  let rises = true
  for (const part of [0.25, 0.4, 0.6, 0.75]) {
    const fit = fitPush(a, b, frames[lo + Math.round(part * (hi - lo))]!.picture, direction)
    if (!fit) continue
    rises &&= fit.share >= last - 0.03
    last = fit.share
    sum += fit.residual
    count++
  }
  return rises && count >= 3 && sum / count <= THRESHOLDS.pushResidual
}

function meanDifference(frames: FrameFeatures[], from: number, to: number): number {
  let sum = 0
  let count = 0
  for (let i = Math.max(1, from); i <= Math.min(frames.length - 1, to); i++) {
    sum += frames[i]!.difference
    count++
  }
  return count === 0 ? 0 : sum / count
}
