import type { AnnotatorCall, FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../../vocabulary.ts'

/** Attributes with free text. Their values are compared by words. */
const TEXTS: ReadonlySet<AnnotatedAttribute> = new Set(['caption', 'composition', 'steal', 'on_screen_text'])

/** The known values of a frame: per attribute all values that count as right. */
export type Truth = Partial<Record<AnnotatedAttribute, readonly string[]>>

/** How far a model's answers agree with the known values of the same frames. */
export interface Agreement {
  /** Frames with a known value. */
  compared: number
  /** Compared frames for which the model gave a value. */
  answered: number
  /**
   * Sum over the answered frames. A right value of a closed list counts 1, a text the share of common words (F1 of word
   * sets).
   */
  agreed: number
  /** `agreed` ÷ `answered`; null without an answer. */
  agreement: number | null
  /** Where the agreement of all such frames lies with 95 % confidence; null without an answer. */
  interval: [low: number, high: number] | null
}

/** Agreement of one value with the values that count as right, 0–1. */
export function agreementOf(attribute: AnnotatedAttribute, value: string, right: readonly string[]): number {
  if (!TEXTS.has(attribute)) return right.includes(value) ? 1 : 0
  return Math.max(...right.map((text) => wordOverlap(value, text)))
}

/** F1 of the two sets of words: 1 when they are the same, 0 when they share none. Case and signs do not count. */
function wordOverlap(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)]
  const common = [...a].filter((word) => b.has(word)).length
  return a.size + b.size === 0 ? 1 : (2 * common) / (a.size + b.size)
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
}

/** Agreement per attribute with known values. Both maps are keyed by frame id. */
function scoreAnswers(
  answers: ReadonlyMap<string, FrameAnnotation>,
  truths: ReadonlyMap<string, Truth>,
): Partial<Record<AnnotatedAttribute, Agreement>> {
  const scores: Partial<Record<AnnotatedAttribute, Agreement>> = {}
  for (const attribute of ANNOTATED) {
    let [compared, answered, agreed] = [0, 0, 0]
    for (const [frameId, answer] of answers) {
      const right = truths.get(frameId)?.[attribute]
      if (!right || right.length === 0) continue
      compared++
      const value = answer.values[attribute]?.value ?? null
      if (value === null) continue
      answered++
      agreed += agreementOf(attribute, value, right)
    }
    if (compared === 0) continue
    const share =
      answered > 0
        ? { agreement: agreed / answered, interval: wilson(agreed, answered) }
        : { agreement: null, interval: null }
    scores[attribute] = { compared, answered, agreed, ...share }
  }
  return scores
}

/** 95 % of a normal distribution lie within so many deviations of its mean. */
const Z = 1.96

/**
 * The range in which a share lies with 95 % confidence, by Wilson's score interval (1927). For texts, which agree in
 * part, it is a little too wide.
 */
export function wilson(agreed: number, n: number): [low: number, high: number] {
  const share = agreed / n
  const middle = (share + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n)
  const reach = (Z / (1 + Z ** 2 / n)) * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2))
  return [Math.max(0, middle - reach), Math.min(1, middle + reach)]
}

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

/** Lower ends of the bands of confidence. */
const BANDS = [0, 0.5, 0.6, 0.7, 0.8, 0.9]

interface Band {
  /** Confidences from `from` to below `to`; the last band includes 1. */
  from: number
  to: number
  n: number
  mean_confidence: number
  /** Share of the values that were right: the sum of `agreementOf` ÷ n. */
  agreed: number
}

/** How often a model is right at each confidence: per attribute, and over all in `all`. */
export type Calibration = Partial<Record<AnnotatedAttribute | 'all', Band[]>>

/** Bands without a value are left out. */
function calibrate(answers: ReadonlyMap<string, FrameAnnotation>, truths: ReadonlyMap<string, Truth>): Calibration {
  const points: { attribute: AnnotatedAttribute; confidence: number; agreed: number }[] = []
  for (const [frameId, { values }] of answers) {
    for (const attribute of ANNOTATED) {
      const right = truths.get(frameId)?.[attribute]
      const given = values[attribute]
      if (!right || right.length === 0 || !given || given.value === null || given.confidence === null) continue
      const agreed = agreementOf(attribute, given.value, right)
      points.push({ attribute, confidence: given.confidence, agreed })
    }
  }
  const calibration: Calibration = {}
  for (const name of [...ANNOTATED, 'all'] as const) {
    const bands = toBands(points.filter(({ attribute }) => name === 'all' || attribute === name))
    if (bands.length > 0) calibration[name] = bands
  }
  return calibration
}

function toBands(points: readonly { confidence: number; agreed: number }[]): Band[] {
  return BANDS.flatMap((from, i) => {
    const to = BANDS[i + 1] ?? 1
    const inside = points.filter(({ confidence }) => bandOf(confidence) === i)
    if (inside.length === 0) return []
    const mean = (of: (point: (typeof points)[number]) => number) =>
      inside.reduce((sum, point) => sum + of(point), 0) / inside.length
    return {
      from,
      to,
      n: inside.length,
      mean_confidence: mean((one) => one.confidence),
      agreed: mean((one) => one.agreed),
    }
  })
}

function bandOf(confidence: number): number {
  return BANDS.findLastIndex((from) => confidence >= from)
}

/** The known values of the sample, by their origin. */
export interface Truths {
  people: ReadonlyMap<string, Truth>
  labels: ReadonlyMap<string, Truth>
  measured: ReadonlyMap<string, Truth>
}

export interface ModelReport {
  model: string
  /** Frames with an answer of any kind, and how many of them the model refused or gave nothing usable for. */
  frames: number
  refused: number
  failed: number
  /** Calls, and how many answers were broken: repaired, or without any frame. */
  calls: number
  broken_calls: number
  latency_ms: { median: number | null; p95: number | null; p99: number | null }
  input_tokens: number
  output_tokens: number
  /** Null where no price is known. */
  cost_usd: number | null
  cost_per_1000_frames: number | null
  /** Why the run ended early; null when it did not. */
  stopped: { code: string; message: string } | null
  agreement: Record<keyof Truths, Partial<Record<AnnotatedAttribute, Agreement>>>
  calibration: Calibration
}

/** Measures a model on a sample: agreement, refusals, latency and cost. */
export function reportOn(
  run: {
    model: string
    answers: ReadonlyMap<string, FrameAnnotation>
    calls: readonly AnnotatorCall[]
    stopped: ModelReport['stopped']
  },
  truths: Truths,
): ModelReport {
  const { model, answers, calls, stopped } = run
  const statuses = [...answers.values()].map(({ status }) => status)
  const costUsd = sumOfCosts(calls)
  const durations = calls.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b)
  return {
    model,
    frames: answers.size,
    refused: statuses.filter((status) => status === 'refused').length,
    failed: statuses.filter((status) => status === 'failed').length,
    calls: calls.length,
    broken_calls: calls.filter(({ outcome }) => outcome === 'failed' || outcome === 'repaired').length,
    latency_ms: { median: quantile(durations, 0.5), p95: quantile(durations, 0.95), p99: quantile(durations, 0.99) },
    input_tokens: calls.reduce((sum, call) => sum + (call.inputTokens ?? 0), 0),
    output_tokens: calls.reduce((sum, call) => sum + (call.outputTokens ?? 0), 0),
    cost_usd: costUsd,
    cost_per_1000_frames: costUsd === null || answers.size === 0 ? null : (costUsd / answers.size) * 1000,
    stopped,
    agreement: {
      people: scoreAnswers(answers, truths.people),
      labels: scoreAnswers(answers, truths.labels),
      measured: scoreAnswers(answers, truths.measured),
    },
    calibration: calibrate(answers, bestTruths(truths)),
  }
}

/** Per frame and attribute the best known value: from people, else labels, else measurement. */
export function bestTruths({ people, labels, measured }: Truths): Map<string, Truth> {
  const best = new Map<string, Truth>()
  for (const source of [measured, labels, people])
    for (const [frameId, truth] of source) best.set(frameId, { ...best.get(frameId), ...truth })
  return best
}

/** A failed call that reports no tokens is not charged. */
function sumOfCosts(calls: readonly AnnotatorCall[]): number | null {
  let sum = 0
  for (const { costUsd, outcome } of calls) {
    if (costUsd === null && outcome !== 'failed') return null
    sum += costUsd ?? 0
  }
  return sum
}

/** The smallest value that at least this share of the values does not exceed. */
function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
