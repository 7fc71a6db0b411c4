import type { BoundaryCandidate } from './boundary.ts'
import { miniDistance } from './compare.ts'
import type { FrameFeatures } from './features.ts'
import { STILL_DIFFERENCE, THRESHOLDS } from './thresholds.ts'

/** How many frames a ramp may pause: pictures of ten a second, repeated. */
const RAMP_FRAMES = 5

/**
 * A fade through a run of blank frames that began at `sinceMs` and ended just before frame `end`. A blank at the very
 * start of a video is no transition.
 */
export function findFade(frames: FrameFeatures[], sinceMs: number, end: number): BoundaryCandidate | null {
  const first = firstSince(frames, sinceMs)
  if (first < 2) return null
  const old = settledBefore(frames, first)
  const fresh = settledAfter(frames, end)
  const hardIn = frames[first]!.difference > 0.6 * miniDistance(old.mini, frames[first]!.mini)
  const hardOut = frames[end]!.difference > 0.6 * miniDistance(frames[end - 1]!.mini, fresh.mini)
  if (hardIn && hardOut) return null
  if (isFlash(frames, first, end, old, fresh)) return null
  let middle = (first + end - 1) >> 1
  const blank = frames[middle]!
  if (hardIn) middle = first - 1
  else if (hardOut) middle = end
  return toFade(old, blank, fresh, frames[middle]!.tMs)
}

/** The first of the next frames that has more contrast, as in a ramp. Frames may repeat, and an eased ramp is slow. */
function nextRisen(frames: FrameFeatures[], i: number): number | null {
  const { deviation } = frames[i]!
  for (let k = 1; k <= RAMP_FRAMES && i + k < frames.length; k++)
    if (frames[i + k]!.deviation > deviation * (1 + 0.015 * k) + 0.2 * k) return i + k
  return null
}

/** A short blank between two pictures that are the same. */
function isFlash(
  frames: FrameFeatures[],
  first: number,
  end: number,
  old: FrameFeatures,
  fresh: FrameFeatures,
): boolean {
  if (frames[end]!.tMs - frames[first]!.tMs > THRESHOLDS.flashMs) return false
  return miniDistance(old.mini, fresh.mini) < 0.3 * miniDistance(old.mini, frames[first]!.mini)
}

/** The way into a long blank; null when a cut led there, which `findCut` finds. */
export function findFadeOut(frames: FrameFeatures[], sinceMs: number): BoundaryCandidate | null {
  const first = firstSince(frames, sinceMs)
  if (first < 2) return null
  const old = settledBefore(frames, first)
  const blank = frames[first]!
  const fade = toFade(old, blank, blank, blank.tMs)
  return blank.difference > 0.6 * fade.strength ? null : fade
}

function toFade(old: FrameFeatures, blank: FrameFeatures, fresh: FrameFeatures, tMs: number): BoundaryCandidate {
  const strength = miniDistance(old.mini, fresh.mini)
  const fade = { type: 'fade' as const, tMs, startMs: old.tMs, endMs: fresh.tMs, strength, score: 1000 + strength }
  // The lumas at which the reference's fade test calls a picture black or white.
  if (blank.luma < 24) return { ...fade, through: 'black' }
  return blank.luma > 228 ? { ...fade, through: 'white' } : fade
}

function firstSince(frames: FrameFeatures[], sinceMs: number): number {
  const first = frames.findIndex(({ tMs }) => tMs >= sinceMs)
  return first === -1 ? frames.length - 1 : first
}

/** Goes back along a darkening (or whitening) ramp to the last frame of the old picture. */
function settledBefore(frames: FrameFeatures[], first: number): FrameFeatures {
  let i = first - 1
  while (
    i > 1 &&
    frames[first]!.tMs - frames[i]!.tMs < 1500 &&
    frames[i - 1]!.deviation > frames[i]!.deviation + 0.4 &&
    frames[i]!.difference > STILL_DIFFERENCE
  )
    i--
  return frames[Math.max(0, i)]!
}

/** Goes forward along the ramp to the first frame of the new picture. */
function settledAfter(frames: FrameFeatures[], end: number): FrameFeatures {
  let i = end
  for (;;) {
    if (frames[i]!.tMs - frames[end]!.tMs >= 1500) return frames[i]!
    const risen = nextRisen(frames, i)
    if (risen === null) return frames[i]!
    i = risen
  }
}
