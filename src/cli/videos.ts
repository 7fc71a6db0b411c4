import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { parse as parseCsv } from 'csv-parse/sync'
import { z } from 'zod'
import { VIDEO_STATUSES, type VideoRow, type VideoStatus } from '../db/schema/videos.ts'
import { AppError } from '../errors.ts'
import { findHeldBack } from '../events/read.ts'
import { type AnnotatorStatus, findAnnotatorStatus } from '../library/annotator/annotator-status.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../library/videos/lifecycle.ts'
import { fetchability, type SubmissionDetails, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { explainFrames, listVideos, reportVideo, type VideoReport } from '../library/videos/video-status.ts'
import { tooLarge } from '../media/media-store.ts'
import { QUEUES, type QueueName } from '../queue/jobs.ts'
import { NEVER_REACHED } from '../queue/work.ts'
import { findSource as resolveSource } from '../video/source/source.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { CliError, type CommandContext, print, withContext } from './context.ts'

interface AddOptions {
  title?: string
  author?: string
  platform?: string
  backfill?: boolean
  priority?: string
  from?: string
  wait?: boolean
  json?: boolean
}

interface Line {
  source: string
  details: SubmissionDetails
  /** Its number in the list, counted from 1. */
  line?: number
  /** Why the entry itself cannot be used. */
  error?: string
}

interface Outcome {
  source: string
  line?: number
  video?: { id: string; status: VideoStatus; title: string }
  created?: boolean
  error?: string
}

export function addVideoCommands(program: Command): void {
  program
    .command('add')
    .description('queue videos: files of this machine or https addresses; the same source twice is one video')
    .argument('[source...]', 'files or URLs')
    .option('--title <text>', 'title (one source only)')
    .option('--author <name>', 'brand or channel')
    .option('--platform <name>', `one of ${PLATFORMS.join(', ')}`)
    .option('--backfill', 'behind all live work')
    .option('--priority <n>', '0 first … 1000 last', '0')
    .option(
      '--from <file>',
      'a list: CSV with a header (source,title,author,platform) or a JSON array; a report per line',
    )
    .option('--wait', 'follow the work until every video is ready or failed')
    .option('--json', 'one JSON object')
    .action((sources: string[], options: AddOptions) => withContext((context) => add(context, sources, options)))

  program
    .command('status')
    .description('where a video stands, or the newest videos')
    .argument('[video]', 'video id')
    .option('--explain', 'why each frame was kept')
    .option('--status <status>', 'only videos of this status')
    .option('--limit <n>', 'how many', '20')
    .option('--json', 'one JSON object')
    .action((id: string | undefined, options: { explain?: boolean; status?: string; limit: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        if (id === undefined) {
          const list = await listVideos(db, { status: toStatus(options.status), limit: toLimit(options.limit) })
          const annotator = await findAnnotatorStatus(db)
          print(options.json, { annotator, videos: list }, () => [
            ...describeAnnotator(annotator),
            ...(list.length === 0 ? ['No videos yet: frames add <file> --wait'] : list.map(oneLine)),
          ])
          return
        }
        const video = await reportVideo(db, id)
        const frames = options.explain ? await explainFrames(db, id) : undefined
        print(options.json, { video, ...(frames ? { frames } : {}) }, () => [
          ...describe(video),
          ...(frames ?? []).map(
            (frame) => `  ${clock(frame.t_ms)}  ${frame.kind.padEnd(5)}  ${frame.id}  ${frame.reason}`,
          ),
        ])
      }),
    )

  const change = (
    name: string,
    description: string,
    act: (context: CommandContext, id: string, options: { again?: boolean }) => Promise<VideoRow | undefined>,
  ) =>
    program
      .command(name)
      .description(description)
      .argument('<video...>', 'video ids')
      .option('--json', 'one JSON object')
      .action((ids: string[], options: { again?: boolean; json?: boolean }) =>
        withContext(async (context) => {
          const results: { id: string; status?: string; error?: string }[] = []
          for (const id of ids) {
            try {
              const row = await act(context, id, options)
              results.push({ id, status: row?.status ?? 'deleted' })
            } catch (error) {
              if (!(error instanceof AppError)) throw error
              results.push({ id, error: error.message })
              process.exitCode = 1
            }
          }
          const said = (result: (typeof results)[number]) => `${result.id}  ${result.error ?? result.status}`
          const done = results.filter((result) => !result.error)
          if (!options.json) for (const result of results) if (result.error) console.error(said(result))
          if (options.json || done.length > 0) print(options.json, { videos: results }, () => done.map(said))
        }),
      )
  change('retry', 'put failed or cancelled videos back into the queue', ({ db }, id, { again }) =>
    retryVideo(db, id, { again: again ?? false }),
  ).option('--again', 'also ready ones, for a newer detector; frames that people saved, pinned or corrected stay')
  change('cancel', 'stop the work on videos', ({ db }, id) => cancelVideo(db, id))
  change('delete', 'take videos out of the library, with their frames, saves and pins', async ({ db }, id) => {
    await deleteVideo(db, id)
    return undefined
  })

  for (const [name, description] of [
    ['pause', 'stop taking up jobs (those in hand are finished)'],
    ['resume', 'take up jobs again'],
  ] as const)
    program
      .command(name)
      .description(description)
      .argument('[queue...]', `of ${QUEUES.join(', ')}; all unless told`)
      .option('--json', 'one JSON object')
      .action((given: string[], options: { json?: boolean }) =>
        withContext(async ({ queues }) => {
          const names = toQueueNames(given)
          await queues.ready()
          for (const queue of names) {
            if (name === 'pause') await queues.get(queue).pause()
            else {
              await queues.get(queue).resume()
              // Also the rest that a wrong key or a spent budget made.
              await queues.get(queue).removeRateLimitKey()
            }
          }
          print(
            options.json,
            { queues: names, paused: name === 'pause' },
            () => `${name === 'pause' ? 'Paused' : 'Resumed'}: ${names.join(', ')}`,
          )
        }),
      )

  program
    .command('queues')
    .description('what waits, runs and failed, per queue; with --drain waits until nothing is left')
    .option('--drain', 'wait until every queue is empty')
    .option('--json', 'one JSON object')
    .action((options: { drain?: boolean; json?: boolean }) =>
      withContext(async ({ db, queues }) => {
        await queues.ready()
        const count = () =>
          Promise.all(
            QUEUES.map(async (queue) => {
              const {
                active = 0,
                failed = 0,
                ...waiting
              } = await queues.get(queue).getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed')
              return {
                queue,
                paused: await queues.get(queue).isPaused(),
                rests_ms: Math.max(0, await queues.get(queue).getRateLimitTtl(NEVER_REACHED)),
                waiting: 0,
                prioritized: 0,
                delayed: 0,
                ...waiting,
                active,
                failed,
              }
            }),
          )
        let counts = await count()
        while (options.drain && counts.some((entry) => left(entry) > 0)) {
          await sleep(500)
          counts = await count()
        }
        const annotator = await findAnnotatorStatus(db)
        const held = await findHeldBack(db)
        const heldBack = held && { events: held.events, since: held.since.toISOString() }
        print(options.json, { queues: counts, annotator, events_held_back: heldBack }, () => [
          ...counts.map(
            (entry) =>
              `${entry.queue.padEnd(18)} ${String(left(entry)).padStart(6)} to do, ${entry.active} running${entry.failed ? `, ${entry.failed} failed` : ''}${entry.paused ? ', paused' : ''}${entry.rests_ms > 0 ? `, rests ${Math.ceil(entry.rests_ms / 1000)} s` : ''}`,
          ),
          ...describeAnnotator(annotator),
          ...(held && Date.now() - held.since.getTime() > HELD_BACK_TOLD_MS
            ? [
                `! ${held.events} events wait since ${held.since.toISOString()} for a transaction that stays open on this PostgreSQL server: see pg_stat_activity (backend_xid) and pg_prepared_xacts`,
              ]
            : []),
        ])
      }),
    )
}

/** Readers of the event log stop below the oldest open transaction: for a moment that is the usual thing. */
const HELD_BACK_TOLD_MS = 10_000

/** One clear line when nothing can be asked, and what asking has cost. */
function describeAnnotator(annotator: AnnotatorStatus): string[] {
  const { present, problem, waiting, last_24_h } = annotator
  return [
    ...(problem ? [`! ${problem.code}: ${problem.message} (since ${problem.since})`] : []),
    ...(waiting > 0 ? [`${waiting} frames wait to be described again by ${present ?? 'a worker'}`] : []),
    ...(last_24_h.calls > 0 ? [`${last_24_h.calls} calls in 24 hours, $${last_24_h.cost_usd.toFixed(4)}`] : []),
  ]
}

function left({
  waiting,
  prioritized,
  active,
  delayed,
}: Record<'waiting' | 'prioritized' | 'active' | 'delayed', number>): number {
  return waiting + prioritized + active + delayed
}

function toQueueNames(given: readonly string[]): QueueName[] {
  for (const name of given)
    if (!(QUEUES as readonly string[]).includes(name))
      throw new CliError(`No queue is called ${name}; there are ${QUEUES.join(', ')}.`)
  return given.length > 0 ? (given as QueueName[]) : [...QUEUES]
}

async function add(context: CommandContext, sources: string[], options: AddOptions): Promise<void> {
  const shared: SubmissionDetails = {
    title: options.title,
    author: options.author,
    platform: toPlatform(options.platform),
    backfill: options.backfill,
    priority: toPriority(options.priority),
  }
  const lines: Line[] = [
    ...sources.map((source) => ({ source, details: shared })),
    ...(options.from ? await readList(options.from, shared) : []),
  ]
  if (lines.length === 0) throw new CliError('Name at least one file or URL, or a list with --from.')
  if (options.title && lines.length > 1) throw new CliError('--title goes with one source; a list has a title column.')
  const outcomes: Outcome[] = []
  for (const line of lines) {
    const outcome: Outcome = {
      ...(line.line === undefined ? {} : { line: line.line }),
      ...(await addOne(context, line)),
    }
    outcomes.push(outcome)
    if (!options.json)
      console.log(
        outcome.error
          ? `✗ ${outcome.line === undefined ? '' : `line ${outcome.line}, `}${outcome.source}: ${outcome.error}`
          : `${outcome.created ? '+' : '='} ${outcome.video!.id}  ${outcome.video!.title}${outcome.created ? '' : ` (already here, ${outcome.video!.status})`}`,
      )
  }
  if (options.wait) await follow(context, outcomes, options.json ?? false)
  if (outcomes.some((outcome) => outcome.error !== undefined || outcome.video?.status === 'failed'))
    process.exitCode = 1
  if (options.json) console.log(JSON.stringify({ videos: outcomes }))
}

async function addOne(
  { db, store, config }: CommandContext,
  { source, details, error: unusable }: Line,
): Promise<Outcome> {
  if (unusable !== undefined) return { source, error: unusable }
  try {
    const { video, created } = /^[a-z][a-z0-9+.-]*:\/\//i.test(source)
      ? await submitUrl(db, source, resolveSource, {
          ...details,
          fetchable: fetchability({ ytdlp: config.ytdlpPath !== undefined }),
        })
      : await addFile(source, details)
    return { source, video: { id: video.id, status: video.status, title: video.title }, created }
  } catch (error) {
    if (error instanceof AppError || error instanceof CliError) return { source, error: error.message }
    throw error
  }

  async function addFile(path: string, given: SubmissionDetails) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) throw new CliError('This is a folder; name the files in it.')
    if (!found?.isFile()) throw new CliError('There is no such file, or it cannot be read.')
    // Told before gigabytes are read and hashed.
    if (found.size > config.maxUploadBytes) throw tooLarge(config.maxUploadBytes)
    const stream = createReadStream(path)
    try {
      return await submitUpload(db, store, stream, {
        filename: basename(path),
        maxBytes: config.maxUploadBytes,
        details: () => given,
      })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES') throw new CliError('The file cannot be read.')
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
        throw new CliError('The disk that holds the library is full.')
      throw error
    } finally {
      stream.destroy()
    }
  }
}

/** Prints a line whenever something moved, until nothing is in work. */
async function follow({ db }: CommandContext, outcomes: Outcome[], quiet: boolean): Promise<void> {
  const shown = new Map<string, string>()
  for (;;) {
    let working = 0
    for (const outcome of outcomes) {
      if (!outcome.video) continue
      const report = await reportVideo(db, outcome.video.id).catch((error: unknown) => {
        if (error instanceof AppError) return undefined
        throw error
      })
      if (!report) continue
      outcome.video.status = report.status
      outcome.video.title = report.title
      if (!['ready', 'failed', 'cancelled'].includes(report.status)) working++
      const line = oneLine(report)
      if (!quiet && shown.get(report.id) !== line) console.log(line)
      shown.set(report.id, line)
    }
    if (working === 0) return
    await sleep(300)
  }
}

export function oneLine(video: VideoReport): string {
  const stage = video.stages.at(-1)
  const part =
    stage && video.status === stage.stage
      ? `  ${stage.done}${stage.total === null ? '' : ` of ${stage.total}`}${stage.left_sec ? `, ${stage.left_sec} s left` : ''}`
      : ''
  const end =
    video.status === 'ready'
      ? `  ${video.frame_count} frames`
      : video.failure
        ? `  ${video.failure.code}: ${video.failure.message}`
        : part
  return `${video.id}  ${video.status.padEnd(10)}${end}  ${video.title}`
}

function describe(video: VideoReport): string[] {
  return [
    oneLine(video),
    `  source    ${video.source_url ?? 'a file'} (${video.platform}${video.author ? `, ${video.author}` : ''})`,
    `  attempts  ${video.attempts}${video.backfill ? ', back-fill' : ''}`,
    ...(video.reannotating > 0 ? [`  again     ${video.reannotating} frames wait for a new description`] : []),
    ...video.stages.map((stage) => {
      const seconds =
        ((stage.finished_at ? new Date(stage.finished_at) : new Date()).getTime() -
          new Date(stage.started_at).getTime()) /
        1000
      return `  ${stage.stage.padEnd(10)} ${stage.done}${stage.total === null ? '' : ` of ${stage.total}`}  ${seconds.toFixed(1)} s${stage.rate_per_sec ? `, ${stage.rate_per_sec} a second` : ''}${stage.finished_at ? '' : ', running'}`
    }),
    ...(video.detector ? [`  detector  ${video.detector.version}`] : []),
    ...(video.annotator ? [`  annotator ${video.annotator}`] : []),
    ...(video.costs.calls > 0
      ? [
          `  cost      ${video.costs.calls} calls, ${video.costs.input_tokens + video.costs.output_tokens} tokens, $${video.costs.cost_usd.toFixed(4)}`,
        ]
      : []),
  ]
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}.${String(ms % 1000).padStart(3, '0')}`
}

const ListEntry = z.object({
  source: z.string().min(1),
  title: z.string().optional(),
  author: z.string().optional(),
  platform: z.string().optional(),
})

async function readList(path: string, shared: SubmissionDetails): Promise<Line[]> {
  const content = await readFile(path, 'utf8').catch(() => {
    throw new CliError(`The list ${path} cannot be read.`)
  })
  const entries: unknown[] = content.trimStart().startsWith('[') ? parseJsonList(content) : parseCsvList(content)
  return entries.map((entry, n) => {
    const line = n + 1
    const record = typeof entry === 'string' ? { source: entry } : entry
    const parsed = ListEntry.safeParse(
      typeof record === 'object' && record !== null
        ? { ...record, source: (record as Record<string, unknown>).source ?? (record as Record<string, unknown>).url }
        : record,
    )
    if (!parsed.success)
      return { source: '(no source)', details: {}, line, error: 'The entry needs a source: a file or a URL.' }
    const { source, title, author, platform } = parsed.data
    try {
      const details = {
        ...shared,
        title: title || undefined,
        author: author || shared.author,
        platform: toPlatform(platform || undefined) ?? shared.platform,
      }
      return { source, details, line }
    } catch (error) {
      return { source, details: {}, line, error: (error as CliError).message }
    }
  })
}

function parseCsvList(content: string): unknown[] {
  try {
    return parseCsv(content, {
      bom: true,
      columns: (header: string[]) => header.map((name) => name.trim().toLowerCase()),
      trim: true,
      skip_empty_lines: true,
    })
  } catch (error) {
    throw new CliError(
      `The list is no CSV with a header line (source,title,author,platform): ${(error as Error).message}`,
    )
  }
}

function parseJsonList(content: string): unknown[] {
  try {
    return z.array(z.unknown()).parse(JSON.parse(content))
  } catch {
    throw new CliError('The list is not a JSON array of sources.')
  }
}

function toStatus(given: string | undefined): VideoStatus | undefined {
  const status = VIDEO_STATUSES.find((known) => known === given)
  if (given !== undefined && !status)
    throw new CliError(`No status is called ${given}; there are ${VIDEO_STATUSES.join(', ')}.`)
  return status
}

function toLimit(given: string): number {
  const limit = Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new CliError('--limit is a whole number from 1 to 1000.')
  return limit
}

function toPlatform(given: string | undefined): Platform | undefined {
  if (given === undefined) return undefined
  if (!(PLATFORMS as readonly string[]).includes(given))
    throw new CliError(`No platform is called ${given}; there are ${PLATFORMS.join(', ')}.`)
  return given as Platform
}

function toPriority(given: string | undefined): number {
  const value = Number(given ?? 0)
  if (!Number.isInteger(value) || value < 0 || value > 1_000)
    throw new CliError('--priority is a whole number from 0 to 1000.')
  return value
}
