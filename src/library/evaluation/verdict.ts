import type { FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED } from '../../vocabulary.ts'
import { agreementOf, type Truth } from './agreement.ts'

/** Two models on the same known values. A value that is missing, refused or broken is not right. */
export interface Comparison {
  /** Frames that both answered and of which something is known, and the values known about them. */
  frames: number
  values: number
  first_right: number
  second_right: number
  /** Right in one model alone. */
  only_first: number
  only_second: number
  /** How likely so uneven a split is between models that are equally good: two-sided sign test (McNemar, exact). */
  p: number
}

export function compareModels(
  first: ReadonlyMap<string, FrameAnnotation>,
  second: ReadonlyMap<string, FrameAnnotation>,
  known: ReadonlyMap<string, Truth>,
): Comparison {
  let [frames, values, both, onlyFirst, onlySecond] = [0, 0, 0, 0, 0]
  for (const [frameId, truth] of known) {
    const answers = [first.get(frameId), second.get(frameId)]
    if (answers.includes(undefined)) continue
    frames++
    for (const attribute of ANNOTATED) {
      const right = truth[attribute]
      if (!right || right.length === 0) continue
      values++
      const [a, b] = answers.map((answer) => {
        const value = answer?.values[attribute]?.value ?? null
        return value !== null && agreementOf(attribute, value, right) >= 0.5
      })
      if (a && b) both++
      else if (a) onlyFirst++
      else if (b) onlySecond++
    }
  }
  return {
    frames,
    values,
    first_right: both + onlyFirst,
    second_right: both + onlySecond,
    only_first: onlyFirst,
    only_second: onlySecond,
    p: signTest(onlyFirst, onlySecond),
  }
}

/** How likely a split at least so uneven is when heads and tails are: 0–1. */
function signTest(a: number, b: number): number {
  const n = a + b
  let tail = 0
  let term = -n * Math.LN2
  for (let k = 0; k <= Math.min(a, b); k++) {
    tail += Math.exp(term)
    term += Math.log((n - k) / (k + 1))
  }
  return Math.min(1, 2 * tail)
}
