import type { Agreement } from '../library/evaluation/agreement.ts'
import type { ModelReport } from '../library/evaluation/report.ts'
import type { Comparison } from '../library/evaluation/verdict.ts'

export const share = (value: number | null) => (value === null ? '–' : value.toFixed(2))
export const ms = (value: number | null) => (value === null ? '–' : `${Math.round(value)} ms`)
export const dollars = (value: number | null) =>
  value === null ? 'unknown' : `$${value.toFixed(value > 0 && value < 0.1 ? 4 : 2)}`

/** Such as `0.80 (0.66 to 0.89)`: the agreement and its interval of 95 %. */
export function agreementText({ agreement, interval }: Agreement): string {
  return interval ? `${share(agreement)} (${share(interval[0])} to ${share(interval[1])})` : share(agreement)
}

/** Below this likelihood of chance a difference is told as one. */
const CHANCE = 0.05

/** Which of two models is worth its price, in sentences. */
export function worth([first, second]: readonly ModelReport[], comparison: Comparison): string[] {
  if (!first || !second) return []
  const { values, first_right, second_right, only_first, only_second, p } = comparison
  if (values === 0) return ['No value is known on frames that both models answered, so nothing tells which is better.']
  const better = only_first >= only_second ? first : second
  const known =
    `Of ${values} known values ${first.model} has ${first_right} right, ${second.model} ${second_right}. ` +
    `Right in one alone: ${only_first} and ${only_second}.`
  if (p >= CHANCE)
    return [
      known,
      `That is no clear difference (p = ${p.toFixed(2)}).`,
      `Ask about more frames, or take the cheaper model${cheaper(first, second)}.`,
    ]
  const chance = p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`
  return [known, `${better.model} is better (p ${chance}). ${price(first, second, comparison)}`]
}

function cheaper(first: ModelReport, second: ModelReport): string {
  const [a, b] = [first.cost_per_1000_frames, second.cost_per_1000_frames]
  if (a === null || b === null || a === b) return ''
  const [less, more] = a < b ? [a, b] : [b, a]
  return `: ${a < b ? first.model : second.model}, ${dollars(less)} instead of ${dollars(more)} for 1,000 frames`
}

function price(first: ModelReport, second: ModelReport, { frames, only_first, only_second }: Comparison): string {
  const [better, other] = only_first >= only_second ? [first, second] : [second, first]
  const [a, b] = [better.cost_per_1000_frames, other.cost_per_1000_frames]
  if (a === null || b === null) return 'A price is missing, so what it costs more cannot be told.'
  if (a <= b) return `It costs no more: ${dollars(a)} for 1,000 frames, ${other.model} ${dollars(b)}.`
  const gained = (Math.abs(only_first - only_second) / frames) * 1000
  return (
    `It costs ${dollars(a - b)} more for 1,000 frames (${dollars(a)}, ${other.model} ${dollars(b)}): ` +
    `${dollars((a - b) / gained)} for each further right value.`
  )
}
