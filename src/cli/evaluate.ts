import { readFile, writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { FrameRow } from '../db/schema/frames.ts'
import {
  bestTruths,
  compareModels,
  type ModelReport,
  reportOn,
  type Truth,
  type Truths,
} from '../library/evaluation/agreement.ts'
import { storeCalibration } from '../library/evaluation/calibration.ts'
import {
  dropStyle,
  findStyle,
  holdApart,
  loadCorrections,
  styleVersion,
  type TakenStyle,
  takeStyle,
} from '../library/evaluation/house-style.ts'
import { parseLabels, sampleForEvaluation, valuesBy } from '../library/evaluation/sample.ts'
import { loadFrames } from '../library/frames/frames.ts'
import type { Annotator } from '../vision/annotator.ts'
import type { ReadingLanguages } from '../vision/measured/identity.ts'
import type { Correction, HouseStyle } from '../vision/model/house-style.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../vocabulary.ts'
import { openHouseStyle } from '../workers/annotator.ts'
import { askModel, type EvaluationSample, loadSample, type ModelRun } from '../workers/evaluate-model.ts'
import { answers, type CommandContext, parseInteger, type Result } from './context.ts'
import { agreementText, dollars, ms, share, worth, writeEvaluationPage } from './evaluation-report.ts'
import { CliError, usage } from './failure.ts'
import { addExamples } from './terminal.ts'

interface Options {
  model?: string
  against?: string
  sample: string
  labels?: string
  price?: string
  againstPrice?: string
  page?: string
  style?: boolean
}

const MAX_SAMPLE = 2_000

/** `frames evaluate`: what a vision model is worth on this library, and what it costs. */
export function defineEvaluate(command: Command): void {
  addExamples(
    command,
    'evaluate',
    'evaluate --model small-vl --price 0.20,1.25 --sample 100',
    'evaluate --model small-vl --price 0.20,1.25 --against large-vl --against-price 0.75,4.50 --page models.html',
    'evaluate --labels labels.jsonl --json',
  )
  command
    .option('--model <name>', 'the model to evaluate at VISION_BASE_URL (default: VISION_MODEL)')
    .option('--against <name>', 'a second model, for comparison')
    .option('--sample <n>', 'frames to ask about: those that people corrected first, then others', '50')
    .option('--labels <file>', 'known values, one JSON object a line; only these frames are asked about')
    .option('--price <in,out>', 'dollars per million tokens (default: VISION_PRICE_IN and _OUT, for VISION_MODEL)')
    .option('--against-price <in,out>', 'the same for the second model')
    .option('--style', 'show the model half of the corrections as examples, and measure the gain on the others')
    .option('--page <file>', 'write a page with the pictures and the answers side by side')
  answers(command, evaluate)
}

async function evaluate(context: CommandContext, options: Options): Promise<Result> {
  const models = toModels(context.config.vision, options)
  const sample = parseInteger('--sample', options.sample, { min: 1, max: MAX_SAMPLE })
  const labels = options.labels === undefined ? undefined : parseLabels(await readLabels(options.labels))
  const { db, store } = context
  const style = options.style ? await styleApart(db) : undefined
  const rows = await chooseFrames(db, { labels, apart: style?.apart, sample })
  const asked = await loadSample(db, store, rows)
  const truths: Truths = {
    people: valuesBy('person', rows),
    labels: labels ?? valuesBy('notes', rows),
    measured: await measure(asked, context.config.readingLanguages),
  }
  const runs: ModelRun[] = []
  for (const vision of models) runs.push(await ask(context, vision, asked))
  const shown = openHouseStyle(store, style)
  if (shown)
    runs.push({ ...(await ask(context, models[0]!, asked, shown)), model: `${models[0]!.model} with house style` })
  const reports = runs.map((run) => reportOn(run, truths))
  for (const { model, calibration } of reports.slice(0, models.length))
    if (Object.keys(calibration).length > 0) await storeCalibration(db, model, calibration)
  const [first, second] = runs
  const comparison =
    options.against !== undefined && first && second
      ? compareModels(first.answers, second.answers, bestTruths(truths))
      : undefined
  if (options.page !== undefined) {
    const titles = new Map(
      asked.videos.flatMap(({ context: video, frames }) => frames.map(({ id }) => [id, video.title])),
    )
    const pictures = await Promise.all(
      rows.map(async (row) => ({
        id: row.id,
        title: titles.get(row.id) ?? '',
        tSec: row.tMs / 1000,
        thumb: (await store.get(row.thumbKey)) ?? null,
      })),
    )
    const compared = reports.map((report, i) => ({ report, answers: runs[i]!.answers }))
    const told = comparison ? worth(reports, comparison) : []
    await writeFile(options.page, writeEvaluationPage(pictures, compared, truths, { at: new Date(), told }))
  }
  const gain = shown && gainOf(reports[0]!, reports[1]!)
  const evaluation = {
    sample: rows.length,
    models: reports,
    // With `--against`: the two models on the same values. With `--style`: how much agreement with people rose.
    ...(comparison ? { comparison } : {}),
    ...(gain ? { gain } : {}),
  }
  const lines = () => [
    `${rows.length} frames. Nothing in the library was changed; the calls count against the budget.`,
    ...reports.flatMap(describe),
    ...(comparison ? ['', ...worth(reports, comparison)] : []),
    ...Object.entries(gain ?? {}).map(([name, by]) => `Gain by the house style, ${name}: ${by.toFixed(2)}`),
  ]
  return [evaluation, lines]
}

/** The corrections made until now as a style, without those on which the gain is measured. */
async function styleApart(db: Db): Promise<{ version: string; corrections: Correction[]; apart: Correction[] }> {
  const { examples, apart } = holdApart(await loadCorrections(db))
  if (apart.length === 0)
    throw new CliError('Some corrections are held out, by video. Correct frames of at least two videos first.')
  return { version: styleVersion(examples), corrections: examples, apart }
}

async function chooseFrames(
  db: Db,
  given: { labels: ReadonlyMap<string, Truth> | undefined; apart: readonly Correction[] | undefined; sample: number },
): Promise<FrameRow[]> {
  const named = given.labels ? [...given.labels.keys()] : given.apart?.map(({ frameId }) => frameId)
  const rows = named ? await loadFrames(db, named.slice(0, given.sample)) : await sampleForEvaluation(db, given.sample)
  if (rows.length > 0) return rows
  throw new CliError(
    named ? 'No label names a frame of this library.' : 'The library has no frames. Add a video first: frames add.',
  )
}

function gainOf(before: ModelReport, after: ModelReport): Partial<Record<AnnotatedAttribute, number>> {
  return Object.fromEntries(
    ANNOTATED.flatMap((attribute) => {
      const [from, to] = [before, after].map(({ agreement }) => agreement.people[attribute]?.agreement ?? null)
      return from == null || to == null ? [] : [[attribute, to - from]]
    }),
  )
}

/** The settings for each model. @throws CliError without an endpoint, or without a price that a budget needs */
function toModels(vision: VisionConfig | undefined, options: Options): VisionConfig[] {
  if (!vision) throw usage('There is no vision endpoint. Set VISION_BASE_URL and VISION_MODEL.')
  const name = options.model ?? vision.model
  if (options.against === name) throw usage('--against must name another model than --model.')
  if (options.style && (options.against !== undefined || options.labels !== undefined))
    throw usage('--style compares one model with itself on corrections. Leave out --against and --labels.')
  if (options.against === undefined && options.againstPrice !== undefined)
    throw usage('--against-price needs --against.')
  const models = [toModel(vision, name, '--price', options.price)]
  if (options.against !== undefined)
    models.push(toModel(vision, options.against, '--against-price', options.againstPrice))
  return models
}

function toModel(vision: VisionConfig, model: string, option: string, price: string | undefined): VisionConfig {
  const own = model === vision.model ? { priceIn: vision.priceIn, priceOut: vision.priceOut } : {}
  const given = price === undefined ? own : toPrice(option, price)
  if (vision.budgetPerDay !== undefined && given.priceOut === undefined)
    throw usage(`VISION_BUDGET_DAY needs the price of ${model}. Give ${option} <in,out> in dollars per million tokens.`)
  return { ...vision, model, priceIn: undefined, priceOut: undefined, ...given }
}

function toPrice(option: string, text: string): { priceIn: number; priceOut: number } {
  const [priceIn = Number.NaN, priceOut = Number.NaN, ...more] = text.split(',').map(Number)
  if (!(priceIn >= 0 && priceOut >= 0) || more.length > 0)
    throw usage(`${option} must be two numbers such as 0.20,1.25: dollars per million tokens in and out.`)
  return { priceIn, priceOut }
}

async function readLabels(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new CliError(`The labels file ${path} cannot be read.`)
  })
}

/** What can be measured without a model: face, zone and words. */
async function measure(
  { videos, techniques }: EvaluationSample,
  languages: ReadingLanguages,
): Promise<Map<string, Truth>> {
  const { openMeasuring } = await import('../workers/annotator.ts')
  await using measuring = openMeasuring(languages)
  const measured = new Map<string, Truth>()
  for (const { context, frames } of videos) {
    const { annotations } = await measuring.annotate(context, frames, {
      signal: new AbortController().signal,
      techniques,
    })
    for (const { frameId, values } of annotations) {
      const truth = ANNOTATED.flatMap((attribute) => {
        const given = values[attribute]
        return given && given.value !== null && given.source !== 'rule' ? [[attribute, [given.value]] as const] : []
      })
      measured.set(frameId, Object.fromEntries(truth))
    }
  }
  return measured
}

async function ask(
  { db, openQueues }: CommandContext,
  vision: VisionConfig,
  sample: EvaluationSample,
  style?: HouseStyle,
): Promise<ModelRun> {
  const { openModel } = await import('../workers/annotator.ts')
  const { DEFAULT_PREFIX } = await import('../queue/queues.ts')
  const { redis } = await openQueues()
  await using annotator: Annotator = await openModel(vision, {
    db,
    redis,
    prefix: DEFAULT_PREFIX,
    answers: NO_CACHE,
    style,
  })
  // Awaited here: the annotator closes at the end of this function.
  return await askModel(db, { annotator, sample, rules: vision })
}

/** A cached answer shows neither the model's latency nor its refusals, so an evaluation uses no cache. */
const NO_CACHE = { get: async () => null, set: async () => undefined }

function describe(report: ModelReport): string[] {
  const { latency_ms: latency } = report
  const lines = [
    '',
    report.model,
    `  ${report.frames} frames answered, ${report.refused} refused, ${report.failed} failed`,
    `  ${report.calls} calls, ${report.broken_calls} broken`,
    `  Time of a call: median ${ms(latency.median)}, p95 ${ms(latency.p95)}, p99 ${ms(latency.p99)}`,
    `  ${dollars(report.cost_per_1000_frames)} for 1,000 frames (${dollars(report.cost_usd)} now)`,
  ]
  if (report.stopped) lines.push(`  Ended early: ${report.stopped.message}`)
  for (const source of ['people', 'labels', 'measured'] as const)
    for (const attribute of ANNOTATED) {
      const score = report.agreement[source][attribute]
      if (score)
        lines.push(
          `  ${attribute.padEnd(15)} ${source.padEnd(9)} ${agreementText(score)}, ` +
            `${score.answered} of ${score.compared} answered`,
        )
    }
  for (const band of report.calibration.all ?? [])
    lines.push(
      `  confidence ${band.from.toFixed(1)} to ${band.to.toFixed(1)}: ` +
        `said ${share(band.mean_confidence)}, right ${share(band.agreed)} (${band.n} values)`,
    )
  return lines
}

/** `frames style`: the corrections that models are shown as examples. */
export function defineStyle(command: Command): void {
  const part = (name: string, description: string) => command.command(name).description(description)
  const toShown = ({ version, takenAt, corrections }: TakenStyle) => {
    return { version, taken_at: takenAt, frames: corrections.length }
  }
  answers(
    part('take', 'show models the corrections made until now, from the next start of the workers'),
    async ({ db }) => {
      const style = await takeStyle(db)
      if (!style) throw new CliError('Nobody has corrected a frame yet. Correct some, then take the style.')
      return [
        toShown(style),
        () => [
          `${style.corrections.length} corrected frames are the house style now (${style.version}).`,
          'Restart the workers to use it. Frames are described again only on request: frames reannotate.',
        ],
      ]
    },
  )
  answers(part('show', 'say which style is taken'), async ({ db }) => {
    const style = await findStyle(db)
    const shown = style && toShown(style)
    const line = shown && `${shown.version}: ${shown.frames} corrected frames, taken ${shown.taken_at}.`
    return [{ style: shown ?? null }, () => line ?? 'No style is taken.']
  })
  answers(part('drop', 'show models no examples, from the next start of the workers'), async ({ db }) => {
    const dropped = await dropStyle(db)
    return [{ dropped }, () => (dropped ? 'Dropped. Restart the workers.' : 'No style was taken.')]
  })
  addExamples(command, ...EXAMPLES)
}

const EXAMPLES = ['style take', 'style show', 'style drop', 'evaluate --style']
