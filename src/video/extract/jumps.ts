/** A frame that differs from the one before it. */
export interface Change {
  tMs: number
  /** `FrameFeatures.difference` and `unchangedShare`. */
  change: number
  unchanged: number
  /** Its place among all frames, those that repeat included. */
  place: number
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
 * Instants at which a filmed shot leaps forward: frames were taken out. No shot ends there. The threshold of 3 and the
 * kind of rule are those of a prototype. The others were set on stretches of seven filmed clips with 5, 15 and 30
 * frames taken out, and on the whole clips, screen recordings and motion graphics without.
 */
export function jumpsIn(changes: readonly Change[]): number[] {
  return changes.flatMap(({ tMs, change }, n) => {
    if (change < LEAST_CHANGE) return []
    const around = changes.slice(Math.max(0, n - AROUND), n + AROUND + 1)
    const others = around.filter((one) => one.tMs !== tMs)
    if (others.length < AROUND) return []
    const next = [n - 2, n - 1, n + 1, n + 2].map((at) => changes[at]?.change ?? 0)
    const moving = (around.length - 1) / (around.at(-1)!.place - around[0]!.place)
    const isCamera = moving >= MOVING_SHARE && median(others.map(({ unchanged }) => unchanged)) <= UNCHANGED_SHARE
    const standsOut = change >= OVER_MEDIAN * median(others.map((one) => one.change))
    return isCamera && standsOut && change >= OVER_NEXT * Math.max(...next) ? tMs : []
  })
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[values.length >> 1]!
}
