import type { FrameAnnotation } from '../../src/vision/annotator.ts'
import {
  answerOf,
  type calibrate,
  type costOf,
  isRight,
  type Score,
  type scorePresence,
  type scoreWords,
} from './annotation-scores.ts'
import { ATTRIBUTES, type Attribute, type Sample } from './labelled-frames.ts'

export interface Results {
  scores: Record<string, Score>
  zoneWithFace: Score
  presence: ReturnType<typeof scorePresence>
  words: ReturnType<typeof scoreWords>
  cardsAndTerminals: ReturnType<typeof scoreWords>
  calibration: Record<string, ReturnType<typeof calibrate>>
  cost: ReturnType<typeof costOf> | null
  memoryMb: number
}

export function printResults(
  samples: readonly Sample[],
  answers: Map<string, FrameAnnotation>,
  results: Results,
  verbose: boolean,
) {
  const cell = (value: unknown, width = 10) => String(value ?? '-').padStart(width)
  console.log(
    `${samples.length} frames\n\n${'attribute'.padEnd(28)}` +
      ['n', 'filled', 'right', 'of filled', 'of all', 'null'].map((name) => cell(name)).join(''),
  )
  for (const [name, score] of [
    ...Object.entries(results.scores),
    ['zone where a face is visible', results.zoneWithFace] as const,
  ]) {
    console.log(
      name.padEnd(28) +
        [score.n, score.filled, score.right, score.accuracy, score.accuracyOfAll, score.nullRate]
          .map((value) => cell(value))
          .join(''),
    )
  }
  const { presence, words, cardsAndTerminals, cost } = results
  console.log(
    `\nface present: precision ${presence.precision}, recall ${presence.recall} ` +
      `(${presence.hits} hits, ${presence.invented} invented, ${presence.missed} missed)`,
  )
  console.log(
    `words of cards and terminals: ${cardsAndTerminals.accuracy} of ${cardsAndTerminals.n} ` +
      `(per frame ${cardsAndTerminals.perFrame}); all: ${words.accuracy} of ${words.n}`,
  )
  for (const [name, { error, bins }] of Object.entries(results.calibration)) {
    const parts = bins.map((bin) => `${bin.stated} stated, ${bin.right} right (${bin.n})`)
    console.log(`calibration of ${name}: error ${error}; ${parts.join('; ')}`)
  }
  for (const attribute of ['subject', 'shot'] as const) printConfusion(samples, answers, attribute)
  if (cost)
    console.log(
      `\ncost ${cost.ratio} × (${cost.of.split('/ ')[1]}), ${cost.msPerFrame} ms a frame; ` +
        `${cost.readInVain} of ${cost.withoutText} frames without text were read`,
    )
  console.log(`peak memory ${results.memoryMb} MB`)
  if (!verbose) return
  for (const sample of samples) {
    for (const attribute of ATTRIBUTES) {
      const { value } = answerOf(sample, answers, attribute)
      if (sample.span.labels[attribute] && value !== null && !isRight(sample, attribute, value)) {
        console.log(`${sample.frame.id}: ${attribute} is ${sample.span.labels[attribute]}, said ${value}`)
      }
    }
    console.log(`${sample.frame.id}: ${answers.get(sample.frame.id)?.values.caption?.value?.slice(0, 150)}`)
  }
}

/** Rows are labels, columns are answers. An acceptable second answer counts under the label that accepts it. */
function printConfusion(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, attribute: Attribute) {
  const counts = new Map<string, Map<string, number>>()
  for (const sample of samples) {
    const label = sample.span.labels[attribute]
    if (!label) continue
    const { value } = answerOf(sample, answers, attribute)
    const isAccepted = value !== null && isRight(sample, attribute, value)
    const said = isAccepted ? label : (value ?? 'null')
    const row = counts.get(label) ?? new Map<string, number>()
    counts.set(label, row.set(said, (row.get(said) ?? 0) + 1))
  }
  const columns = [...new Set([...counts.values()].flatMap((row) => [...row.keys()]))].sort()
  console.log(`\n${attribute.padEnd(18)}${columns.map((name) => name.slice(0, 11).padStart(12)).join('')}`)
  for (const [label, row] of counts)
    console.log(label.padEnd(18) + columns.map((name) => String(row.get(name) ?? '').padStart(12)).join(''))
}
