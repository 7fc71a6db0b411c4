/** The frames that differ from the one before them, as lists side by side: a long film has millions. */
export interface Changes {
  /** Milliseconds. */
  times: number[]
  /** `FrameFeatures.difference` and `unchangedShare`. */
  changes: number[]
  unchanged: number[]
  /** Their places among all frames, those that repeat included. */
  places: number[]
}

/** Changes on each side that a jump is measured by. */
const AROUND = 8
const LEAST_CHANGE = 3
/** How far a jump is above the median around it, and above the two changes on each side: what eases in is none. */
const OVER_MEDIAN = 2.2
const OVER_NEXT = 1.5
/** A camera changes most pictures, and more than a few pixels of each; a screen rests in between. */
const MOVING_SHARE = 0.75
const UNCHANGED_SHARE = 0.96

/**
 * Instants at which a filmed shot leaps forward: frames were taken out. No shot ends there. The shot has the changes at
 * places from `from` to before `end`. The threshold of 3 and the kind of rule are those of a prototype. The others were
 * set on stretches of seven filmed clips with 5, 15 and 30 frames taken out, and on the whole clips, screen recordings
 * and motion graphics without.
 */
export function jumpsIn({ times, changes, unchanged, places }: Changes, from: number, end: number): number[] {
  const found: number[] = []
  for (let n = from; n < end; n++) {
    const change = changes[n]!
    const [first, last] = [Math.max(from, n - AROUND), Math.min(end - 1, n + AROUND)]
    if (change < LEAST_CHANGE || last - first < AROUND) continue
    const others = (values: number[]) => [...values.slice(first, n), ...values.slice(n + 1, last + 1)]
    const next = [n - 2, n - 1, n + 1, n + 2].map((at) => (at >= first && at <= last ? changes[at]! : 0))
    const moving = (last - first) / (places[last]! - places[first]!)
    const isCamera = moving >= MOVING_SHARE && median(others(unchanged)) <= UNCHANGED_SHARE
    const standsOut = change >= OVER_MEDIAN * median(others(changes))
    if (isCamera && standsOut && change >= OVER_NEXT * Math.max(...next)) found.push(times[n]!)
  }
  return found
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[values.length >> 1]!
}
