import type { FrameAnnotation } from '../../src/vision/annotator.ts'
import type { FrameTiming } from '../../src/vision/measured/measuring-annotator.ts'
import { type Attribute, type Sample, toWords } from './labelled-frames.ts'
import { mean, round } from './stats.ts'

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
): { value: string | null; confidence: number | null } {
  if (attribute === 'tone') return { value: frame.tone, confidence: 1 }
  return answers.get(frame.id)?.values[attribute] ?? { value: null, confidence: null }
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
  const filled = labelled.filter((sample) => answerOf(sample, answers, attribute).value !== null)
  const right = filled.filter((sample) => isRight(sample, attribute, answerOf(sample, answers, attribute).value!))
  return {
    n: labelled.length,
    filled: filled.length,
    right: right.length,
    accuracy: share(right.length, filled.length),
    accuracyOfAll: share(right.length, labelled.length),
    nullRate: share(labelled.length - filled.length, labelled.length),
  }
}

/** A face counts as reported when the shot is any but `no-face`. A label that accepts both makes any answer right. */
export function scorePresence(samples: readonly Sample[], answers: Map<string, FrameAnnotation>) {
  let hits = 0
  let invented = 0
  let missed = 0
  for (const sample of samples) {
    if (!sample.span.labels.shot) continue
    const accepted = [sample.span.labels.shot, ...(sample.span.alsoAcceptable.shot ?? [])]
    const said = answerOf(sample, answers, 'shot').value
    const face = said !== null && said !== 'no-face'
    if (face && accepted.some((shot) => shot !== 'no-face')) hits++
    else if (face) invented++
    else if (!accepted.includes('no-face')) missed++
  }
  return {
    n: hits + invented + missed,
    hits,
    invented,
    missed,
    precision: share(hits, hits + invented),
    recall: share(hits, hits + missed),
  }
}

/**
 * Words of the label found in any sampled frame of its span. `perFrame`: found in the single frame, where a word may
 * not have appeared yet.
 */
export function scoreWords(
  samples: readonly Sample[],
  answers: Map<string, FrameAnnotation>,
  subjects?: readonly string[],
) {
  let n = 0
  let found = 0
  let perFrame = 0
  let perFrameOf = 0
  for (const [span, ofSpan] of Map.groupBy(samples, ({ span }) => span)) {
    if (span.words.length === 0 || (subjects && !subjects.includes(span.labels.subject ?? ''))) continue
    const read = ofSpan.map(({ frame }) => new Set(toWords(answers.get(frame.id)?.values.on_screen_text?.value ?? '')))
    n += span.words.length
    found += span.words.filter((word) => read.some((words) => words.has(word))).length
    perFrameOf += span.words.length * read.length
    for (const words of read) perFrame += span.words.filter((word) => words.has(word)).length
  }
  return { n, accuracy: share(found, n), perFrame: share(perFrame, perFrameOf) }
}

/** How often values of a stated confidence are right, in four bins, and the expected calibration error. */
export function calibrate(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, attribute: Attribute) {
  const edges = [0, 0.6, 0.75, 0.9, 1.001]
  const given = samples.flatMap((sample) => {
    const { value, confidence } = answerOf(sample, answers, attribute)
    return sample.span.labels[attribute] && value !== null && confidence !== null
      ? [{ confidence, right: isRight(sample, attribute, value) ? 1 : 0 }]
      : []
  })
  const bins = edges.slice(0, -1).flatMap((from, i) => {
    const inside = given.filter(({ confidence }) => confidence >= from && confidence < edges[i + 1]!)
    if (inside.length === 0) return []
    return [
      {
        from,
        n: inside.length,
        stated: round(mean(inside.map(({ confidence }) => confidence))),
        right: round(mean(inside.map(({ right }) => right))),
      },
    ]
  })
  const error = given.length
    ? bins.reduce((sum, bin) => sum + Math.abs(bin.stated - bin.right) * bin.n, 0) / given.length
    : null
  return { error: error === null ? null : round(error), bins }
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
