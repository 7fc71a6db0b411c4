import type { Command } from 'commander'
import { plural, span } from '../clean-text.ts'
import type { VisionConfig } from '../config.ts'
import { findAnnotator, recordCheck } from '../library/annotator/active-annotator.ts'
import { expectedCostOfFrames, openLedger } from '../library/annotator/vision-spending.ts'
import { loadFrames } from '../library/frames/frames.ts'
import { sizeOfReannotation } from '../library/frames/reannotation.ts'
import { sampleNotes } from '../library/frames/record-annotations.ts'
import { loadVocabulary } from '../library/techniques/vocabulary.ts'
import { requireVideo } from '../library/videos/videos.ts'
import { type Annotator, AnnotatorUnavailable, type Finding, faultOf } from '../vision/annotator.ts'
import { CHOSEN } from '../vocabulary.ts'
import { loadImages, toContext } from '../workers/annotate-frames.ts'
import { type CommandContext, withContext } from './context.ts'
import { CliError } from './failure.ts'
import { printFindings } from './findings.ts'
import { addExamples } from './terminal.ts'

/** How many frames with notes are described for the comparison. */
const COMPARED = 8

interface Options {
  free?: boolean
  json?: boolean
}

/** `frames vision …`: whether the configured model describes frames, and what the library would cost. */
export function defineVision(group: Command): void {
  group
    .command('check')
    .description('ask the model about two squares and the samples, and say what is wrong and what the library costs')
    .option('--free', 'only what costs nothing, as at each start')
    .action((options: Options) =>
      withContext(async (context) => {
        const { vision } = context.config
        if (!vision) throw new CliError('No model is set. Set VISION, as in VISION=ollama, for service and command.')
        printFindings(options.json, { model: vision.model }, await check(context, vision, options))
      }),
    )
  addExamples(group, 'vision check', 'vision check --free')
}

async function check({ db, store, openQueues }: CommandContext, vision: VisionConfig, { free }: Options) {
  const { openModel } = await import('../workers/annotator.ts')
  const { DEFAULT_PREFIX } = await import('../queue/queues.ts')
  const { redis } = await openQueues()
  const parts = { db, redis, prefix: DEFAULT_PREFIX }
  // Workers may hold all the calls that are allowed at once.
  const limiter = { acquire: async () => ({ release() {} }) }
  await using model = openModel(vision, parts, { limiter })
  const signal = new AbortController().signal
  const techniques = (await loadVocabulary(db)).active
  const findings = (await model.inspect?.(techniques)) ?? []
  const workers = (await findAnnotator(db))?.version ?? 'nothing yet'
  const isTheirs = workers.endsWith(`+${model.version}`)
  if (isTheirs) await recordCheck(db, workers, findings)
  if (free || faultOf(findings)) return findings
  const rules = { ...vision, budgetPerVideo: undefined }
  const optionsFor = (videoId: string) => ({ signal, techniques, ledger: openLedger(db, rules, videoId) })
  try {
    const { describeSquares } = await import('../vision/model/check.ts')
    await using asked = openModel(vision, parts, { limiter, cache: undefined, maxAttempts: 1 })
    const squares = await describeSquares(asked, optionsFor('check'))
    findings.push(...squares.findings)
    if (faultOf(findings)) return findings
    const library = isTheirs
      ? { told: await costOfLibrary(db, workers, { ...vision, secondsAFrame: squares.seconds }), fault: null }
      : { told: '', fault: `The workers use ${workers}. Start them with the same VISION_* variables.` }
    findings.push({ what: 'library', ...library })
    return [...findings, ...(await compareWithNotes({ db, store }, model, optionsFor))]
  } catch (error) {
    if (error instanceof AnnotatorUnavailable) throw new CliError(error.message)
    throw error
  }
}

async function costOfLibrary(
  db: CommandContext['db'],
  annotator: string,
  { model, concurrency, secondsAFrame }: VisionConfig & { secondsAFrame: number },
): Promise<string> {
  const { frames } = await sizeOfReannotation(db, annotator, {})
  const { cost_usd } = await expectedCostOfFrames(db, model, frames)
  const price =
    cost_usd === null ? 'at an unknown price (VISION_PRICE_IN, VISION_PRICE_OUT)' : `$${cost_usd.toFixed(2)}`
  return `${plural(frames, 'frame')} to describe: about ${span((secondsAFrame / concurrency) * frames)}, ${price}`
}

type OptionsFor = (videoId: string) => Parameters<Annotator['annotate']>[2]

/** What the model says of frames that have notes, such as the samples. Its answers are kept. */
async function compareWithNotes(
  { db, store }: Pick<CommandContext, 'db' | 'store'>,
  model: Annotator,
  optionsFor: OptionsFor,
): Promise<Finding[]> {
  const notes = await sampleNotes(db, COMPARED)
  const compared: { attribute: string; isRight: boolean }[] = []
  for (const [videoId, list] of Map.groupBy(await loadFrames(db, [...notes.keys()]), (row) => row.videoId)) {
    const { frames } = await loadImages(store, list)
    const { annotations } = await model.annotate(
      toContext(await requireVideo(db, videoId)),
      frames,
      optionsFor(videoId),
    )
    for (const { frameId, values } of annotations)
      for (const attribute of CHOSEN) {
        const label = notes.get(frameId)?.[attribute]?.value
        if (label) compared.push({ attribute, isRight: values[attribute]?.value === label })
      }
  }
  const scores = [...Map.groupBy(compared, ({ attribute }) => attribute)].map(
    ([attribute, all]) => `${attribute} ${all.filter(({ isRight }) => isRight).length} of ${all.length}`,
  )
  return scores.length === 0 ? [] : [{ what: 'notes', told: `as the notes say: ${scores.join(', ')}`, fault: null }]
}
