import { MINI_HEIGHT, MINI_WIDTH } from './features.ts'

const CELLS = MINI_WIDTH * MINI_HEIGHT
/** Rounds of fitting; each forgets what the round before could not explain. */
const ROUNDS = 6

/** How far one picture is another one, dimmed or lit, with something laid over part of it. */
export interface Overlaid {
  /** Share of the cells that `slope · before + offset` explains. */
  share: number
  slope: number
  /** Pearson correlation of the explained cells. */
  correlation: number
  /** Standard deviation of `before` over the explained cells. */
  deviation: number
}

/** Where fitting starts: as it was, dimmed, lit. */
const SLOPES = [1, 0.6, 0.35, 1.7, 2.8] as const

/**
 * Fits `after = slope · before + offset` to the lumas of two mini images, without the cells that something was laid
 * over. It repeats least squares on the cells within `tolerance` (iteratively trimmed least squares, Rousseeuw 1984),
 * from several starts. The best is the one that explains most.
 */
export function fitOverlaid(before: Uint8Array, after: Uint8Array, tolerance: number): Overlaid {
  let best: Overlaid = { share: 0, slope: 0, correlation: 0, deviation: 0 }
  for (const slope of SLOPES) {
    const fit = fitFrom(slope, before, after, tolerance)
    if (fit && fit.share > best.share) best = fit
  }
  return best
}

function fitFrom(start: number, before: Uint8Array, after: Uint8Array, tolerance: number): Overlaid | null {
  let slope = start
  let offset = middleStep(before, after, slope)
  for (let round = 1; ; round++) {
    const reach = tolerance * (round < 3 ? 2 : 1)
    const inside: number[] = []
    for (let k = 0; k < CELLS; k++) if (Math.abs(after[k]! - slope * before[k]! - offset) <= reach) inside.push(k)
    const fit = leastSquares(before, after, inside)
    if (!fit) return null
    slope = fit.slope
    offset = fit.offset
    if (round === ROUNDS) return { ...fit, share: inside.length / CELLS }
  }
}

/** Share of the cells whose luma differs by at most `tolerance`. */
export function unchangedCells(before: Uint8Array, after: Uint8Array, tolerance: number): number {
  let count = 0
  for (let k = 0; k < CELLS; k++) if (Math.abs(after[k]! - before[k]!) <= tolerance) count++
  return count / CELLS
}

/** The median of what is left of `after` when `slope · before` is taken away. */
function middleStep(before: Uint8Array, after: Uint8Array, slope: number): number {
  const counts = new Uint16Array(1024)
  for (let k = 0; k < CELLS; k++) counts[Math.round(after[k]! - slope * before[k]!) + 720]!++
  let step = 0
  for (let below = counts[0]!; below <= CELLS >> 1; below += counts[step]!) step++
  return step - 720
}

function leastSquares(before: Uint8Array, after: Uint8Array, cells: readonly number[]) {
  const n = cells.length
  if (n < 20) return null
  let sa = 0
  let sb = 0
  let aa = 0
  let ab = 0
  let bb = 0
  for (const k of cells) {
    const a = before[k]!
    const b = after[k]!
    sa += a
    sb += b
    aa += a * a
    ab += a * b
    bb += b * b
  }
  const varA = aa / n - (sa / n) ** 2
  const varB = bb / n - (sb / n) ** 2
  const cov = ab / n - (sa / n) * (sb / n)
  if (varA < 1e-6) return null
  const slope = cov / varA
  return {
    slope,
    offset: sb / n - (slope * sa) / n,
    correlation: varB < 1e-6 ? 0 : cov / Math.sqrt(varA * varB),
    deviation: Math.sqrt(varA),
  }
}
