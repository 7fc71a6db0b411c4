import type { BoundaryCandidate } from './boundary.ts'
import { compareStructure, keepsFrame, miniCorrelation, miniDistance, type Structure } from './compare.ts'
import type { FrameFeatures } from './features.ts'
import { STILL_DIFFERENCE, THRESHOLDS } from './thresholds.ts'

/** A cut whose new shot begins with frame `i`. */
export function findCut(frames: FrameFeatures[], i: number): BoundaryCandidate | null {
  if (i < 1) return null
  const frame = frames[i]!
  const previous = frames[i - 1]!
  const jump = frame.difference
  if (jump < THRESHOLDS.quietDifference) return null
  const motion = motionAround(frames, i)
  const ratio = jump / Math.max(1, motion.mean)
  const isGrainy = ratio < THRESHOLDS.cutRatio && isBusy(jump, motion)
  if (ratio < THRESHOLDS.busyRatio && !isGrainy) return null
  if (comesInSteps(frames, i)) return null
  const structure = compareStructure(previous, frame)
  const correlation = miniCorrelation(previous.mini, frame.mini)
  const isCut =
    (ratio >= THRESHOLDS.busyRatio && changesShot(frames, i, { motion, ratio, structure, correlation })) ||
    (isGrainy && changesShotInGrain(frames, i, { motion, ratio, structure, correlation }))
  if (!isCut) return null
  if (isFlash(frames, i)) return null
  return {
    type: 'cut',
    tMs: frame.tMs,
    startMs: previous.tMs,
    endMs: frame.tMs,
    strength: jump,
    score: jump * (1.2 - Math.max(0, correlation)),
  }
}

/** What is known of a jump from one frame to the next. */
interface Jump {
  motion: Motion
  /** The jump's size relative to the motion around it. */
  ratio: number
  structure: Structure
  correlation: number
}

function changesShot(frames: FrameFeatures[], i: number, jump: Jump): boolean {
  const frame = frames[i]!
  const { motion, ratio, structure, correlation } = jump
  // Where most of the picture stays as it is, something moved through it. The exception is another text on the same
  // background: such pictures stand still before and after. Another object on the same background leaves no edge of the
  // old one, all at once; what moves through keeps some, or takes several frames.
  const isReplaced =
    frame.difference >= THRESHOLDS.replacedDifference &&
    structure.kept <= THRESHOLDS.replacedKept &&
    (ratio >= THRESHOLDS.replacedRatio ||
      (ratio >= THRESHOLDS.replacedRatioCalm &&
        structure.aligned <= THRESHOLDS.replacedKept &&
        Math.min(motion.before, motion.after) < THRESHOLDS.replacedCalm * frame.difference))
  const inPart =
    frame.unchangedShare > THRESHOLDS.partUnchanged &&
    correlation > THRESHOLDS.partCorrelation &&
    Math.max(motion.before, motion.after) > 1 &&
    !isReplaced
  if (frame.unchangedShare > THRESHOLDS.partUnchanged && standsStill(frames, i) && keepsFrame(frames[i - 1]!, frame))
    return false
  if (!inPart && losesStructure(frames[i - 1]!, frame, structure, correlation)) {
    if (frame.difference >= THRESHOLDS.cutDifference && ratio >= THRESHOLDS.cutRatio) return true
    if (ratio >= THRESHOLDS.quietRatio && (frame.changedShare >= 0.015 || correlation < 0.5)) return true
    return frame.difference >= THRESHOLDS.busyDifference && correlation < 0.5 && structure.kept < 0.12
  }
  // A jump cut within one set-up: most edges stay. The camera's own motion before and after is far smaller than the
  // jump, but never zero as on a screen.
  return (
    frame.difference >= THRESHOLDS.cutDifference &&
    ratio >= THRESHOLDS.jumpRatio &&
    structure.kept > THRESHOLDS.keptAtMost &&
    structure.kept < 0.6 &&
    movesBothSides(frames, i) &&
    !jumpsOn(frames, i)
  )
}

/**
 * Pictures with edges must lose them. Dark, blurred and flat pictures have none. They are compared by their layout of
 * light. Flat ones have no layout either and are compared by the light itself.
 */
function losesStructure(
  previous: FrameFeatures,
  frame: FrameFeatures,
  structure: Structure,
  correlation: number,
): boolean {
  if (structure.edges >= 40)
    return structure.kept <= THRESHOLDS.keptAtMost && structure.aligned <= THRESHOLDS.alignedAtMost
  const flat = Math.min(previous.deviation, frame.deviation) < 4
  return flat ? frame.difference >= 20 : correlation <= THRESHOLDS.correlationAtMost
}

interface Motion {
  before: number
  after: number
  mean: number
}

/** Mean difference of the nearest two frames on either side that moved at all, within `aroundMs`. */
function motionAround(frames: FrameFeatures[], i: number): Motion {
  const tMs = frames[i]!.tMs
  // A frame doubled to reach a higher rate differs by the codec's noise alone.
  const still = Math.max(STILL_DIFFERENCE, frames[i]!.difference * 0.1)
  let before = 0
  let after = 0
  let countBefore = 0
  let countAfter = 0
  for (let j = i - 1; j > 0 && countBefore < 2 && tMs - frames[j]!.tMs <= THRESHOLDS.aroundMs; j--) {
    if (frames[j]!.difference <= still) continue
    before += frames[j]!.difference
    countBefore++
  }
  for (let j = i + 1; j < frames.length && countAfter < 2 && frames[j]!.tMs - tMs <= THRESHOLDS.aroundMs; j++) {
    if (frames[j]!.difference <= still) continue
    after += frames[j]!.difference
    countAfter++
  }
  // A side that does not move at all counts as zero, so that a cut from a still to a quick shot stands out.
  const mean = (sum: number, count: number) => (count === 0 ? 0 : sum / count)
  const sides = { before: mean(before, countBefore), after: mean(after, countAfter) }
  // Nothing is known of what precedes the first picture or follows the last.
  if (i === 1) sides.before = sides.after
  if (i === frames.length - 1) sides.after = sides.before
  return { ...sides, mean: (sides.before + sides.after) / 2 }
}

/**
 * Whether jumps of this size recur more than three times a second: a time-lapse, or a recording of few pictures a
 * second. The shots of a quick montage are longer.
 */
function comesInSteps(frames: FrameFeatures[], i: number): boolean {
  const tMs = frames[i]!.tMs
  let count = 0
  let first = i
  let last = i
  while (first > 1 && tMs - frames[first - 1]!.tMs <= THRESHOLDS.stepsMs) first--
  while (last + 1 < frames.length && frames[last + 1]!.tMs - tMs <= THRESHOLDS.stepsMs) last++
  for (let j = first; j <= last; j++) {
    const jump = frames[j]!.difference
    const isLike = jump >= 0.6 * frames[i]!.difference && jump <= 1.7 * frames[i]!.difference
    const standsAlone = Math.max(frames[j - 1]?.difference ?? 0, frames[j + 1]?.difference ?? 0) < 0.2 * jump
    if (j !== i && isLike && standsAlone) count++
  }
  const seconds = (frames[last]!.tMs - frames[first]!.tMs) / 1000
  return count >= 3 && count / seconds > THRESHOLDS.stepsPerSecond
}

/** Whether jumps like this one go on after it, or led to it: a zoom in whole pixels, a camera that stutters. */
function jumpsOn(frames: FrameFeatures[], i: number): boolean {
  const { tMs, difference } = frames[i]!
  const counts = { before: 0, after: 0 }
  for (let j = i - 1; j > 0 && tMs - frames[j]!.tMs <= THRESHOLDS.jumpsOnMs; j--)
    if (frames[j]!.difference >= 0.5 * difference) counts.before++
  for (let j = i + 1; j < frames.length && frames[j]!.tMs - tMs <= THRESHOLDS.jumpsOnMs; j++)
    if (frames[j]!.difference >= 0.5 * difference) counts.after++
  return Math.max(counts.before, counts.after) >= 3
}

/** Grain covers every picture with differences that are large and even. */
function isBusy(jump: number, { before, after, mean }: Motion): boolean {
  return (
    Math.min(before, after) >= THRESHOLDS.grainDifference && jump >= THRESHOLDS.busyDifference && jump >= 1.3 * mean
  )
}

function changesShotInGrain(frames: FrameFeatures[], i: number, jump: Jump): boolean {
  const ratio = ratioWithoutGrain(frames, i)
  return (
    ratio >= THRESHOLDS.grainRatio &&
    jump.structure.kept <= THRESHOLDS.grainKept * keptAround(frames, i) &&
    changesShot(frames, i, { ...jump, ratio })
  )
}

/**
 * The ratio of the jump to the motion around it, on the mini images. Their cells even the grain out. 0 where the motion
 * around it is not grain.
 */
function ratioWithoutGrain(frames: FrameFeatures[], i: number): number {
  let sum = 0
  for (const j of [i - 2, i - 1, i + 1, i + 2]) {
    if (j < 1 || j >= frames.length) return 0
    const step = miniDistance(frames[j - 1]!.mini, frames[j]!.mini)
    if (step > THRESHOLDS.grainInCells * frames[j]!.difference) return 0
    sum += step
  }
  return (4 * miniDistance(frames[i - 1]!.mini, frames[i]!.mini)) / Math.max(4, sum)
}

/** Grain breaks edges: how many of them are kept where nothing else changes. */
function keptAround(frames: FrameFeatures[], i: number): number {
  const kept = (j: number) => (j > 0 && j < frames.length ? compareStructure(frames[j - 1]!, frames[j]!).kept : 0)
  return Math.max(kept(i - 1), kept(i + 1))
}

/** Whether the picture rests just before frame `i` and just after, as only a screen does. */
function standsStill(frames: FrameFeatures[], i: number): boolean {
  return [i - 1, i + 1].every((j) => (frames[j]?.unchangedShare ?? 0) > 0.97)
}

/** A camera never repeats a picture exactly; a screen recording mostly does. */
function movesBothSides(frames: FrameFeatures[], i: number): boolean {
  let still = 0
  let count = 0
  for (let j = Math.max(1, i - 6); j <= Math.min(frames.length - 1, i + 6); j++) {
    count++
    if (frames[j]!.unchangedShare > 0.97) still++
  }
  return still / count < 0.34
}

/**
 * A flash or a dropped-in frame: the picture soon returns to what it was before the jump, or looked like this just
 * before it.
 */
function isFlash(frames: FrameFeatures[], i: number): boolean {
  const tMs = frames[i]!.tMs
  const before = frames[i - 1]!.mini
  const after = frames[i]!.mini
  const limit = 0.3 * miniDistance(before, after)
  for (let j = i + 1; j < frames.length && frames[j]!.tMs - tMs <= THRESHOLDS.flashMs; j++)
    if (miniDistance(before, frames[j]!.mini) < limit) return true
  for (let j = i - 2; j >= 0 && tMs - frames[j]!.tMs <= THRESHOLDS.flashMs; j--)
    if (miniDistance(after, frames[j]!.mini) < limit) return true
  return false
}
