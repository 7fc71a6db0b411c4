import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { TECHNIQUE_SEED } from '../src/library/techniques/technique-seed.ts'
import type { FrameAnnotation } from '../src/vision/annotator.ts'
import type { FrameTiming } from '../src/vision/measured/measure-frame.ts'
import { openMeasuringAnnotator } from '../src/vision/measured/measuring-annotator.ts'
import {
  answerOf,
  confusionOf,
  costOf,
  isRight,
  scoreLanguages,
  scoreOf,
  scoreReading,
  scoreWords,
} from './support/annotation-scores.ts'
import type { About } from './support/bench.ts'
import { defaultFolder } from './support/clips.ts'
import { ATTRIBUTES, loadSamples, loadSpans, type Sample } from './support/labelled-frames.ts'
import { makeLanguageFrames, makeProductFrames } from './support/product-frames.ts'

/**
 * `--made` describes drawn frames of product films instead, of seeds that no rule was tuned on; `--samples` is their
 * number for each design; and lines of three languages. `--verbose` names each wrong answer.
 */
export const about: About = {
  measures:
    'Accuracy of the measuring annotator on frames from the middle of every labelled span of a folder with ' +
    '`MANIFEST.json` and `*.truth.json`. Answers that the label also accepts count as right, and so does either tone ' +
    'where the label is `mid`.',
  against: 'labels given by hand. Cost: reading the frames that hold text plus one pass for faces, in the same run.',
  figures: [
    { what: 'tone', at: ['accuracy', 'tone', 'accuracy'], atLeast: 0.98 },
    { what: 'shot', at: ['accuracy', 'shot', 'accuracy'], atLeast: 0.85 },
    { what: 'zone where a face is', at: ['accuracy', 'zone_where_a_face_is_visible', 'accuracy'], atLeast: 0.85 },
    { what: 'subject, of those filled', at: ['accuracy', 'subject', 'accuracy'], atLeast: 0.9 },
    { what: 'share of frames without a subject', at: ['accuracy', 'subject', 'nullRate'] },
    {
      what: 'words of cards and terminals',
      at: ['accuracy', 'words_of_cards_and_terminals', 'accuracy'],
      atLeast: 0.8,
    },
    { what: 'words of drawn frames', at: ['reading', 'all', 'recall'], atLeast: 0.95 },
    ...['German', 'French', 'Spanish'].map((language) => ({
      what: `words of ${language} as search finds them, without accents`,
      at: ['languages', language, 'withoutAccents'],
    })),
    { what: 'cost ÷ unavoidable cost', at: ['cost', 'ratio'], atMost: 1.3 },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      samples: { type: 'string', default: '4' },
      made: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  })
  const folder = resolve(positionals[0] ?? defaultFolder())
  const samples = values.made
    ? await makeProductFrames(Number(values.samples))
    : await loadSamples(loadSpans(folder), folder, Number(values.samples))
  const inLanguages = values.made ? await makeLanguageFrames() : []
  const { version, answers, timings } = await annotateAll([...samples, ...inLanguages])

  const scores = Object.fromEntries(ATTRIBUTES.map((attribute) => [attribute, scoreOf(samples, answers, attribute)]))
  const withFace = samples.filter(({ span }) => span.labels.zone && span.labels.zone !== 'none')
  const accuracy = {
    ...scores,
    zone_where_a_face_is_visible: scoreOf(withFace, answers, 'zone'),
    words_of_cards_and_terminals: scoreWords(samples, answers, ['text-card', 'terminal']),
    words: scoreWords(samples, answers),
  }
  const byDesign = values.made ? scoreDesigns(samples, answers) : undefined
  const reading = values.made ? scoreReading(samples, answers) : undefined
  const languages = values.made ? scoreLanguages(inLanguages, answers) : undefined
  console.table(accuracy)
  for (const attribute of ['subject', 'shot'] as const) console.table(confusionOf(samples, answers, attribute))
  if (byDesign) console.table(byDesign)
  if (reading) console.table(reading)
  if (languages) console.table(languages)
  if (values.verbose) printWrong(samples, answers)
  return {
    bench: 'annotation',
    ...(byDesign ? { byDesign, reading, languages } : { cost: costOf(samples, timings) }),
    annotator: version,
    frames: samples.length,
    accuracy,
  }
}

function printWrong(samples: readonly Sample[], answers: Map<string, FrameAnnotation>): void {
  for (const sample of samples)
    for (const attribute of ATTRIBUTES) {
      const label = sample.span.labels[attribute]
      const { value } = answerOf(sample, answers, attribute)
      if (label && value !== null && !isRight(sample, attribute, value))
        console.log(`${sample.frame.id}: ${attribute} is ${label}, said ${value}`)
    }
}

/** Subjects and surfaces by design: how many are filled, and how many of those are right. */
function scoreDesigns(samples: readonly Sample[], answers: Map<string, FrameAnnotation>) {
  const score = (some: readonly Sample[]) => {
    const [subject, surface] = [scoreOf(some, answers, 'subject'), scoreOf(some, answers, 'surface')]
    const { n, filled, right } = subject
    return { n, filled, right, surfaces: surface.filled, surfacesRight: surface.right }
  }
  const designs = Map.groupBy(samples, ({ span }) => span.file)
  return {
    ...Object.fromEntries([...designs].map(([design, some]) => [design, score(some)])),
    all: score(samples),
  }
}

async function annotateAll(samples: readonly Sample[]) {
  const timings: FrameTiming[] = []
  await using annotator = openMeasuringAnnotator({ onTimed: (timing) => timings.push(timing) })
  const answers = new Map<string, FrameAnnotation>()
  for (const [file, ofFile] of Map.groupBy(samples, ({ span }) => span.file)) {
    const durationSec = Math.max(...ofFile.map(({ span }) => span.toSec))
    const video = { id: file, title: file, author: null, durationSec }
    for (let at = 0; at < ofFile.length; at += annotator.batchSize) {
      const frames = ofFile.slice(at, at + annotator.batchSize).map(({ frame }) => frame)
      const options = { signal: AbortSignal.timeout(600_000), techniques: TECHNIQUE_SEED }
      const { annotations } = await annotator.annotate(video, frames, options)
      for (const annotation of annotations) answers.set(annotation.frameId, annotation)
    }
  }
  return { version: annotator.version, answers, timings }
}
