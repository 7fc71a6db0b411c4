import type { AnnotatorCall, FrameAnnotation } from '../../vision/annotator.ts'
import type { AnnotatedAttribute } from '../../vocabulary.ts'
import { type Agreement, scoreAnswers, type Truth } from './agreement.ts'
import { type Calibration, calibrate } from './calibration.ts'

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
