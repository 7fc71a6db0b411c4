import type { Boundary } from '../shots/boundary.ts'
import { changedBlocks } from './drawn-pictures.ts'
import type { FilmMeter } from './film-meter.ts'
import type { PickCandidate } from './kept-frames.ts'
import { shrinkPicture, type YuvPicture } from './measure.ts'

/** A short stretch of a moving shot around a kept frame, as an animation that repeats. */
export interface Loop {
  /** The instant of the frame, whole milliseconds. */
  tMs: number
  motion: number
  /** Small pictures, and how long each of them stands. */
  pictures: YuvPicture[]
  delaysMs: number[]
}

interface Stretch {
  startMs: number
  endMs: number
}

export const LOOP_LIMITS = {
  shortestMs: 800,
  longestMs: 2000,
  /** Where so much of the time is held there is nothing to see. */
  heldShare: 0.9,
  /** The frames with most motion have one. Their pictures wait for the film's end: 5 MB at 16:9, 9 at most. */
  perFilm: 3,
  /** The longer side, pixels. */
  side: 320,
  /** Pictures that are remembered: about 14 seconds of motion, 12 MB at 16:9 and never more than 22. */
  remembered: 140,
} as const

/** Chooses the moving stretches of a film as it is decoded. `film` tells how much moves. */
export function createLoopFinder(film: Pick<FilmMeter, 'moving'>) {
  const shown: { tMs: number; small: YuvPicture }[] = []
  let last: PickCandidate['features'] | null = null
  let endMs = 0
  let forgottenMs = Number.NEGATIVE_INFINITY
  let waiting: number[] = []
  let chosen: Loop[] = []

  function loopAt(tMs: number, clean: Stretch): Loop | undefined {
    const { shortestMs, longestMs, heldShare } = LOOP_LIMITS
    const onward = { startMs: tMs, endMs: Math.min(clean.endMs, tMs + longestMs) }
    // Of what is built up and then rests, the movement lies before the frame.
    const toward = { startMs: Math.max(clean.startMs, tMs - longestMs), endMs: tMs }
    for (const stretch of [onward, toward]) {
      const { held, motion } = film.moving(stretch)
      if (stretch.endMs - stretch.startMs < shortestMs || held === null || held >= heldShare) continue
      const pictures = picturesOf(stretch, clean)
      if (pictures.length < 2) continue
      const ends = [...pictures.slice(1).map((one) => one.tMs), stretch.endMs]
      const delaysMs = pictures.map((one, n) => Math.round(ends[n]! - Math.max(one.tMs, stretch.startMs)))
      return { tMs: Math.round(tMs), motion: motion!, pictures: pictures.map(({ small }) => small), delaysMs }
    }
    return undefined
  }

  /** Empty where they are forgotten in part. */
  function picturesOf({ startMs, endMs }: Stretch, clean: Stretch) {
    if (forgottenMs >= clean.startMs && shown[0]!.tMs > startMs) return []
    const inside = shown.filter(({ tMs }) => tMs >= clean.startMs && tMs < endMs)
    return inside.slice(
      Math.max(
        0,
        inside.findLastIndex(({ tMs }) => tMs <= startMs),
      ),
    )
  }

  return {
    /** The next full-size picture of the film. Only one that differs from the last is remembered, made small. */
    still({ tMs, features, picture }: Pick<PickCandidate, 'tMs' | 'features' | 'picture'>): void {
      endMs = tMs
      if (last && changedBlocks(last, features, 0) === 0) return
      last = features
      const { width, height } = picture
      const small = shrinkPicture(picture, Math.round((LOOP_LIMITS.side * width) / Math.max(width, height)))
      shown.push({ tMs, small })
      if (shown.length > LOOP_LIMITS.remembered) forgottenMs = shown.shift()!.tMs
    },
    /** A frame at this instant is kept. */
    picked(tMs: number): void {
      waiting.push(tMs)
    },
    /** Everything before `certainMs` is known. */
    advance(certainMs: number, boundaries: readonly Boundary[]): void {
      const isKnown = (tMs: number) => tMs + LOOP_LIMITS.longestMs <= certainMs
      const known = waiting.filter(isKnown)
      waiting = waiting.filter((tMs) => !isKnown(tMs))
      for (const tMs of known) {
        const startMs = boundaries.findLast(({ endMs }) => endMs <= tMs)?.endMs ?? 0
        const next = boundaries.find((boundary) => boundary.startMs >= tMs)
        const loop = loopAt(tMs, { startMs, endMs: next?.startMs ?? endMs })
        if (loop) chosen = [...chosen, loop].sort((a, b) => b.motion - a.motion).slice(0, LOOP_LIMITS.perFilm)
      }
    },
    /** Those with most motion so far, the liveliest first. */
    get chosen(): readonly Loop[] {
      return chosen
    },
  }
}
