import type { SequenceQuery, SequenceStep } from './library-search.ts'

/** A frame with the time it stands for, and which steps it meets. */
export interface Moment {
  id: string
  from: number
  to: number
  meets: readonly boolean[]
}

/** A run of neighbouring frames that meet a step. */
interface Stretch {
  /** Its first frame, by place. */
  first: number
  last: number
  from: number
  to: number
}

/** Neighbouring shots may overlap by rounding. */
const OVERLAP_SEC = 0.1

/** The matches of one film, tightest first. From each beginning the nearest; none that contains another. */
export function matchesIn(
  moments: readonly Moment[],
  { steps, span, perFilm }: Pick<SequenceQuery, 'steps' | 'span' | 'perFilm'>,
): Stretch[][] {
  const stretches = steps.map((_, n) => stretchesOf(moments, n))
  const found = stretches[0]!.flatMap((start) => {
    const match = continued([start], stretches, steps)
    return match && lengthOf(match) <= span ? [match] : []
  })
  const contains = (one: Stretch[], other: Stretch[]) =>
    one !== other && one[0]!.from <= other[0]!.from && one.at(-1)!.to >= other.at(-1)!.to
  return found
    .filter((match) => !found.some((other) => contains(match, other)))
    .sort((one, other) => gapsOf(one) - gapsOf(other) || one[0]!.from - other[0]!.from)
    .slice(0, perFilm)
}

function stretchesOf(moments: readonly Moment[], step: number): Stretch[] {
  const stretches: Stretch[] = []
  moments.forEach(({ from, to, meets }, n) => {
    if (!meets[step]) return
    const last = stretches.at(-1)
    if (last?.last === n - 1) Object.assign(last, { last: n, to })
    else stretches.push({ first: n, last: n, from, to })
  })
  return stretches
}

/** The match that begins so and goes on with the nearest stretch of each step; undefined without one. */
function continued(
  match: Stretch[],
  stretches: readonly Stretch[][],
  steps: readonly SequenceStep[],
): Stretch[] | undefined {
  const n = match.length
  if (n === steps.length) return match
  const before = match.at(-1)!
  const { from, to, next } = steps[n]!.gap
  for (const stretch of stretches[n]!) {
    const gap = stretch.from - before.to
    const isBehind = stretch.first > before.last && gap >= (from > 0 ? from : -OVERLAP_SEC)
    if (!isBehind || gap > to || (next && stretch.first !== before.last + 1)) continue
    const whole = continued([...match, stretch], stretches, steps)
    if (whole) return whole
  }
  return undefined
}

const lengthOf = (match: readonly Stretch[]): number => match.at(-1)!.to - match[0]!.from
const gapsOf = (match: readonly Stretch[]): number =>
  match.slice(1).reduce((sum, { from }, n) => sum + Math.max(0, from - match[n]!.to), 0)
