import { execFile, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import sharp from 'sharp'
import { TECHNIQUE_SEED } from '../src/library/techniques/technique-seed.ts'
import { encodeImages } from '../src/video/extract/frame-images.ts'
import { differenceHash, measureLuma } from '../src/video/extract/measure.ts'
import { CHILD_ENV } from '../src/video/extract/run-extraction.ts'
import type { Annotator, FrameAnnotation, FrameToAnnotate, VideoContext } from '../src/vision/annotator.ts'
import { composeAnnotators } from '../src/vision/compose.ts'
import { type FrameTiming, openMeasuringAnnotator } from '../src/vision/measured/measuring-annotator.ts'
import { openModelAnnotator } from '../src/vision/model/model-annotator.ts'

/** One labelled span of a clip: what a careful viewer said of every frame in it. */
interface Span {
  file: string
  fromSec: number
  toSec: number
  labels: Partial<Record<Attribute, string>>
  alsoAcceptable: Partial<Record<Attribute, string[]>>
  /** The main words on screen. */
  words: string[]
}

interface Sample {
  span: Span
  frame: FrameToAnnotate
}

const ATTRIBUTES = ['tone', 'subject', 'surface', 'shot', 'zone'] as const
type Attribute = (typeof ATTRIBUTES)[number]

interface Score {
  n: number
  filled: number
  right: number
  /** Right of those filled. */
  accuracy: number | null
  /** Right of all: a null counts as wrong. */
  accuracyOfAll: number | null
  nullRate: number | null
}

/**
 * Accuracy of an annotator against the labels of a folder with `MANIFEST.json` and `*.truth.json`: frames from the middle of every labelled span. A label's `also_acceptable` counts as right and a
 * tone labelled `mid` counts as either. The annotator runs in a process of its own, whose peak memory is told. `--annotator measured` (the default), `model` or `both`; a model needs `--base-url` and `--model`, and `--key-file` where the endpoint wants a key.
 */
export async function run(args: string[]): Promise<void> {
  if (args[0] === 'serve') return serve(args.slice(1))
  const { values: options, positionals } = parseOptions(args)
  const folder = resolve(positionals[0] ?? fileURLToPath(new URL('../../shared/videos', import.meta.url)))
  const samples = await loadSamples(loadSpans(folder), folder, Number(options.samples))
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
  const cost = timings.length > 0 ? costOf(samples, timings) : null

  if (!options.json) {
    print(
      samples,
      answers,
      { scores, zoneWithFace, presence, words, cardsAndTerminals, calibration, cost, memoryMb },
      options.verbose,
    )
  }
  console.log(
    JSON.stringify({
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
    }),
  )
}

function parseOptions(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      annotator: { type: 'string', default: 'measured' },
      samples: { type: 'string', default: '4' },
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
  /** The most the annotator's process held. */
  memoryMb: number
}

/** One call of the annotator: a batch of one clip's frames. */
interface Question {
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
      server.send({ video, frames: ofFile.slice(at, at + batchSize).map(({ frame }) => frame) } satisfies Question)
      for (const annotation of (await answer) as FrameAnnotation[]) answers.set(annotation.frameId, annotation)
    }
  }
  const told = next()
  server.send('tell')
  const { timings, memoryMb } = (await told) as Pick<Annotated, 'timings' | 'memoryMb'>
  await ended
  return { version, answers, timings, memoryMb }
}

async function serve(args: string[]): Promise<void> {
  const timings: FrameTiming[] = []
  const annotator = await openAnnotator(parseOptions(args).values, timings)
  process.on('message', async (question: Question | 'tell') => {
    if (question === 'tell') {
      process.send!({ timings, memoryMb: Math.round(process.resourceUsage().maxRSS / 1024) })
      await annotator[Symbol.asyncDispose]()
      process.disconnect()
      return
    }
    const options = { signal: AbortSignal.timeout(600_000), techniques: TECHNIQUE_SEED }
    process.send!((await annotator.annotate(question.video, question.frames, options)).annotations)
  })
  process.send!({ version: annotator.version, batchSize: annotator.batchSize })
}

// Labels and frames

interface RawSpan extends Partial<Record<Attribute, string>> {
  from_s?: number
  to_s?: number
  clean_from_frame?: number
  clean_to_frame?: number
  text?: string | string[]
  also_acceptable?: Partial<Record<Attribute, string[]>>
}

/** Spans of every clip of the manifest; a clip's `*.truth.json`, where there is one, knows more than the manifest's labels. */
function loadSpans(folder: string): Span[] {
  const truthOf = (file: string) => file.replace(/\.\w+$/, '.truth.json')
  const truths = new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.truth.json'))
      .map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8'))]),
  )
  const manifest = existsSync(join(folder, 'MANIFEST.json'))
    ? JSON.parse(readFileSync(join(folder, 'MANIFEST.json'), 'utf8'))
    : []
  const entries: Array<{ file: string; fps?: number; labels?: RawSpan[]; truth?: string }> = Array.isArray(manifest)
    ? manifest
    : (manifest.files ?? manifest.clips)
  const files = new Set(entries.map(({ file }) => file))
  const unlisted: typeof entries = [...truths].flatMap(([name, { video }]) =>
    video && !files.has(video) ? [{ file: String(video), truth: name }] : [],
  )
  const spans = [...entries, ...unlisted].flatMap((entry): Span[] => {
    const truth = truths.get(entry.truth ?? truthOf(entry.file))
    const raw: RawSpan[] = truth?.shots ?? entry.labels ?? []
    const fps = truth?.fps ?? entry.fps
    return raw.map((span) => ({
      file: entry.file,
      fromSec: span.from_s ?? span.clean_from_frame! / fps,
      toSec: span.to_s ?? (span.clean_to_frame! + 1) / fps,
      labels: Object.fromEntries(
        ATTRIBUTES.flatMap((attribute) => (span[attribute] ? [[attribute, span[attribute]]] : [])),
      ),
      alsoAcceptable: span.also_acceptable ?? {},
      words: toWords([span.text ?? []].flat().join(' ')),
    }))
  })
  if (spans.length === 0)
    throw new Error(`${folder} holds no labels (MANIFEST.json with labels, or *.truth.json with shots)`)
  return spans
}

async function loadSamples(spans: readonly Span[], folder: string, perSpan: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const span of spans) {
    const count = Math.max(1, Math.min(perSpan, Math.round((span.toSec - span.fromSec) * 2)))
    for (let i = 0; i < count; i++) {
      const tSec = span.fromSec + ((span.toSec - span.fromSec) * (i + 0.5)) / count
      samples.push({ span, frame: await loadFrame(join(folder, span.file), `${span.file}@${tSec.toFixed(3)}`, tSec) })
    }
  }
  return samples
}

/** The frame as the pipeline keeps it: at most 1280 wide, WebP. */
async function loadFrame(file: string, id: string, tSec: number): Promise<FrameToAnnotate> {
  const input = ['-v', 'error', '-ss', tSec.toFixed(3), '-i', file, '-frames:v', '1']
  const { stdout } = await promisify(execFile)('ffmpeg', [...input, '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'], {
    encoding: 'buffer',
    maxBuffer: 64 * 1024 * 1024,
  })
  const { data, info } = await sharp(stdout)
    .resize({ width: 1280, withoutEnlargement: true })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { image } = await encodeImages(data, info.width, info.height)
  const gray = await sharp(stdout).resize(160, 90, { fit: 'fill' }).removeAlpha().grayscale().raw().toBuffer()
  return {
    id,
    tSec,
    kind: 'beat',
    image,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    width: info.width,
    height: info.height,
    ...measureLuma(data),
    motion: 0,
    phash: differenceHash(gray),
    reason: 'sampled',
  }
}

// Scores

function answerOf(
  { frame }: Sample,
  answers: Map<string, FrameAnnotation>,
  attribute: Attribute,
): { value: string | null; confidence: number | null } {
  if (attribute === 'tone') return { value: frame.tone, confidence: 1 }
  return answers.get(frame.id)?.values[attribute] ?? { value: null, confidence: null }
}

function isRight({ span }: Sample, attribute: Attribute, value: string): boolean {
  const label = span.labels[attribute]
  return label === value || label === 'mid' || (span.alsoAcceptable[attribute] ?? []).includes(value)
}

function scoreOf(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, attribute: Attribute): Score {
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

/** A face is said to be there when the shot is any but `no-face`; a label that accepts both counts as whatever was said. */
function scorePresence(samples: readonly Sample[], answers: Map<string, FrameAnnotation>) {
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

/** Words of the label found in any sampled frame of its span (`found`), and in the single frame (`foundPerFrame`), where a word may not have appeared yet. */
function scoreWords(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, subjects?: readonly string[]) {
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

function toWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
}

/** How often values of a stated confidence are right, in four bins, and the expected calibration error. */
function calibrate(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, attribute: Attribute) {
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
        stated: mean(inside.map(({ confidence }) => confidence)),
        right: mean(inside.map(({ right }) => right)),
      },
    ]
  })
  const error = given.length
    ? bins.reduce((sum, bin) => sum + Math.abs(bin.stated - bin.right) * bin.n, 0) / given.length
    : null
  return { error: error === null ? null : round(error), bins }
}

/** Everything spent, over reading the frames whose label has words plus one pass for faces over all: measured in the same run. The first frame, which loads the models, is left out. */
function costOf(samples: readonly Sample[], timings: readonly FrameTiming[]) {
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

function mean(values: readonly number[]): number {
  return round(values.reduce((sum, value) => sum + value, 0) / values.length)
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : round(part / whole)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

// Print

interface Results {
  scores: Record<string, Score>
  zoneWithFace: Score
  presence: ReturnType<typeof scorePresence>
  words: ReturnType<typeof scoreWords>
  cardsAndTerminals: ReturnType<typeof scoreWords>
  calibration: Record<string, ReturnType<typeof calibrate>>
  cost: ReturnType<typeof costOf> | null
  memoryMb: number
}

function print(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, results: Results, verbose: boolean) {
  const cell = (value: unknown, width = 10) => String(value ?? '-').padStart(width)
  console.log(
    `${samples.length} frames\n\n${'attribute'.padEnd(28)}${['n', 'filled', 'right', 'of filled', 'of all', 'null'].map((name) => cell(name)).join('')}`,
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
    `\nface present: precision ${presence.precision}, recall ${presence.recall} (${presence.hits} hits, ${presence.invented} invented, ${presence.missed} missed)`,
  )
  console.log(
    `words of cards and terminals: ${cardsAndTerminals.accuracy} of ${cardsAndTerminals.n} (per frame ${cardsAndTerminals.perFrame}); all: ${words.accuracy} of ${words.n}`,
  )
  for (const [name, { error, bins }] of Object.entries(results.calibration)) {
    console.log(
      `calibration of ${name}: error ${error}; ${bins.map((bin) => `${bin.stated} stated, ${bin.right} right (${bin.n})`).join('; ')}`,
    )
  }
  for (const attribute of ['subject', 'shot'] as const) printConfusion(samples, answers, attribute)
  if (cost)
    console.log(
      `\ncost ${cost.ratio} × (${cost.of.split('/ ')[1]}), ${cost.msPerFrame} ms a frame; read in vain ${cost.readInVain} of ${cost.withoutText} without text`,
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

/** Rows are labels, columns what was said; an acceptable second answer is counted under the label it was accepted for. */
function printConfusion(samples: readonly Sample[], answers: Map<string, FrameAnnotation>, attribute: Attribute) {
  const counts = new Map<string, Map<string, number>>()
  for (const sample of samples) {
    const label = sample.span.labels[attribute]
    if (!label) continue
    const { value } = answerOf(sample, answers, attribute)
    const said = value === null ? 'null' : isRight(sample, attribute, value) ? label : value
    const row = counts.get(label) ?? new Map<string, number>()
    counts.set(label, row.set(said, (row.get(said) ?? 0) + 1))
  }
  const columns = [...new Set([...counts.values()].flatMap((row) => [...row.keys()]))].sort()
  console.log(`\n${attribute.padEnd(18)}${columns.map((name) => name.slice(0, 11).padStart(12)).join('')}`)
  for (const [label, row] of counts)
    console.log(label.padEnd(18) + columns.map((name) => String(row.get(name) ?? '').padStart(12)).join(''))
}
