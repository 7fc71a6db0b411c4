import {
  compareStructure,
  countEdges,
  type FrameFeatures,
  MINI_BYTES,
  MINI_HEIGHT,
  MINI_WIDTH,
  miniCorrelation,
  miniDistance,
  PICTURE_HEIGHT,
  PICTURE_WIDTH,
} from '../extract/features.ts'

/** How one shot gives way to the next. `tMs` is the first frame of the new shot for a cut, the middle of the transition else. */
export interface Boundary {
  type: 'cut' | 'fade' | 'dissolve' | 'wipe'
  tMs: number
  /** Last instant that shows the old shot alone. */
  startMs: number
  /** First instant that shows the new shot alone. */
  endMs: number
  /** Distance of the pictures on both sides, in the units of `FrameFeatures.difference`. */
  strength: number
  /** What a fade goes through, where that is plain. */
  through?: 'black' | 'white'
}

/** Stored with each video, so that a later detector can be told from this one. */
export const DETECTOR_VERSION = 'shots@2'
export const DETECTOR_PARAMETERS = {
  aroundMs: 180,
  stepsMs: 1200,
  stepsPerSecond: 3.4,
  cutDifference: 8,
  cutRatio: 3,
  quietDifference: 2.5,
  quietRatio: 5,
  partUnchanged: 0.4,
  partCorrelation: 0.55,
  busyDifference: 30,
  busyRatio: 2,
  jumpRatio: 5,
  keptAtMost: 0.25,
  alignedAtMost: 0.42,
  correlationAtMost: 0.8,
  blendResidual: 0.13,
  blendResidualFar: 0.2,
  blendFar: 60,
  blendDistance: 12,
  blendOverMotion: 2.4,
  blendOverMotionFar: 2.05,
  wipeUndecided: 0.3,
  wipeBorder: 0.12,
  pushDifference: 6,
  pushOverMotion: 2.5,
  pushResidual: 0.4,
  pushOverlap: 0.3,
  pushFlat: 6,
  pushSeam: 8,
  pushSeamOverSteps: 2,
  blankDeviation: 6,
  blankBelowLuma: 26,
  blankAboveLuma: 230,
  blankEdges: 12,
  longBlankMs: 1500,
  minShotMs: 180,
  flashMs: 260,
} as const
const P = DETECTOR_PARAMETERS

/** Lengths of the gradual transitions looked for, seconds. */
const BLEND_SECONDS = [0.2, 0.33, 0.5, 0.75, 1, 1.5, 2] as const
/** Lengths of the pushes looked for, seconds, their rests at either end among them. */
const PUSH_SECONDS = [0.3, 0.45, 0.6, 0.8, 1.1] as const
/** How far after a frame the detector must have seen before it judges the frame. */
const LOOKAHEAD_MS = 1300
/** The longest transition that can be found. */
const LONGEST_MS = 2000
/** How long a judgement may still be changed by a later one. */
const SETTLE_MS = 1300
/** How much of the past is kept. */
const HISTORY_MS = 6000
/** The most frames that are kept, whatever the frame rate. */
export const HISTORY_FRAMES = 1024
/** Below this a frame repeats the one before it. */
const STILL = 0.3

interface Candidate extends Boundary {
  score: number
}

/**
 * Finds the shots of a video while it is being decoded: push every frame in order, get boundaries back as they become certain (at most about three seconds late).
 *
 * A cut is a jump that stands out of the motion around it *and* leaves no structure in place: pop-ups, page turns, typing and scrolling keep window borders and unchanged text,
 * so they are not cuts however large they are. Stillness is left out of "the motion around it", so that a recording of five pictures a second is judged by its own steps.
 * A dissolve is a run of frames that the linear blend of its two ends explains; a wipe a run in which every cell shows one of the two ends; a fade a blank picture between two others.
 */
export interface ShotDetector {
  /** The detector keeps up to `HISTORY_FRAMES` of the last frames: their memory must not be reused earlier. */
  push(frame: FrameFeatures): Boundary[]
  finish(): Boundary[]
  /** No boundary that touches an instant before this one will be told any more. */
  readonly certainMs: number
}

export function createShotDetector(): ShotDetector {
  const frames: FrameFeatures[] = []
  let judged = 0
  let blankSince: number | null = null
  let blankTold = false
  let candidates: Candidate[] = []
  let lastMs = Number.NEGATIVE_INFINITY

  function judge(i: number): void {
    const { tMs } = frames[i]!
    if (isBlank(frames[i]!)) {
      blankSince ??= tMs
      // A long blank is told while it lasts, or it would be told too late.
      if (!blankTold && tMs - blankSince > P.longBlankMs) {
        blankTold = true
        const fade = findFadeOut(frames, blankSince)
        if (fade) candidates.push(fade)
      }
    } else if (blankSince !== null) {
      const fade = blankTold ? null : findFade(frames, blankSince, i)
      if (fade) candidates.push(fade)
      blankSince = null
      blankTold = false
    }
    const cut = findCut(frames, i)
    if (cut) candidates.push(cut)
    const blend = findBlend(frames, i)
    if (blend) candidates.push(blend)
    const push = findPush(frames, i)
    if (push) candidates.push(push)
  }

  function settle(untilMs: number): Boundary[] {
    const ready = candidates.filter((candidate) => candidate.endMs <= untilMs)
    if (ready.length === 0) return []
    const chosen = resolve(candidates).filter((candidate) => candidate.endMs <= untilMs)
    candidates = candidates.filter((candidate) => candidate.endMs > untilMs)
    const fresh = chosen.filter((boundary) => boundary.startMs >= lastMs && boundary.tMs - lastMs >= P.minShotMs * 0.6)
    for (const boundary of fresh) {
      lastMs = boundary.endMs
      // A boundary that has been told silences what overlaps it.
      candidates = candidates.filter((candidate) => candidate.startMs >= boundary.endMs)
    }
    return fresh.map(({ score: _, ...boundary }) => boundary)
  }

  return {
    get certainMs() {
      return judged > 0 ? frames[judged - 1]!.tMs - SETTLE_MS - LONGEST_MS : Number.NEGATIVE_INFINITY
    },
    push(frame) {
      frames.push(frame)
      while (judged < frames.length && frame.tMs - frames[judged]!.tMs >= LOOKAHEAD_MS) judge(judged++)
      let drop = 0
      while (drop < judged - 1 && frames[judged - 1]!.tMs - frames[drop]!.tMs > HISTORY_MS) drop++
      // Rates beyond all measure: then less than the wanted history is kept.
      while (judged < frames.length && frames.length - drop > HISTORY_FRAMES - 64) {
        if (drop >= judged - 1) judge(judged++)
        drop++
      }
      if (drop > 64) {
        frames.splice(0, drop)
        judged -= drop
      }
      return judged > 0 ? settle(frames[judged - 1]!.tMs - SETTLE_MS) : []
    },
    finish() {
      while (judged < frames.length) judge(judged++)
      return settle(Number.POSITIVE_INFINITY)
    },
  }
}

/** All boundaries of frames that are in memory at once. */
export function findShots(frames: Iterable<FrameFeatures>): Boundary[] {
  const detector = createShotDetector()
  const found: Boundary[] = []
  for (const frame of frames) found.push(...detector.push(frame))
  found.push(...detector.finish())
  return found
}

/** Black, white or one flat colour: no text, no outline. */
export function isBlank(frame: Pick<FrameFeatures, 'deviation' | 'luma' | 'picture'>): boolean {
  const extreme = frame.luma < P.blankBelowLuma || frame.luma > P.blankAboveLuma
  return (
    frame.deviation < (extreme ? P.blankDeviation : P.blankDeviation / 3) && countEdges(frame.picture) < P.blankEdges
  )
}

/** Mean difference of the nearest two frames on either side that moved at all, not further than `aroundMs`. */
function motionAround(frames: FrameFeatures[], i: number): { before: number; after: number; mean: number } {
  const tMs = frames[i]!.tMs
  // A frame that was doubled to reach a higher rate differs by the codec's noise alone.
  const still = Math.max(STILL, frames[i]!.difference * 0.1)
  let before = 0
  let after = 0
  let countBefore = 0
  let countAfter = 0
  for (let j = i - 1; j > 0 && countBefore < 2 && tMs - frames[j]!.tMs <= P.aroundMs; j--) {
    if (frames[j]!.difference <= still) continue
    before += frames[j]!.difference
    countBefore++
  }
  for (let j = i + 1; j < frames.length && countAfter < 2 && frames[j]!.tMs - tMs <= P.aroundMs; j++) {
    if (frames[j]!.difference <= still) continue
    after += frames[j]!.difference
    countAfter++
  }
  // A side that stands still all that while counts as rest, so that a cut from a still to a quick shot stands out.
  const mean = (sum: number, count: number) => (count === 0 ? 0 : sum / count)
  const sides = { before: mean(before, countBefore), after: mean(after, countAfter) }
  return { ...sides, mean: (sides.before + sides.after) / 2 }
}

function findCut(frames: FrameFeatures[], i: number): Candidate | null {
  if (i < 1) return null
  const frame = frames[i]!
  const previous = frames[i - 1]!
  const jump = frame.difference
  if (jump < P.quietDifference) return null
  const motion = motionAround(frames, i)
  const ratio = jump / Math.max(1, motion.mean)
  if (ratio < P.busyRatio) return null
  if (comesInSteps(frames, i)) return null
  const structure = compareStructure(previous.picture, frame.picture)
  const correlation = miniCorrelation(previous.mini, frame.mini)
  if (!accept()) return null
  if (isFlash(frames, i)) return null
  return {
    type: 'cut',
    tMs: frame.tMs,
    startMs: previous.tMs,
    endMs: frame.tMs,
    strength: jump,
    score: jump * (1.2 - Math.max(0, correlation)),
  }

  function accept(): boolean {
    // Pictures without edges (dark, blurred, flat) are told apart by their layout of light; flat ones have none, there only the light itself is left.
    const flat = Math.min(previous.deviation, frame.deviation) < 4
    const changed =
      structure.edges >= 40
        ? structure.kept <= P.keptAtMost && structure.aligned <= P.alignedAtMost
        : flat
          ? jump >= 20
          : correlation <= P.correlationAtMost
    // Where most of the picture stays as it is, something moved through it, unless it is another text on one background: those stand still before and after.
    const inPart =
      frame.unchangedShare > P.partUnchanged &&
      correlation > P.partCorrelation &&
      Math.max(motion.before, motion.after) > 1
    if (changed && !inPart) {
      if (jump >= P.cutDifference && ratio >= P.cutRatio) return true
      if (ratio >= P.quietRatio && (frame.changedShare >= 0.015 || correlation < 0.5)) return true
      return jump >= P.busyDifference && correlation < 0.5 && structure.kept < 0.12
    }
    // A jump cut inside one set-up: most edges stay, but the camera's own motion before and after is far smaller, and never nought as on a screen.
    return (
      jump >= P.cutDifference &&
      ratio >= P.jumpRatio &&
      structure.kept > P.keptAtMost &&
      structure.kept < 0.6 &&
      movesBothSides(frames, i)
    )
  }
}

/** Whether jumps of this size come again and again, more than three a second: a time-lapse or a recording of few pictures a second. The shots of a quick montage are longer. */
function comesInSteps(frames: FrameFeatures[], i: number): boolean {
  const tMs = frames[i]!.tMs
  let count = 0
  let first = i
  let last = i
  while (first > 1 && tMs - frames[first - 1]!.tMs <= P.stepsMs) first--
  while (last + 1 < frames.length && frames[last + 1]!.tMs - tMs <= P.stepsMs) last++
  for (let j = first; j <= last; j++) {
    const jump = frames[j]!.difference
    const isLike = jump >= 0.6 * frames[i]!.difference && jump <= 1.7 * frames[i]!.difference
    const standsAlone = Math.max(frames[j - 1]?.difference ?? 0, frames[j + 1]?.difference ?? 0) < 0.2 * jump
    if (j !== i && isLike && standsAlone) count++
  }
  const seconds = (frames[last]!.tMs - frames[first]!.tMs) / 1000
  return count >= 3 && count / seconds > P.stepsPerSecond
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

/** The picture soon returns to what it was before, or had been like this just before the jump: a flash or a dropped-in frame. */
function isFlash(frames: FrameFeatures[], i: number): boolean {
  const tMs = frames[i]!.tMs
  const before = frames[i - 1]!.mini
  const after = frames[i]!.mini
  const limit = 0.3 * miniDistance(before, after)
  for (let j = i + 1; j < frames.length && frames[j]!.tMs - tMs <= P.flashMs; j++)
    if (miniDistance(before, frames[j]!.mini) < limit) return true
  for (let j = i - 2; j >= 0 && tMs - frames[j]!.tMs <= P.flashMs; j--)
    if (miniDistance(after, frames[j]!.mini) < limit) return true
  return false
}

/** Judges a run of blank frames that ended just before frame `end`. Fades at the very start of a video are no transition. */
function findFade(frames: FrameFeatures[], sinceMs: number, end: number): Candidate | null {
  const first = firstSince(frames, sinceMs)
  if (first < 2) return null
  const old = settledBefore(frames, first)
  const fresh = settledAfter(frames, end)
  const hardIn = frames[first]!.difference > 0.6 * miniDistance(old.mini, frames[first]!.mini)
  const hardOut = frames[end]!.difference > 0.6 * miniDistance(frames[end - 1]!.mini, fresh.mini)
  if (hardIn && hardOut) return null
  const middle = hardIn ? first - 1 : hardOut ? end : (first + end - 1) >> 1
  const strength = miniDistance(old.mini, fresh.mini)
  return {
    type: 'fade',
    tMs: frames[middle]!.tMs,
    startMs: old.tMs,
    endMs: fresh.tMs,
    strength,
    ...through(frames[(first + end - 1) >> 1]!),
    score: 1000 + strength,
  }
}

/** The way into a long blank; null when it was a cut, which is found as such. */
function findFadeOut(frames: FrameFeatures[], sinceMs: number): Candidate | null {
  const first = firstSince(frames, sinceMs)
  if (first < 2) return null
  const old = settledBefore(frames, first)
  const blank = frames[first]!
  const strength = miniDistance(old.mini, blank.mini)
  if (blank.difference > 0.6 * strength) return null
  return {
    type: 'fade',
    tMs: blank.tMs,
    startMs: old.tMs,
    endMs: blank.tMs,
    strength,
    ...through(blank),
    score: 1000 + strength,
  }
}

/** The blank picture of a fade, by the luma at which the reference's fade test calls it black or white (24, 228). */
function through({ luma }: FrameFeatures): { through?: 'black' | 'white' } {
  if (luma < 24) return { through: 'black' }
  return luma > 228 ? { through: 'white' } : {}
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
    frames[i]!.difference > STILL
  )
    i--
  return frames[Math.max(0, i)]!
}

function settledAfter(frames: FrameFeatures[], end: number): FrameFeatures {
  let i = end
  while (
    i + 1 < frames.length &&
    frames[i]!.tMs - frames[end]!.tMs < 1500 &&
    frames[i + 1]!.deviation > frames[i]!.deviation + 0.4
  )
    i++
  return frames[i]!
}

/** The best gradual transition whose middle is frame `i`. */
function findBlend(frames: FrameFeatures[], i: number): Candidate | null {
  const from = Math.max(0, i - 8)
  const to = Math.min(frames.length - 1, i + 8)
  if (to - from < 8) return null
  const frameMs = (frames[to]!.tMs - frames[from]!.tMs) / (to - from)
  let best: Candidate | null = null
  let lastHalf = 0
  for (const seconds of BLEND_SECONDS) {
    const half = Math.max(2, Math.round((seconds * 500) / frameMs))
    if (half === lastHalf) continue
    lastHalf = half
    const lo = i - half
    const hi = i + half
    if (lo < 0 || hi >= frames.length) break
    const a = frames[lo]!
    const b = frames[hi]!
    const distance = miniDistance(a.mini, b.mini)
    if (distance < P.blendDistance || isBlank(a) || isBlank(b)) continue
    if (hasJump(frames, lo, hi, distance)) continue
    const far = distance >= P.blendFar
    const overMotion = far ? P.blendOverMotionFar : P.blendOverMotion
    if (distance < overMotion * Math.max(ownMotion(frames, lo, -half), ownMotion(frames, hi, half))) continue
    const dissolve = fitBlend(frames, lo, hi)
    const wipe = dissolve === null ? fitWipe(frames, lo, hi) : null
    const fit = dissolve ?? wipe
    if (!fit) continue
    const score = (distance * (1 - fit.residual)) / (0.05 + fit.residual)
    if (best && best.score >= score) continue
    const correlation = miniCorrelation(a.mini, b.mini)
    if (correlation > P.correlationAtMost) continue
    // Shots that move while they are mixed fit less well; then the two ends must be quite unlike.
    if (fit.residual > P.blendResidual && !(far && correlation < 0.4)) continue
    const structure = compareStructure(a.picture, b.picture)
    if (structure.edges >= 40 && (structure.kept > P.keptAtMost || structure.aligned > P.alignedAtMost)) continue
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

/** The best push whose middle is about frame `i`: the new picture drives the old one out, both moving, over two edges of the frame. */
function findPush(frames: FrameFeatures[], i: number): Candidate | null {
  if (i < 5 || i > frames.length - 6 || frames[i]!.difference < P.pushDifference) return null
  const from = Math.max(0, i - 8)
  const to = Math.min(frames.length - 1, i + 8)
  const frameMs = (frames[to]!.tMs - frames[from]!.tMs) / (to - from)
  let best: Candidate | null = null
  for (const seconds of PUSH_SECONDS) {
    const half = Math.max(2, Math.round((seconds * 500) / frameMs))
    const lo = i - half
    const hi = i + half
    if (lo < 1 || hi + 1 >= frames.length) break
    const a = frames[lo]!
    const b = frames[hi]!
    if (isBlank(a) || isBlank(b)) continue
    // A pan looks like a push of its own ends. A push rests before and after, or nearly so.
    const inside = meanDifference(frames, lo + 1, hi)
    const outside = Math.max(
      ...[half, 2].flatMap((reach) => [
        meanDifference(frames, lo - reach + 1, lo),
        meanDifference(frames, hi + 1, hi + reach),
      ]),
    )
    if (inside < P.pushDifference || inside < P.pushOverMotion * outside) continue
    const middle = fitPush(a.picture, b.picture, frames[i]!.picture, null)
    if (!middle || middle.share < 0.3 || middle.share > 0.7 || middle.residual > P.pushResidual) continue
    if (isPanorama(a.picture, b.picture, middle.direction)) continue
    let last = 0
    let sum = 0
    let count = 0
    let rises = true
    for (const part of [0.25, 0.4, 0.6, 0.75]) {
      const fit = fitPush(a.picture, b.picture, frames[lo + Math.round(part * (hi - lo))]!.picture, middle.direction)
      if (!fit) continue
      rises &&= fit.share >= last - 0.03
      last = fit.share
      sum += fit.residual
      count++
    }
    if (!rises || count < 3 || sum / count > P.pushResidual) continue
    const strength = miniDistance(a.mini, b.mini)
    const score = (inside * (1 - middle.residual)) / (0.05 + middle.residual)
    if (best && best.score >= score) continue
    best = { type: 'wipe', tMs: frames[i]!.tMs, startMs: a.tMs, endMs: b.tMs, strength, score }
  }
  return best
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

/** Whether A and B are parts of one wide picture, overlapping or side by side: then the camera went or the page was scrolled, and nothing was driven out. */
function isPanorama(A: Uint8Array, B: Uint8Array, direction: Direction): boolean {
  const [first, second] = direction === 'right' || direction === 'down' ? [B, A] : [A, B]
  const across = direction === 'left' || direction === 'right'
  const [length, stride] = across ? [PICTURE_WIDTH, 1] : [PICTURE_HEIGHT, PICTURE_WIDTH]
  const [lines, lineStride] = across ? [PICTURE_HEIGHT, PICTURE_WIDTH] : [PICTURE_WIDTH, 1]
  for (let shift = 1; shift < length - 1; shift++) {
    if (matchesShifted(first, second, { shift, length, stride, lines, lineStride })) return true
  }
  let seam = 0
  let steps = 0
  for (let line = 0; line < lines; line++) {
    const start = line * lineStride
    const end = start + (length - 1) * stride
    seam += Math.abs(first[end]! - second[start]!)
    for (let k = 0; k < 8; k++) {
      steps += Math.abs(first[end - k * stride]! - first[end - (k + 1) * stride]!)
      steps += Math.abs(second[start + k * stride]! - second[start + (k + 1) * stride]!)
    }
  }
  return seam / lines < P.pushSeam || seam < P.pushSeamOverSteps * (steps / 16)
}

interface Shift {
  shift: number
  length: number
  stride: number
  lines: number
  lineStride: number
}

/** Whether what lies `shift` pixels into `first` comes again at the beginning of `second`. What is flat there proves nothing. */
function matchesShifted(
  first: Uint8Array,
  second: Uint8Array,
  { shift, length, stride, lines, lineStride }: Shift,
): boolean {
  const overlap = length - shift
  const step = Math.max(1, overlap >> 4)
  let difference = 0
  let sum = 0
  let squares = 0
  let count = 0
  for (let line = 1; line < lines; line += 3) {
    for (let k = 0; k < overlap; k += step) {
      const at = line * lineStride + k * stride
      const value = second[at]!
      difference += Math.abs(first[at + shift * stride]! - value)
      sum += value
      squares += value * value
      count++
    }
  }
  const deviation = Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2))
  return deviation > P.pushFlat && difference / count < P.pushOverlap * deviation
}

type Direction = 'left' | 'right' | 'up' | 'down'

interface PushFit {
  direction: Direction
  /** How much of the new picture is in, 0–1. */
  share: number
  /** What the push leaves unexplained, as a share of what either picture standing still would. */
  residual: number
}

/** The way and the share by which B must have driven out A to give M. Null where M is about one of the two. */
function fitPush(A: Uint8Array, B: Uint8Array, M: Uint8Array, direction: Direction | null): PushFit | null {
  const still = Math.min(
    pushDistance(A, B, M, 1, PICTURE_WIDTH, 0),
    pushDistance(A, B, M, 1, PICTURE_WIDTH, PICTURE_WIDTH),
  )
  if (still < 3) return null
  let best: PushFit | null = null
  for (const way of direction ? [direction] : (['left', 'right', 'up', 'down'] as const)) {
    const across = way === 'left' || way === 'right'
    const length = across ? PICTURE_WIDTH : PICTURE_HEIGHT
    const backwards = way === 'right' || way === 'down'
    const distance = (shift: number, grid: number) =>
      backwards
        ? pushDistance(B, A, M, across ? 1 : PICTURE_WIDTH, length, length - shift, grid)
        : pushDistance(A, B, M, across ? 1 : PICTURE_WIDTH, length, shift, grid)
    // Roughly first, then pixel by pixel about the best.
    let at = 0
    let least = Number.POSITIVE_INFINITY
    for (let step = across ? 4 : 3, shift = step; shift < length; shift += step) {
      const d = distance(shift, 7)
      if (d < least) {
        least = d
        at = shift
      }
    }
    least = Number.POSITIVE_INFINITY
    for (let shift = Math.max(1, at - 3), end = Math.min(length - 1, at + 3); shift <= end; shift++) {
      const d = distance(shift, 3)
      if (d < least) {
        least = d
        at = shift
      }
    }
    const residual = least / still
    if (!best || residual < best.residual) best = { direction: way, share: at / length, residual }
  }
  return best
}

/** Mean difference of M to `first` moved back by `shift` of `length` pixels, with `second` following it, along rows (`stride` 1) or columns. Every `grid`th pixel of every `grid`th line. */
function pushDistance(
  first: Uint8Array,
  second: Uint8Array,
  M: Uint8Array,
  stride: number,
  length: number,
  shift: number,
  grid = 3,
): number {
  const lines = stride === 1 ? PICTURE_HEIGHT : PICTURE_WIDTH
  const lineStride = stride === 1 ? PICTURE_WIDTH : 1
  const seam = length - shift
  let sum = 0
  let count = 0
  for (let line = 1; line < lines; line += grid) {
    const start = line * lineStride
    for (let k = 1; k < length; k += grid) {
      const value = k < seam ? first[start + (k + shift) * stride]! : second[start + (k - seam) * stride]!
      const d = M[start + k * stride]! - value
      sum += d < 0 ? -d : d
      count++
    }
  }
  return sum / count
}

/** One step that makes half of the way or more: a cut lies between, not a gradual transition. */
function hasJump(frames: FrameFeatures[], lo: number, hi: number, distance: number): boolean {
  for (let i = lo + 1; i <= hi; i++) if (frames[i]!.difference > 0.55 * distance) return true
  return false
}

/** How far the picture wanders within one shot over `span` frames from `from`: a slow pan of a soft picture also looks like a blend of its ends. */
function ownMotion(frames: FrameFeatures[], from: number, span: number): number {
  const step = Math.sign(span)
  let to = from
  while (to !== from + span && frames[to + step] && frames[step > 0 ? to + 1 : to]!.difference < 25) to += step
  const length = Math.abs(to - from)
  return length === 0 ? 0 : (miniDistance(frames[from]!.mini, frames[to]!.mini) * Math.abs(span)) / length
}

interface Fit {
  residual: number
  /** Frames at either end that still (already) show one picture alone. */
  lead: number
  tail: number
}

/** How well M(t) = (1−a)·A + a·B explains the frames between `lo` and `hi`, with `a` rising from 0 to 1. Null when it does not. */
function fitBlend(frames: FrameFeatures[], lo: number, hi: number): Fit | null {
  const A = frames[lo]!.mini
  const B = frames[hi]!.mini
  let squares = 0
  let span = 0
  for (let k = 0; k < MINI_BYTES; k++) {
    const d = B[k]! - A[k]!
    squares += d * d
    span += d < 0 ? -d : d
  }
  const alphaAt = (i: number): number => {
    const M = frames[i]!.mini
    let dot = 0
    for (let k = 0; k < MINI_BYTES; k++) dot += (M[k]! - A[k]!) * (B[k]! - A[k]!)
    return dot / squares
  }
  const residualAt = (i: number, alpha: number): number => {
    const M = frames[i]!.mini
    let sum = 0
    for (let k = 0; k < MINI_BYTES; k++) {
      const d = M[k]! - A[k]! - alpha * (B[k]! - A[k]!)
      sum += d < 0 ? -d : d
    }
    return sum / span
  }
  const middle = (lo + hi) >> 1
  const alpha = alphaAt(middle)
  if (alpha < 0.3 || alpha > 0.7 || residualAt(middle, alpha) > P.blendResidualFar * 1.5) return null
  const points = Math.min(hi - lo - 1, 8)
  let last = 0
  let sum = 0
  let lead = 0
  let tail = 0
  for (let p = 1; p <= points; p++) {
    const i = lo + Math.round((p * (hi - lo)) / (points + 1))
    const a = alphaAt(i)
    if (a < last - 0.06 || a - last > 0.42) return null
    sum += residualAt(i, a)
    if (a < 0.03) lead = i - lo
    if (a > 0.97 && tail === 0) tail = hi - i
    last = a
  }
  if (1 - last > 0.42) return null
  const residual = sum / points
  return residual <= P.blendResidualFar ? { residual, lead, tail } : null
}

/** Whether every cell of the frames between shows either A or B, and ever more of them B: a wipe, an iris, a slide that uncovers. */
function fitWipe(frames: FrameFeatures[], lo: number, hi: number): Fit | null {
  const A = frames[lo]!.mini
  const B = frames[hi]!.mini
  const cells = MINI_BYTES / 3
  const active: number[] = []
  for (let k = 0; k < cells; k++) if (cellDistance(A, B, k, cells) > 30) active.push(k)
  if (active.length < cells * 0.5) return null
  const isActive = new Uint8Array(cells)
  for (const k of active) isActive[k] = 1
  const shows = new Uint8Array(cells)
  const points = Math.min(hi - lo - 1, 8)
  let last = 0
  let undecided = 0
  let middle = 0
  let lead = 0
  let tail = 0
  for (let p = 1; p <= points; p++) {
    const i = lo + Math.round((p * (hi - lo)) / (points + 1))
    const M = frames[i]!.mini
    let b = 0
    let neither = 0
    for (const k of active) {
      const toA = cellDistance(A, M, k, cells)
      const toB = cellDistance(B, M, k, cells)
      shows[k] = toB < toA ? 1 : 0
      b += shows[k]!
      if (Math.min(toA, toB) > 0.35 * cellDistance(A, B, k, cells)) neither++
    }
    const share = b / active.length
    if (borderShare(isActive, shows) > P.wipeBorder) return null
    if (neither / active.length > P.wipeUndecided || share < last - 0.04 || share - last > 0.42) return null
    undecided += neither / active.length
    if (share < 0.02) lead = i - lo
    if (share > 0.98 && tail === 0) tail = hi - i
    if (p === Math.ceil(points / 2)) middle = share
    last = share
  }
  if (middle < 0.25 || middle > 0.75) return null
  return { residual: 0.05 + undecided / points, lead, tail }
}

/** Share of neighbouring cells that show different shots: small for one clean front, large for motion that happens to look like either end. */
function borderShare(isActive: Uint8Array, shows: Uint8Array): number {
  let pairs = 0
  let border = 0
  for (let row = 0; row < MINI_HEIGHT; row++) {
    for (let column = 0; column < MINI_WIDTH; column++) {
      const k = row * MINI_WIDTH + column
      if (!isActive[k]) continue
      if (column + 1 < MINI_WIDTH && isActive[k + 1]) {
        pairs++
        if (shows[k] !== shows[k + 1]) border++
      }
      if (row + 1 < MINI_HEIGHT && isActive[k + MINI_WIDTH]) {
        pairs++
        if (shows[k] !== shows[k + MINI_WIDTH]) border++
      }
    }
  }
  return pairs === 0 ? 1 : border / pairs
}

function cellDistance(a: Uint8Array, b: Uint8Array, k: number, cells: number): number {
  return (
    Math.abs(a[k]! - b[k]!) +
    2 * Math.abs(a[k + cells]! - b[k + cells]!) +
    2 * Math.abs(a[k + 2 * cells]! - b[k + 2 * cells]!)
  )
}

/** One boundary for each cluster: fades before dissolves and wipes before cuts, the stronger before the weaker, no shot shorter than the shortest. */
function resolve(candidates: Candidate[]): Candidate[] {
  const rank = { fade: 2, dissolve: 1, wipe: 1, cut: 0 }
  const ordered = [...candidates].sort((a, b) => rank[b.type] - rank[a.type] || b.score - a.score || a.tMs - b.tMs)
  const chosen: Candidate[] = []
  for (const candidate of ordered) {
    const clashes = chosen.some((other) =>
      candidate.type === 'cut' && other.type === 'cut'
        ? Math.abs(candidate.tMs - other.tMs) < P.minShotMs
        : candidate.startMs < other.endMs + 150 && candidate.endMs > other.startMs - 150,
    )
    if (clashes) continue
    chosen.push(candidate)
  }
  return chosen.sort((a, b) => a.tMs - b.tMs)
}
