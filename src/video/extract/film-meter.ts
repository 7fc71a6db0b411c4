import type { FilmPicture, PictureMeasure } from '../../vocabulary.ts'
import { type FrameFeatures, MINI_BYTES, MINI_PIXELS } from '../shots/features.ts'
import { STILL_DIFFERENCE } from '../shots/thresholds.ts'

/** A picture that stays for this long is held. */
const HOLD_MS = 500
/** Light and colour are sampled this often, and the peak of motion is sought among stretches of this length. */
const SAMPLE_MS = 200
const STRETCH_MS = 500
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

  function holdsIn({ startMs, endMs }: Clean): number[] {
    const holds: number[] = []
    let sinceMs = startMs
    for (let n = placeOf(startMs); sinceMs < endMs; n++) {
      const untilMs = Math.min(times[n] ?? endMs, endMs)
      if (untilMs - sinceMs >= HOLD_MS) holds.push(untilMs - sinceMs)
      sinceMs = untilMs
    }
    return holds
  }

  function motionIn({ startMs, endMs }: Clean): number {
    let total = 0
    for (let n = placeOf(startMs), end = placeOf(endMs); n < end; n++) total += changes[n]!
    return total / ((endMs - startMs) / 1000)
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
      return { held: round(sum(holdsIn(clean)) / (clean.endMs - clean.startMs)), motion: round(motionIn(clean)) }
    },
    film(given: readonly Clean[], endMs: number): WithoutSound {
      const clean = given.map(inside).filter((one) => one.endMs > one.startMs)
      const holds = clean.flatMap(holdsIn)
      const cleanMs = sum(clean.map((one) => one.endMs - one.startMs))
      const stretches = clean.flatMap(toStretches).map(motionIn)
      const motion = sum(clean.map((one) => motionIn(one) * (one.endMs - one.startMs))) / Math.max(1, cleanMs)
      const known = cleanMs > 0
      const weighted = weightsOf(samples, endMs)
      const mean = (of: (sample: Sample) => number) => round(meanOf(samples, weighted, of))
      const luma = mean((sample) => sample.luma)
      return {
        measures: {
          held_share: known ? round(sum(holds) / cleanMs) : null,
          longest_hold_sec: known ? round(Math.max(0, ...holds) / 1000) : null,
          motion: known ? round(motion) : null,
          motion_peak: stretches.length > 0 ? round(quantile(stretches, 0.9)) : null,
          luma,
          luma_spread: round(Math.sqrt(meanOf(samples, weighted, (sample) => (sample.luma - luma) ** 2))),
          contrast: mean((sample) => sample.contrast),
          colour: mean((sample) => sample.colour),
          blue_cast: mean((sample) => sample.u - 128),
          red_cast: mean((sample) => sample.v - 128),
        },
        arcs: {
          motion: parts(endMs).map((part) => round(motionOfPart(part, clean, motionIn))),
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

/** The motion of a part of the film, as far as it lies in clean shots. */
function motionOfPart(part: Clean, clean: readonly Clean[], motionIn: (clean: Clean) => number): number {
  const within = clean
    .map((one) => ({ startMs: Math.max(part.startMs, one.startMs), endMs: Math.min(part.endMs, one.endMs) }))
    .filter(({ startMs, endMs }) => endMs > startMs)
  const ms = sum(within.map(({ startMs, endMs }) => endMs - startMs))
  return sum(within.map((one) => motionIn(one) * (one.endMs - one.startMs))) / Math.max(1, ms)
}

/** Equal stretches of about half a second. */
function toStretches({ startMs, endMs }: Clean): Clean[] {
  const count = Math.max(1, Math.round((endMs - startMs) / STRETCH_MS))
  const at = (n: number) => startMs + (n * (endMs - startMs)) / count
  return Array.from({ length: count }, (_, n) => ({ startMs: at(n), endMs: at(n + 1) }))
}

/** Without its first instant and its last: their changes are those of the transitions. Both are rounded. */
function inside({ startMs, endMs }: Clean): Clean {
  return { startMs: startMs + 1, endMs: endMs - 1 }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return below + (above - below) * (at - Math.floor(at))
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const round = (value: number): number => Math.round(value * 1000) / 1000
