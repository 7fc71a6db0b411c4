import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { TECHNIQUE_SEED } from '../src/library/techniques/technique-seed.ts'
import { CHILD_ENV } from '../src/video/extract/run-extraction.ts'
import type { Annotator, FrameAnnotation, FrameToAnnotate, VideoContext } from '../src/vision/annotator.ts'
import { composeAnnotators } from '../src/vision/compose.ts'
import { type FrameTiming, openMeasuringAnnotator } from '../src/vision/measured/measuring-annotator.ts'
import { openModelAnnotator } from '../src/vision/model/model-annotator.ts'
import { calibrate, costOf, scoreOf, scorePresence, scoreWords } from './support/annotation-scores.ts'
import type { About } from './support/bench.ts'
import { defaultFolder } from './support/clips.ts'
import { ATTRIBUTES, loadSamples, loadSpans, type Sample } from './support/labelled-frames.ts'
import { printResults } from './support/print-annotation.ts'
import { makeProductFrames } from './support/product-frames.ts'

/**
 * Aims: the accuracy each figure names, 1.3 times the unavoidable cost, 600 MB. `--annotator` is `measured` (the
 * default), `model` or `both`. A model needs `--base-url` and `--model`, and `--key-file` where the endpoint wants a
 * key. `--made` describes drawn frames of product films instead, of seeds that no rule was tuned on; `--samples` is
 * their number for each design.
 */
export const about: About = {
  measures:
    'Accuracy of an annotator on frames from the middle of every labelled span of a folder with `MANIFEST.json` and ' +
    '`*.truth.json`. Answers that the label also accepts count as right, and so does either tone where the label is ' +
    '`mid`.',
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
    { what: 'cost ÷ unavoidable cost', at: ['cost', 'ratio'], atMost: 1.3 },
    { what: "peak memory of the annotator's process", at: ['memoryMb'], atMost: 600, unit: 'MB' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve(args.slice(1))
  const { values: options, positionals } = parseOptions(args)
  const folder = resolve(positionals[0] ?? defaultFolder())
  const samples = options.made
    ? await makeProductFrames(Number(options.samples))
    : await loadSamples(loadSpans(folder), folder, Number(options.samples))
  const { version, answers, timings, memoryMb } = await annotateAll(args, samples)

  const scores = Object.fromEntries(ATTRIBUTES.map((attribute) => [attribute, scoreOf(samples, answers, attribute)]))
  const withFace = samples.filter(({ span }) => span.labels.zone && span.labels.zone !== 'none')
  const zoneWithFace = scoreOf(withFace, answers, 'zone')
  const presence = scorePresence(samples, answers)
  const cardsAndTerminals = scoreWords(samples, answers, ['text-card', 'terminal'])
  const words = scoreWords(samples, answers)
  const calibration = Object.fromEntries(
    ATTRIBUTES.filter((attribute) => attribute !== 'tone').map((attribute) => [
      attribute,
      calibrate(samples, answers, attribute),
    ]),
  )
  const cost = timings.length > 0 && !options.made ? costOf(samples, timings) : null

  if (!options.json) {
    printResults(
      samples,
      answers,
      { scores, zoneWithFace, presence, words, cardsAndTerminals, calibration, cost, memoryMb },
      options.verbose,
    )
  }
  const byDesign = options.made ? scoreDesigns(samples, answers) : null
  if (byDesign && !options.json) console.table(byDesign)
  return {
    bench: 'annotation',
    ...(byDesign ? { byDesign } : {}),
    annotator: version,
    frames: samples.length,
    accuracy: {
      ...scores,
      zone_where_a_face_is_visible: zoneWithFace,
      face_presence: presence,
      words_of_cards_and_terminals: cardsAndTerminals,
      words,
    },
    calibration,
    cost,
    memoryMb,
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

function parseOptions(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      annotator: { type: 'string', default: 'measured' },
      samples: { type: 'string', default: '4' },
      made: { type: 'boolean', default: false },
      'base-url': { type: 'string' },
      model: { type: 'string' },
      'key-file': { type: 'string' },
      json: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  })
}

async function openAnnotator(options: Record<string, unknown>, timings: FrameTiming[]): Promise<Annotator> {
  const openMeasured = () => openMeasuringAnnotator({ onTimed: (timing) => timings.push(timing) })
  const openModel = () => {
    if (!options['base-url'] || !options.model) throw new Error('a model needs --base-url and --model')
    const apiKey = options['key-file'] ? readFileSync(String(options['key-file']), 'utf8').trim() : 'none'
    return openModelAnnotator({ baseUrl: String(options['base-url']), model: String(options.model), apiKey })
  }
  if (options.annotator === 'measured') return openMeasured()
  if (options.annotator === 'model') return openModel()
  if (options.annotator === 'both') return composeAnnotators(await openMeasured(), openModel())
  throw new Error('--annotator is measured, model or both')
}

interface Annotated {
  version: string
  answers: Map<string, FrameAnnotation>
  timings: FrameTiming[]
  /** Peak memory of the annotator's process. */
  memoryMb: number
}

/** One call of the annotator: a batch of one clip's frames. */
interface Batch {
  video: VideoContext
  frames: FrameToAnnotate[]
}

async function annotateAll(args: string[], samples: readonly Sample[]): Promise<Annotated> {
  const server = fork(join(import.meta.dirname, 'main.ts'), ['annotation', 'serve', ...args], {
    // As `npm start` and the image start a worker.
    env: { ...process.env, ...CHILD_ENV },
    serialization: 'advanced',
  })
  const ended = once(server, 'exit')
  const next = async () => {
    const [message] = await Promise.race([
      once(server, 'message'),
      ended.then(() => Promise.reject(new Error('the annotator ended'))),
    ])
    return message
  }
  const { version, batchSize } = (await next()) as Pick<Annotator, 'version' | 'batchSize'>
  const answers = new Map<string, FrameAnnotation>()
  for (const [file, ofFile] of Map.groupBy(samples, ({ span }) => span.file)) {
    const video = {
      id: file,
      title: file,
      author: null,
      durationSec: Math.max(...ofFile.map(({ span }) => span.toSec)),
    }
    for (let at = 0; at < ofFile.length; at += batchSize) {
      const answer = next()
      server.send({ video, frames: ofFile.slice(at, at + batchSize).map(({ frame }) => frame) } satisfies Batch)
      for (const annotation of (await answer) as FrameAnnotation[]) answers.set(annotation.frameId, annotation)
    }
  }
  const totals = next()
  server.send('finish')
  const { timings, memoryMb } = (await totals) as Pick<Annotated, 'timings' | 'memoryMb'>
  await ended
  return { version, answers, timings, memoryMb }
}

async function serve(args: string[]): Promise<undefined> {
  const timings: FrameTiming[] = []
  const annotator = await openAnnotator(parseOptions(args).values, timings)
  process.on('message', async (batch: Batch | 'finish') => {
    if (batch === 'finish') {
      process.send!({ timings, memoryMb: Math.round(process.resourceUsage().maxRSS / 1024) })
      await annotator[Symbol.asyncDispose]()
      process.disconnect()
      return
    }
    const options = { signal: AbortSignal.timeout(600_000), techniques: TECHNIQUE_SEED }
    process.send!((await annotator.annotate(batch.video, batch.frames, options)).annotations)
  })
  process.send!({ version: annotator.version, batchSize: annotator.batchSize })
  return undefined
}
