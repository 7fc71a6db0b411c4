import { findBlend } from './blend.ts'
import type { Boundary, BoundaryCandidate } from './boundary.ts'
import { isBlank } from './compare.ts'
import { findCut } from './cut.ts'
import { findFade, findFadeOut } from './fade.ts'
import type { FrameFeatures } from './features.ts'
import { findPush } from './push.ts'
import { THRESHOLDS } from './thresholds.ts'

/** Stored with each video. Change it with every change of a threshold or a rule. */
export const DETECTOR_VERSION = 'shots@5'
/** Of shots, picks and film together, stored with each video: `frames reextract` finds the videos of other versions. */
export const EXTRACTION_VERSION = `${DETECTOR_VERSION} picks@6 film@3 loops@1`
/** The most frames kept, at any frame rate. */
export const HISTORY_FRAMES = 1024
/** How much of the past is kept. */
const HISTORY_MS = 6000
/** How far past a frame the detector must have seen before it judges that frame. */
const LOOKAHEAD_MS = 1300
/** The longest transition that can be found. */
const LONGEST_MS = 2000
/** A later candidate may still replace one that ended less than this ago. */
const SETTLE_MS = 1300
const FINDERS = [findCut, findBlend, findPush]

/**
 * Finds the shots of a video while it is being decoded. Push every frame in order and get boundaries back as they
 * become certain, at most about three seconds late.
 *
 * - A cut is a jump that stands out from the motion around it *and* leaves no structure in place. Pop-ups, page turns,
 *   typing and scrolling keep window borders and unchanged text, so they are not cuts, however large they are.
 *   Repeated frames do not count as motion, so a recording of five pictures a second is judged by its own steps.
 * - A dissolve is a run of frames that a linear blend of its two ends explains.
 * - A wipe is a run of frames in which every cell shows one of the two ends.
 * - A push is a wipe in which the new picture drives the old one out, both moving.
 * - A fade is a blank picture between two others.
 */
export function createShotDetector() {
  const frames: FrameFeatures[] = []
  /** How many of `frames` have been judged. */
  let judged = 0
  let blankSince: number | null = null
  let blankReported = false
  let candidates: BoundaryCandidate[] = []
  /** The end of the last boundary returned. */
  let lastMs = Number.NEGATIVE_INFINITY

  function judge(i: number): void {
    judgeBlank(i)
    for (const find of FINDERS) {
      const candidate = find(frames, i)
      if (candidate) candidates.push(candidate)
    }
  }

  function judgeBlank(i: number): void {
    const { tMs } = frames[i]!
    if (isBlank(frames[i]!)) {
      blankSince ??= tMs
      // A long blank is reported while it lasts: after its end would be too late.
      if (blankReported || tMs - blankSince <= THRESHOLDS.longBlankMs) return
      blankReported = true
      const fade = findFadeOut(frames, blankSince)
      if (fade) candidates.push(fade)
    } else if (blankSince !== null) {
      const fade = blankReported ? null : findFade(frames, blankSince, i)
      if (fade) candidates.push(fade)
      blankSince = null
      blankReported = false
    }
  }

  function settle(untilMs: number): Boundary[] {
    const ready = candidates.filter((candidate) => candidate.endMs <= untilMs)
    if (ready.length === 0) return []
    const chosen = resolve(candidates).filter((candidate) => candidate.endMs <= untilMs)
    candidates = candidates.filter((candidate) => candidate.endMs > untilMs)
    const fresh = chosen.filter(
      (boundary) => boundary.startMs >= lastMs && boundary.tMs - lastMs >= THRESHOLDS.minShotMs * 0.6,
    )
    for (const boundary of fresh) {
      lastMs = boundary.endMs
      // A boundary that has been returned rules out every candidate that overlaps it.
      candidates = candidates.filter((candidate) => candidate.startMs >= boundary.endMs)
    }
    return fresh.map(({ score: _, ...boundary }) => boundary)
  }

  return {
    /** No later boundary touches an instant before this one. */
    get certainMs(): number {
      return judged > 0 ? frames[judged - 1]!.tMs - SETTLE_MS - LONGEST_MS : Number.NEGATIVE_INFINITY
    },
    push(frame: FrameFeatures): Boundary[] {
      frames.push(frame)
      while (judged < frames.length && frame.tMs - frames[judged]!.tMs >= LOOKAHEAD_MS) judge(judged++)
      let drop = 0
      while (drop < judged - 1 && frames[judged - 1]!.tMs - frames[drop]!.tMs > HISTORY_MS) drop++
      // At extreme frame rates less than the wanted history is kept.
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
    finish(): Boundary[] {
      while (judged < frames.length) judge(judged++)
      return settle(Number.POSITIVE_INFINITY)
    },
  }
}

/**
 * One boundary for each cluster of candidates: fades before dissolves and wipes before cuts, stronger before weaker,
 * and no shot shorter than the shortest.
 */
function resolve(candidates: BoundaryCandidate[]): BoundaryCandidate[] {
  const rank = { fade: 2, dissolve: 1, wipe: 1, cut: 0 }
  const ordered = [...candidates].sort((a, b) => rank[b.type] - rank[a.type] || b.score - a.score || a.tMs - b.tMs)
  const chosen: BoundaryCandidate[] = []
  for (const candidate of ordered) {
    const clashes = chosen.some((other) =>
      candidate.type === 'cut' && other.type === 'cut'
        ? Math.abs(candidate.tMs - other.tMs) < THRESHOLDS.minShotMs
        : candidate.startMs < other.endMs + 150 && candidate.endMs > other.startMs - 150,
    )
    if (clashes) continue
    chosen.push(candidate)
  }
  return chosen.sort((a, b) => a.tMs - b.tMs)
}
