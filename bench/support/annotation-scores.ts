import type { FrameAnnotation } from '../../src/vision/annotator.ts'
import type { FrameTiming } from '../../src/vision/measured/measure-frame.ts'
import { type Attribute, type Sample, toWords } from './labelled-frames.ts'
import { round } from './stats.ts'

export interface Score {
  n: number
  filled: number
  right: number
  /** Right of those filled. */
  accuracy: number | null
  /** Right of all: a null counts as wrong. */
  accuracyOfAll: number | null
  nullRate: number | null
}

export function answerOf(
  { frame }: Sample,
  answers: Map<string, FrameAnnotation>,
  attribute: Attribute,
): { value: string | null } {
  if (attribute === 'tone') return { value: frame.tone }
  return answers.get(frame.id)?.values[attribute] ?? { value: null }
}

export function isRight({ span }: Sample, attribute: Attribute, value: string): boolean {
  const label = span.labels[attribute]
  return label === value || label === 'mid' || (span.alsoAcceptable[attribute] ?? []).includes(value)
}

export function scoreOf(
  samples: readonly Sample[],
  answers: Map<string, FrameAnnotation>,
  attribute: Attribute,
): Score {
  const labelled = samples.filter(({ span }) => span.labels[attribute])
  const told = labelled.flatMap((sample) => {
    const { value } = answerOf(sample, answers, attribute)
    return value === null ? [] : isRight(sample, attribute, value)
  })
  const [n, filled, right] = [labelled.length, told.length, told.filter(Boolean).length]
  return {
    n,
    filled,
    right,
    accuracy: share(right, filled),
    accuracyOfAll: share(right, n),
    nullRate: share(n - filled, n),
  }
}

/** Words of the label found in any sampled frame of its span. */
export function scoreWords(
  samples: readonly Sample[],
  answers: Map<string, FrameAnnotation>,
  subjects?: readonly string[],
) {
  let [n, found] = [0, 0]
  for (const [span, ofSpan] of Map.groupBy(samples, ({ span }) => span)) {
    if (subjects && !subjects.includes(span.labels.subject ?? '')) continue
    const read = ofSpan.flatMap(({ frame }) => toWords(answers.get(frame.id)?.values.on_screen_text?.value ?? ''))
    n += span.words.length
    found += span.words.filter((word) => read.includes(word)).length
  }
  return { n, accuracy: share(found, n) }
}

/** How many words of drawn frames were read, by design, letters and ground. Junk: words that are not there. */
export function scoreReading(samples: readonly Sample[], answers: Map<string, FrameAnnotation>) {
  const rows: Record<string, { words: number; read: number; junk: number; recall: number | null }> = {}
  const add = (row: string, words: number, read: number, junk: number) => {
    const { words: all, read: found, junk: more } = rows[row] ?? { words: 0, read: 0, junk: 0 }
    rows[row] = { words: all + words, read: found + read, junk: more + junk, recall: share(found + read, all + words) }
  }
  for (const { span, frame } of samples) {
    const left = toWords(answers.get(frame.id)?.values.on_screen_text?.value ?? '')
    const found = span.drawn!.words.map(({ word, size }) => {
      const at = left.indexOf(word)
      if (at >= 0) left.splice(at, 1)
      const heights = size < 32 ? '20 to 32' : '32 and more'
      add(`letters of ${size < 20 ? 'less than 20' : heights} px`, 1, at >= 0 ? 1 : 0, 0)
      return at >= 0
    })
    for (const row of [span.file, `${span.drawn!.ground} ground`, 'all'])
      add(row, found.length, found.filter(Boolean).length, left.length)
  }
  return rows
}

/** How many words of each language were read, and how many when their accents do not count, as in search. */
export function scoreLanguages(samples: readonly Sample[], answers: Map<string, FrameAnnotation>) {
  const asFound = (word: string) => word.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss')
  const count = (of: readonly Sample[], toForm: (word: string) => string) => {
    const found = of.flatMap(({ span, frame }) => {
      const read = toWords(answers.get(frame.id)?.values.on_screen_text?.value ?? '').map(toForm)
      return span.words.map((word) => read.includes(toForm(word)))
    })
    return { words: found.length, recall: share(found.filter(Boolean).length, found.length) }
  }
  const rows = [...Map.groupBy(samples, ({ span }) => span.file)].map(([language, of]) => {
    const { words, recall } = count(of, (word) => word)
    return [language, { words, recall, withoutAccents: count(of, asFound).recall }] as const
  })
  return Object.fromEntries(rows)
}

/** Rows are labels, columns are answers. An acceptable second answer counts under the label that accepts it. */
export function confusionOf(
  samples: readonly Sample[],
  answers: Map<string, FrameAnnotation>,
  attribute: Attribute,
): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {}
  for (const sample of samples) {
    const label = sample.span.labels[attribute]
    if (!label) continue
    const { value } = answerOf(sample, answers, attribute)
    const said = value !== null && isRight(sample, attribute, value) ? label : `${value}`
    counts[label] ??= {}
    counts[label][said] = (counts[label][said] ?? 0) + 1
  }
  return counts
}

/**
 * All time spent, over reading the frames whose label has words plus one pass for faces over all, measured in the same
 * run. The first frame loads the models and is left out.
 */
export function costOf(samples: readonly Sample[], timings: readonly FrameTiming[]) {
  const holdsText = new Set(samples.filter(({ span }) => span.words.length > 0).map(({ frame }) => frame.id))
  const warm = timings.slice(1)
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const totalMs = sum(warm.map((timing) => timing.totalMs))
  const readTextMs = sum(warm.filter((timing) => holdsText.has(timing.frameId)).map((timing) => timing.readMs))
  const facePassMs = sum(warm.map((timing) => timing.facePassMs))
  return {
    ratio: round(totalMs / (readTextMs + facePassMs)),
    of: 'whole annotation / (reading the frames that hold text + one face pass)',
    msPerFrame: Math.round(totalMs / warm.length),
    facePassMs: Math.round(facePassMs / warm.length),
    readInVain: warm.filter((timing) => timing.read && !holdsText.has(timing.frameId)).length,
    withoutText: warm.filter((timing) => !holdsText.has(timing.frameId)).length,
  }
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : round(part / whole)
}
