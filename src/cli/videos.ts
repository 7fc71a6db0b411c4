import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { brandEndpoints, videoEndpoints } from '../api/videos.ts'
import { plural, span } from '../clean-text.ts'
import type { Config } from '../config.ts'
import { type Db, isConnectionLoss } from '../db/client.ts'
import { VIDEO_STATUSES, type VideoRow, type VideoStatus } from '../db/schema/videos.ts'
import { AppError } from '../errors.ts'
import { type AnnotatorStatus, findAnnotatorStatus } from '../library/annotator/active-annotator.ts'
import { describeProgress } from '../library/annotator/progress.ts'
import { cancelVideo, deleteVideo, retryVideo, whatGoesWith } from '../library/videos/lifecycle.ts'
import { explainFrames, listVideos, reportVideo, type VideoReport } from '../library/videos/video-status.ts'
import { OVER } from '../library/videos/videos.ts'
import { answers, type CommandContext, parseInteger, type Result, withContext } from './context.ts'
import { defineOperation, defineOperations } from './operations.ts'
import {
  addExamples,
  ageOf,
  type Column,
  complain,
  isTerminal,
  type Line,
  openRedraw,
  print,
  requireConsent,
  type Style,
  say,
  table,
} from './terminal.ts'

export function defineEdit(command: Command): void {
  addExamples(command, 'edit <video> --title "Our launch" --author Acme', 'edit <video> --published-at ""')
  defineOperation(command, videoEndpoints, { of: 'editVideo' })
}

/** `frames brands`: a brand is the author of videos and has no row of its own. */
export function defineBrands(group: Command): void {
  const wait = async (answer: unknown) => {
    if ((answer as { videos: number }).videos === 0)
      throw new AppError('not_found', 'No video has the first brand. Write it as its videos do.')
    return answer
  }
  defineOperations(group, brandEndpoints, { merge: { of: 'mergeBrands', args: ['from', 'into'], wait } })
  addExamples(group, 'brands merge "Acme inc" Acme')
}

interface ChangeOptions {
  again?: boolean
  yes?: boolean
  json?: boolean
}

interface Changed {
  id: string
  status?: string
  error?: string
}

/** Changes one video. Gives its row, or nothing when it was deleted. */
type Change = (context: CommandContext, id: string, options: ChangeOptions) => Promise<VideoRow | undefined>

// `frames retry | cancel | delete` take several videos and go on after one that cannot be changed.

export function defineRetry(command: Command): void {
  addExamples(command, 'retry <video>', 'retry --again <video>')
  defineChange(command, ({ db }, id, { again }) => retryVideo(db, id, { again: again ?? false })).option(
    '--again',
    'ready videos too, for a newer detector (frames that people saved, pinned or corrected stay)',
  )
}

export function defineCancel(command: Command): void {
  addExamples(command, 'cancel <video>')
  defineChange(command, ({ db }, id) => cancelVideo(db, id))
}

export function defineDelete(command: Command): void {
  addExamples(command, 'delete <video>', 'delete --yes <video>')
  const remove: Change = async ({ db }, id) => {
    await deleteVideo(db, id)
    return undefined
  }
  defineChange(command, remove, requireConsentTo).option('-y, --yes', 'do not ask')
}

/** Deletes nothing before it was said what goes with the videos. */
async function requireConsentTo(
  context: CommandContext,
  ids: readonly string[],
  { yes }: ChangeOptions,
): Promise<void> {
  const lost = await whatGoesWith(context.db, ids)
  // None of the ids is a video: the report of each says so.
  if (lost.videos === 0) return
  const people = lost.accounts > 0 ? ` of ${plural(lost.accounts, 'account')}` : ''
  const parts = `${plural(lost.frames, 'frame')}, ${plural(lost.saves, 'save')} and ${plural(lost.pins, 'pin')}`
  await requireConsent(`${plural(lost.videos, 'video')} with ${parts}${people}`, yes)
}

/** `first` may throw before anything is changed. */
function defineChange(command: Command, change: Change, first?: typeof requireConsentTo): Command {
  return command.argument('<video...>', 'video ids').action((ids: string[], options: ChangeOptions) =>
    withContext(async (context) => {
      await first?.(context, ids, options)
      await changeEach(context, ids, options, change)
    }),
  )
}

async function changeEach(
  context: CommandContext,
  ids: readonly string[],
  options: ChangeOptions,
  change: Change,
): Promise<void> {
  const results: Changed[] = []
  for (const id of ids) {
    try {
      const row = await change(context, id, options)
      results.push({ id, status: row?.status ?? 'deleted' })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      results.push({ id, error: error.message })
      process.exitCode = 1
    }
  }
  const changed = results.filter((result) => !result.error)
  if (!options.json) for (const result of results) if (result.error) complain(toLine(result))
  if (options.json || changed.length > 0) print(options.json, { videos: results }, () => changed.map(toLine))
}

function toLine({ id, status, error }: Changed): string {
  return `${id}  ${error ?? status}`
}

type Stage = VideoReport['stages'][number]

const STYLES: Partial<Record<VideoReport['status'], Style>> = { ready: 'green', failed: 'red', cancelled: 'dim' }

const COLUMNS: readonly Column<VideoReport>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'STATUS', cell: ({ status }) => ({ text: status, style: STYLES[status] ?? 'cyan' }) },
  { heading: 'PROGRESS', cell: toOutcome },
  { heading: 'AGE', cell: ({ added_at }) => ageOf(added_at), align: 'right', terminalOnly: true },
  { heading: 'TITLE', cell: ({ title }) => title },
]

/** A line for each video: id, status, how far it is or what it gave, title. */
const videoTable = (videos: readonly VideoReport[]): Line[] => table(videos, COLUMNS)

function toOutcome({ status, frame_count, failure, stages }: VideoReport): string {
  if (status === 'ready') return plural(frame_count, 'frame')
  if (failure) return `${failure.code}: ${failure.message}`
  const stage = stages.at(-1)
  if (stage?.stage !== status) return '–'
  return toProgress(stage) + (stage.left_sec ? `, about ${span(stage.left_sec)} left` : '')
}

/** Everything about one video. */
function describeVideo(video: VideoReport): Line[] {
  const { costs } = video
  const tokens = costs.input_tokens + costs.output_tokens
  const lines: Line[] = [
    // Everything: nothing is cut to the width of the terminal.
    ...table([video], COLUMNS, isTerminal(), Number.POSITIVE_INFINITY),
    `  source    ${video.source_url ?? 'a file'} (${video.platform}${video.author ? `, ${video.author}` : ''})`,
    ...(video.published_at ? [`  published ${video.published_at.slice(0, 10)}`] : []),
    `  attempts  ${video.attempts}${video.backfill ? ', back-fill' : ''}`,
  ]
  if (video.reannotating > 0) lines.push(`  again     ${video.reannotating} frames wait for a new description`)
  lines.push(...video.stages.map(toStageLine))
  if (video.detector) lines.push(`  detector  ${video.detector.version}`)
  if (video.annotator) lines.push(`  annotator ${video.annotator}`)
  if (costs.calls > 0) lines.push(`  cost      ${costs.calls} calls, ${tokens} tokens, $${costs.cost_usd.toFixed(4)}`)
  return lines
}

/** The problem when frames cannot be described, then how far it is and what it costs. */
export function describeAnnotator(status: AnnotatorStatus, { vision }: Pick<Config, 'vision'>): string[] {
  const { problem } = status
  const lines = problem ? [`! ${problem.code}: ${problem.message} (since ${problem.since})`] : []
  return [...lines, ...describeProgress(status, vision?.budgetPerDay)]
}

function toStageLine(stage: Stage): string {
  const end = stage.finished_at ? new Date(stage.finished_at) : new Date()
  const seconds = (end.getTime() - new Date(stage.started_at).getTime()) / 1000
  const rate = stage.rate_per_sec ? `, ${stage.rate_per_sec} a second` : ''
  const running = stage.finished_at ? '' : ', running'
  return `  ${stage.stage.padEnd(10)} ${toProgress(stage)}  ${seconds.toFixed(1)} s${rate}${running}`
}

function toProgress({ done, total }: Stage): string {
  return total === null ? String(done) : `${done} of ${total}`
}

const LOOK_EVERY_MS = 300
/** 128 and the number of SIGINT, as shells count. */
const INTERRUPTED = 130

/**
 * Waits until no video is in progress. On a terminal it draws their state again and again. In a pipe it prints a line
 * whenever a video's status changes. Ctrl-C ends the waiting, and says that the work goes on.
 */
export async function followVideos(
  db: Db,
  ids: readonly string[],
  { quiet = false }: { quiet?: boolean } = {},
): Promise<VideoReport[]> {
  const show = quiet ? undefined : await openView()
  const interrupted = () => {
    show?.end()
    complain('Stopped waiting. The work continues: frames status shows how far it is.')
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', interrupted)
  try {
    for (;;) {
      const reports = await reportAll(db, ids)
      // Undefined while the database restarts.
      if (reports) show?.draw(reports)
      if (reports?.every(({ status }) => OVER.includes(status))) return reports
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    process.off('SIGINT', interrupted)
    show?.end()
  }
}

async function reportAll(db: Db, ids: readonly string[]): Promise<VideoReport[] | undefined> {
  const reports: VideoReport[] = []
  try {
    for (const id of ids) {
      const report = await reportVideo(db, id).catch((error: unknown) => {
        // Deleted in the meantime.
        if (error instanceof AppError) return undefined
        throw error
      })
      if (report) reports.push(report)
    }
    return reports
  } catch (error) {
    if (isConnectionLoss(error)) return undefined
    throw error
  }
}

interface View {
  draw(reports: readonly VideoReport[]): void
  end(): void
}

async function openView(): Promise<View> {
  // A terminal without a size, as of a container, shows no drawing.
  if (!isTerminal() || !(process.stdout.rows > 0)) return openLines()
  const screen = await openRedraw()
  return { draw: (reports) => screen.draw(fitted(reports, process.stdout.rows - 2)), end: screen.end }
}

/** The lines that fit on the screen: videos in progress, and counts of the others. */
function fitted(reports: readonly VideoReport[], rows: number): Line[] {
  if (reports.length + 1 <= rows) return videoTable(reports)
  const working = reports.filter(({ status }) => !OVER.includes(status))
  const counts = OVER.map((status) => [reports.filter((report) => report.status === status).length, status] as const)
  const over = counts.filter(([count]) => count > 0).map(([count, status]) => `${count} ${status}`)
  const shown = working.slice(0, Math.max(1, rows - 2))
  return [...videoTable(shown), [...over, `${working.length} in progress`].join(', ')]
}

function openLines(): View {
  const known = new Map<string, string>()
  return {
    draw(reports) {
      const changed = reports.filter(({ id, status }) => known.get(id) !== status)
      for (const { id, status } of changed) known.set(id, status)
      say(...videoTable(changed))
    },
    end: () => undefined,
  }
}

interface StatusOptions {
  explain?: boolean
  status?: VideoStatus
  limit: string
}

export function defineStatus(command: Command): void {
  addExamples(command, 'status', 'status --status failed', 'status <video> --explain')
  command
    .argument('[video]', 'video id')
    .option('--explain', 'say for each frame why it was kept, and what was passed over')
    .addOption(new Option('--status <status>', 'only videos with this status').choices(VIDEO_STATUSES))
    .option('--limit <n>', 'number of videos', '20')
  answers(command, (context, id: string | undefined, options: StatusOptions) =>
    id === undefined ? showVideos(context, options) : showVideo(context, id, options.explain),
  )
}

async function showVideos({ db, config }: CommandContext, options: StatusOptions): Promise<Result> {
  const limit = parseInteger('--limit', options.limit, { min: 1, max: 1_000 })
  const videos = await listVideos(db, { statuses: options.status && [options.status], limit })
  const annotator = await findAnnotatorStatus(db)
  const lines = () => [
    ...describeAnnotator(annotator, config),
    ...(videos.length === 0 ? ['No videos yet: frames add <file> --wait'] : videoTable(videos)),
  ]
  return [{ annotator, videos }, lines]
}

async function showVideo({ db }: Pick<CommandContext, 'db'>, id: string, explain?: boolean): Promise<Result> {
  const video = await reportVideo(db, id)
  const explained = explain ? await explainFrames(db, id) : undefined
  const lines = () => [...describeVideo(video), ...(explained ? explainedLines(explained) : [])]
  return [{ video, ...explained }, lines]
}

function explainedLines({ frames, passed_over }: Awaited<ReturnType<typeof explainFrames>>): string[] {
  const width = Math.max(1, ...frames.map(({ id }) => id.length))
  const lines = [
    ...frames.map(({ t_ms, kind, id, reason }) => ({
      t_ms,
      line: `${kind.padEnd(5)}  ${id.padEnd(width)}  ${reason}`,
    })),
    ...passed_over.map(({ t_ms, reason }) => ({ t_ms, line: `-      ${'-'.padEnd(width)}  Not kept: ${reason}.` })),
  ]
  return lines.sort((a, b) => a.t_ms - b.t_ms).map(({ t_ms, line }) => `  ${toClock(t_ms)}  ${line}`)
}

/** `mm:ss.mmm` */
function toClock(ms: number): string {
  const minutes = String(Math.floor(ms / 60_000)).padStart(2, '0')
  const seconds = String(Math.floor(ms / 1_000) % 60).padStart(2, '0')
  return `${minutes}:${seconds}.${String(ms % 1_000).padStart(3, '0')}`
}
