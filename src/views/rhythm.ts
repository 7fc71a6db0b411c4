import type { ShownFrame } from '../search/library-search.ts'

/** A stretch of a video in which an attribute keeps its value. Times are seconds. */
export interface Stretch {
  from: number
  to: number
  /** Null where the value is unknown. */
  value: string | null
}

export interface Share {
  value: string
  /** Of the whole time, 0–1. */
  share: number
}

type Moment = Pick<ShownFrame, 't_sec' | 'kind' | 'shot_sec'>

/** The attributes that show the rhythm of a video. */
export const LANES = ['subject', 'surface', 'shot', 'tone'] as const
export type Lane = (typeof LANES)[number]

/** How long a video is: what its file says, or at least up to its last frame. */
export function lengthOf(frames: readonly Moment[], durationSec: number | null): number {
  return Math.max(durationSec ?? 0, frames.at(-1)?.t_sec ?? 0, 0.001)
}

/** The first frame of a shot stands for the shot from its beginning on. Others begin at their own second. */
function beginsAt(frames: readonly Moment[], n: number): number {
  const { t_sec, kind, shot_sec } = frames[n]!
  const isFirst = kind === 'cut' && frames[n - 1]?.shot_sec?.[0] !== shot_sec?.[0]
  return isFirst ? Math.min(shot_sec?.[0] ?? t_sec, t_sec) : t_sec
}

/**
 * An attribute over time: each frame covers the time up to the next one, and the first also the time before it.
 * Neighbours with one value are one stretch.
 */
export function stretchesOf<F extends Moment>(
  frames: readonly F[],
  span: number,
  read: (frame: F) => string | null,
): Stretch[] {
  const stretches: Stretch[] = []
  frames.forEach((frame, n) => {
    const value = read(frame)
    const to = n + 1 < frames.length ? beginsAt(frames, n + 1) : span
    const last = stretches.at(-1)
    if (last?.value === value) last.to = to
    else stretches.push({ from: n === 0 ? 0 : beginsAt(frames, n), to, value })
  })
  return stretches
}

/** The shares of the time that values have, largest first. Time without a value is left out of the list. */
export function sharesOf(stretches: readonly Stretch[], span: number): Share[] {
  const seconds = new Map<string, number>()
  for (const { from, to, value } of stretches)
    if (value !== null) seconds.set(value, (seconds.get(value) ?? 0) + to - from)
  return [...seconds]
    .map(([value, sum]) => ({ value, share: sum / span }))
    .sort((one, other) => other.share - one.share || one.value.localeCompare(other.value))
}

/** A frame for each of some equal parts of the time: the last that has begun by its middle. */
export function overview<F extends Moment>(frames: readonly F[], span: number, parts: number): F[] {
  const picked: F[] = []
  for (let n = 0; n < parts; n++) {
    const middle = ((n + 0.5) / parts) * span
    const frame = frames.findLast((_, at) => beginsAt(frames, at) <= middle) ?? frames[0]
    if (frame) picked.push(frame)
  }
  return picked
}
