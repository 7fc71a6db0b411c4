import type { Boundary } from '../shots/boundary.ts'
import { createKeptFrames, type PickCandidate, type PickedFrame } from './kept-frames.ts'
import { needsStill, pickShot, startShot } from './shot-picks.ts'

/**
 * Decides which candidates are kept, while the video is still being decoded. Candidates, boundaries and time must come
 * in order; the same input gives the same picks. Kept are the compositions of a drawn shot. Of a camera's shot it is a
 * sharp frame near its start, and more of a long one when its picture changes. Left out are blank and smeared pictures,
 * and pictures that look like one already kept. Candidates no longer needed go to `release`, while a picked one belongs
 * to the caller.
 */
export function createPicker(release: (candidate: PickCandidate) => void = () => {}) {
  const kept = createKeptFrames()
  const shots = [startShot(null)]
  let candidates: PickCandidate[] = []

  /** Everything before `certainMs` is known. Returns the new picks. */
  function advance(certainMs: number): PickedFrame[] {
    const state = { candidates, kept, certainMs }
    while (shots.length > 0) {
      const shot = shots[0]!
      if (!pickShot(shot, state) || shot.endMs === null) break
      shots.shift()
    }
    const picked = kept.takeNew()
    const pickedNow = new Set(picked.map(({ candidate }) => candidate))
    // The next shot may begin at any instant that is not yet certain, however far ahead this shot's next frame lies.
    const next = shots[0]
    const neededFromMs = Math.min(next?.endMs ?? certainMs, certainMs)
    const stay: PickCandidate[] = []
    for (const candidate of candidates) {
      if (pickedNow.has(candidate)) continue
      if (candidate.tMs >= neededFromMs || (next && needsStill(next, candidate))) stay.push(candidate)
      else release(candidate)
    }
    candidates = stay
    return picked
  }

  return {
    add(candidate: PickCandidate): void {
      candidates.push(candidate)
    },
    boundary(boundary: Boundary): void {
      const ended = shots.at(-1)!
      ended.endMs = boundary.startMs
      ended.endsIn = boundary.type
      shots.push(startShot(boundary))
    },
    advance,
    /** What was considered and not kept, in the order of the decisions. */
    passedOver: kept.passedOver,
    finish(): PickedFrame[] {
      // A shot that lasts to the end of the video ends with its last candidate.
      const last = shots.at(-1)!
      last.endMs = candidates.at(-1)?.tMs ?? Number.MAX_SAFE_INTEGER
      last.endsFilm = true
      return advance(Number.POSITIVE_INFINITY)
    },
  }
}
