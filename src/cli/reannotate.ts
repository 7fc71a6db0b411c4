import type { Command } from 'commander'
import { plural } from '../clean-text.ts'
import { annotations, type FrameRow } from '../db/schema/frames.ts'
import { requireAnnotator } from '../library/annotator/active-annotator.ts'
import { expectedCostOfFrames, openLedger } from '../library/annotator/vision-spending.ts'
import type { ValueCandidate } from '../library/frames/provenance.ts'
import {
  cancelReannotation,
  diffAnswer,
  parseCondition,
  type ReannotationFilter,
  requestReannotation,
  sampleForReannotation,
  sizeOfReannotation,
  type ValueChange,
} from '../library/frames/reannotation.ts'
import { sanitizeAnnotation } from '../library/frames/sanitize-annotation.ts'
import { loadVocabulary } from '../library/techniques/vocabulary.ts'
import { requireVideo } from '../library/videos/videos.ts'
import { eq } from '../sql/orm.ts'
import { type Annotator, AnnotatorUnavailable } from '../vision/annotator.ts'
import { ANNOTATED } from '../vocabulary.ts'
import { loadImages, toContext } from '../workers/annotate-frames.ts'
import { answers, type CommandContext, parseInteger, type Result } from './context.ts'
import { CliError } from './failure.ts'
import { addExamples } from './terminal.ts'

interface Options {
  video?: string
  where?: string[]
  sample?: string
  dryRun?: boolean
  stop?: boolean
}

const SAMPLE = '8'
const MAX_SAMPLE = 500
const SHOWN_CHANGES = 40

/** `frames reannotate`: describes frames again with the active annotator. A preview shows the changes and the cost. */
export function defineReannotate(command: Command): void {
  addExamples(
    command,
    'reannotate --dry-run',
    'reannotate --where subject=missing --sample 20',
    'reannotate --video <id>',
    'reannotate --stop',
  )
  command
    .option('--video <id>', 'only this video')
    .option(
      '--where <condition...>',
      'only frames such as subject=missing, caption=measured, source=rule, status=failed, annotator=<version>',
    )
    .option('--sample <n>', 'show what would change in n frames and what all frames would cost, and store nothing')
    .option('--dry-run', `the same as --sample ${SAMPLE}`)
    .option('--stop', 'cancel what is still waiting')
  answers(command, reannotate)
}

async function reannotate(context: CommandContext, options: Options): Promise<Result> {
  const { db } = context
  if (options.video !== undefined) await requireVideo(db, options.video)
  if (options.stop) {
    const stopped = await cancelReannotation(db, { videoId: options.video })
    return [{ stopped }, () => `Cancelled: ${frames(stopped)}.`]
  }
  const filter: ReannotationFilter = { videoId: options.video, conditions: (options.where ?? []).map(parseCondition) }
  const active = await requireAnnotator(db)
  const size = await sizeOfReannotation(db, active.version, filter)
  const found = { annotator: active.version, model: active.model, ...size }
  const locked = size.locked_frames > 0 ? ` People corrected values of ${size.locked_frames} of them, which stay.` : ''
  if (options.dryRun || options.sample !== undefined) {
    const limit = parseInteger('--sample', options.sample ?? SAMPLE, { min: 1, max: MAX_SAMPLE })
    const preview = await previewSample(
      context,
      active.version,
      await sampleForReannotation(db, active.version, filter, limit),
    )
    // By the mean of the last calls, those of the preview included.
    const estimate = await expectedCostOfFrames(db, active.model, size.frames)
    const lines = () => [
      `${frames(size.frames)} of ${size.videos} videos are not described by ${active.version} yet.${locked}`,
      ...describePreview(preview),
      estimate.cost_usd === null
        ? 'Cost of all: unknown. Set VISION_PRICE_IN and VISION_PRICE_OUT to estimate it. Nothing was stored.'
        : `Cost of all: about $${estimate.cost_usd.toFixed(2)}, ${estimate.calls} calls. Nothing was stored.`,
    ]
    return [{ ...found, sample: preview, estimate }, lines]
  }
  const queued = await requestReannotation(db, active.version, filter)
  const line =
    size.frames === 0
      ? `Every matching frame is described by ${active.version} already.`
      : `${frames(queued)} of ${size.videos} videos wait for ${active.version}. ` +
        `Search shows the old values until then.${locked}`
  return [{ ...found, queued }, () => line]
}

const emptyPreview = () => ({
  frames: 0,
  changes: [] as ValueChange[],
  failed: [] as { frame_id: string; status: string; reason: string | null }[],
  calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  /** Null when no price is known. Answers from the cache cost nothing. */
  cost_usd: 0 as number | null,
})
type Preview = ReturnType<typeof emptyPreview>

/**
 * Describes some frames without storing the result. Calls are recorded and answers cached,
 * so what is paid for here is not paid for again.
 */
async function previewSample(context: CommandContext, version: string, rows: readonly FrameRow[]): Promise<Preview> {
  const { db, config, openQueues } = context
  const preview = emptyPreview()
  if (rows.length === 0) return preview
  const { openConfiguredAnnotator } = await import('../workers/annotator.ts')
  const { DEFAULT_PREFIX } = await import('../queue/queues.ts')
  const { redis } = await openQueues()
  const annotator = openConfiguredAnnotator({ config, db, redis, prefix: DEFAULT_PREFIX })
  try {
    if (annotator.version !== version)
      throw new CliError(
        `The workers use ${version}, this command ${annotator.version}. Set the same VISION_* variables for both.`,
      )
    for (const list of Map.groupBy(rows, (row) => row.videoId).values())
      await previewVideo(context, annotator, list, preview)
  } catch (error) {
    if (error instanceof AnnotatorUnavailable) throw new CliError(error.message)
    throw error
  } finally {
    await annotator[Symbol.asyncDispose]()
  }
  return preview
}

async function previewVideo(
  { db, store, config }: Pick<CommandContext, 'db' | 'store' | 'config'>,
  annotator: Annotator,
  list: readonly FrameRow[],
  preview: Preview,
) {
  const { videoId } = list[0]!
  const video = await requireVideo(db, videoId)
  const vocabulary = await loadVocabulary(db)
  const { frames: asked, lost } = await loadImages(store, list)
  for (const frame_id of lost) preview.failed.push({ frame_id, status: 'failed', reason: 'image_missing' })
  // The budget of the day holds; that of the video is for its ingestion.
  const rules = config.vision && { ...config.vision, budgetPerVideo: undefined }
  const { annotations: answers, calls } = await annotator.annotate(toContext(video), asked, {
    signal: new AbortController().signal,
    techniques: vocabulary.active,
    ledger: rules && openLedger(db, rules, videoId),
  })
  for (const call of calls) {
    preview.calls++
    preview.input_tokens += call.inputTokens ?? 0
    preview.output_tokens += call.outputTokens ?? 0
    // A failed call that reports no tokens is not charged.
    const costUsd = call.costUsd ?? (call.outcome === 'failed' ? 0 : null)
    preview.cost_usd = preview.cost_usd === null || costUsd === null ? null : preview.cost_usd + costUsd
  }
  for (const answer of answers) {
    const row = list.find((candidate) => candidate.id === answer.frameId)
    if (!row) continue
    preview.frames++
    if (answer.status !== 'annotated')
      preview.failed.push({ frame_id: row.id, status: answer.status, reason: answer.reason ?? null })
    const stored = await db.select().from(annotations).where(eq(annotations.frameId, row.id))
    const earlier = stored.map((each) => ({
      annotator: each.annotator,
      at: each.createdAt,
      values: each.values as ValueCandidate['values'],
    }))
    const { values } = sanitizeAnnotation(answer, vocabulary)
    preview.changes.push(...diffAnswer(row, earlier, { annotator: annotator.version, at: new Date(), values }))
  }
}

function describePreview(preview: Preview): string[] {
  if (preview.frames === 0) return []
  const tokens = preview.input_tokens + preview.output_tokens
  const lines = [`${frames(preview.frames)} described, ${preview.calls} calls, ${tokens} tokens:`]
  for (const attribute of ANNOTATED) {
    const changes = preview.changes.filter((change) => change.attribute === attribute)
    if (changes.length === 0) continue
    const corrected = changes.filter((change) => change.locked).length
    const open = changes.filter((change) => !change.locked)
    const filled = open.filter((change) => change.before === null).length
    const emptied = open.filter((change) => change.after === null).length
    const parts = [`${filled} filled`, `${open.length - filled - emptied} changed`, `${emptied} emptied`]
    if (corrected > 0) parts.push(`${corrected} corrected by people`)
    lines.push(`  ${attribute.padEnd(15)} ${parts.join(', ')}`)
  }
  for (const change of preview.changes.filter((each) => !each.locked).slice(0, SHOWN_CHANGES))
    lines.push(`    ${change.frame_id}  ${change.attribute}: ${short(change.before)} → ${short(change.after)}`)
  for (const { frame_id, status, reason } of preview.failed.slice(0, SHOWN_CHANGES))
    lines.push(`    ${frame_id}  ${status}: ${reason ?? 'no reason given'}`)
  return lines
}

function short(value: string | null): string {
  if (value === null) return '–'
  const line = value.replace(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 69)}…` : line
}

const frames = (n: number): string => plural(n, 'frame')
