import type { FilmPicture, PictureMeasure } from '../../vocabulary.ts'
import { type FrameFeatures, MINI_BYTES, MINI_PIXELS } from '../shots/features.ts'
import { STILL_DIFFERENCE } from '../shots/thresholds.ts'

/** A picture that stays for this long is held. */
const HOLD_MS = 500
/** Light and colour are sampled this often. */
const SAMPLE_MS = 200
/** Parts of the time in the curves over a film. */
const ARC_PARTS = 32

/** A stretch of time in which nothing is mixed. */
interface Clean {
  startMs: number
  endMs: number
}

export interface Moving {
  /** Share of the time in held pictures, 0–1. Null where the stretch has no length. */
  held: number | null
  /** 8-bit levels a second. Null where the stretch has no length. */
  motion: number | null
}

type WithoutSound = Pick<FilmPicture, 'arcs'> & { measures: Record<PictureMeasure, number | null> }

interface Sample {
  tMs: number
  luma: number
  contrast: number
  colour: number
  u: number
  v: number
}

export type FilmMeter = ReturnType<typeof createFilmMeter>

/** Collects, frame by frame, what is told of whole shots and films. Afterwards it is asked. */
export function createFilmMeter() {
  // Pictures that repeat are left out: a screen recording of an hour has few others.
  const times: number[] = []
  const changes: number[] = []
  const samples: Sample[] = []
  let sampledMs = Number.NEGATIVE_INFINITY

  /** The first change that is not before. */
  function placeOf(ms: number): number {
    let [low, high] = [0, times.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (times[middle]! >= ms) high = middle
      else low = middle + 1
    }
    return low
  }

  /** The share of some stretches in which the picture is held. */
  function heldIn(stretches: readonly Clean[]): number {
    let heldMs = 0
    for (const { startMs, endMs } of stretches) {
      let sinceMs = startMs
      for (let n = placeOf(startMs); sinceMs < endMs; n++) {
        const untilMs = Math.min(times[n] ?? endMs, endMs)
        if (untilMs - sinceMs >= HOLD_MS) heldMs += untilMs - sinceMs
        sinceMs = untilMs
      }
    }
    return round(heldMs / lengthOf(stretches))
  }

  function motionIn(stretches: readonly Clean[]): number {
    let total = 0
    for (const { startMs, endMs } of stretches)
      for (let n = placeOf(startMs), end = placeOf(endMs); n < end; n++) total += changes[n]!
    return round((1000 * total) / Math.max(1, lengthOf(stretches)))
  }

  return {
    add(frame: FrameFeatures): void {
      if (frame.difference >= STILL_DIFFERENCE) {
        times.push(frame.tMs)
        changes.push(frame.difference)
      }
      if (frame.tMs - sampledMs < SAMPLE_MS) return
      sampledMs = frame.tMs
      samples.push({ tMs: frame.tMs, luma: frame.luma, contrast: frame.deviation, ...coloursOf(frame.mini) })
    },
    /** How much moves in a shot, or in a part of one. */
    moving(given: Clean): Moving {
      const clean = inside(given)
      if (clean.endMs <= clean.startMs) return { held: null, motion: null }
      return { held: heldIn([clean]), motion: motionIn([clean]) }
    },
    film(given: readonly Clean[], endMs: number): WithoutSound {
      const clean = given.map(inside).filter((one) => one.endMs > one.startMs)
      const weighted = weightsOf(samples, endMs)
      const mean = (of: (sample: Sample) => number) => round(meanOf(samples, weighted, of))
      return {
        measures: {
          held_share: clean.length > 0 ? heldIn(clean) : null,
          motion: clean.length > 0 ? motionIn(clean) : null,
          luma: mean((sample) => sample.luma),
          contrast: mean((sample) => sample.contrast),
          colour: mean((sample) => sample.colour),
        },
        arcs: {
          motion: parts(endMs).map((part) => motionIn(clean.flatMap((one) => overlap(one, part)))),
          ...arcsOf(samples, weighted, endMs),
        },
      }
    },
  }
}

function coloursOf(mini: Uint8Array): Pick<Sample, 'colour' | 'u' | 'v'> {
  let [colour, u, v] = [0, 0, 0]
  for (let n = MINI_PIXELS; n < 2 * MINI_PIXELS; n++) {
    const [du, dv] = [mini[n]! - 128, mini[n + MINI_BYTES / 3]! - 128]
    colour += Math.sqrt(du * du + dv * dv)
    u += du
    v += dv
  }
  return { colour: colour / MINI_PIXELS, u: 128 + u / MINI_PIXELS, v: 128 + v / MINI_PIXELS }
}

/** How long each sample stands: until the next. A variable rate leaves out pictures that repeat. */
function weightsOf(samples: readonly Sample[], endMs: number): number[] {
  return samples.map(({ tMs }, n) => Math.max(1, (samples[n + 1]?.tMs ?? endMs) - tMs))
}

function meanOf(samples: readonly Sample[], weights: readonly number[], of: (sample: Sample) => number): number {
  return sum(samples.map((sample, n) => of(sample) * weights[n]!)) / Math.max(1, sum(weights))
}

function arcsOf(samples: readonly Sample[], weights: readonly number[], endMs: number) {
  const arcs: Pick<FilmPicture['arcs'], 'luma' | 'u' | 'v'> = { luma: [], u: [], v: [] }
  for (const { startMs, endMs: to } of parts(endMs)) {
    const first = samples.findIndex(({ tMs }) => tMs >= startMs)
    const last = samples.findLastIndex(({ tMs }) => tMs < to)
    // A part without a sample shows the picture before it.
    const [from, end] = first >= 0 && first <= last ? [first, last + 1] : [Math.max(0, last), Math.max(0, last) + 1]
    for (const name of ['luma', 'u', 'v'] as const)
      arcs[name].push(Math.round(meanOf(samples.slice(from, end), weights.slice(from, end), (sample) => sample[name])))
  }
  return arcs
}

function parts(endMs: number): Clean[] {
  const at = (n: number) => (n * endMs) / ARC_PARTS
  return Array.from({ length: ARC_PARTS }, (_, n) => ({ startMs: at(n), endMs: at(n + 1) }))
}

/** What two stretches share, if anything. */
function overlap(one: Clean, other: Clean): Clean[] {
  const [startMs, endMs] = [Math.max(one.startMs, other.startMs), Math.min(one.endMs, other.endMs)]
  return endMs > startMs ? [{ startMs, endMs }] : []
}

/** Without its first instant and its last: their changes are those of the transitions. Both are rounded. */
function inside({ startMs, endMs }: Clean): Clean {
  return { startMs: startMs + 1, endMs: endMs - 1 }
}

const lengthOf = (stretches: readonly Clean[]): number => sum(stretches.map(({ startMs, endMs }) => endMs - startMs))
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const round = (value: number): number => Math.round(value * 1000) / 1000
