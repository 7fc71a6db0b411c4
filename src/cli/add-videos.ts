import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { VideoStatus } from '../db/schema/videos.ts'
import { AppError } from '../errors.ts'
import { fetchability, type SubmissionDetails, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { reportVideo } from '../library/videos/video-status.ts'
import { tooLarge } from '../media/media-store.ts'
import { toShownAddress } from '../shown-address.ts'
import { findSource } from '../video/source/source.ts'
import { PLATFORMS } from '../vocabulary.ts'
import { type CommandContext, parseInteger, withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { CliError, usage } from './failure.ts'
import { print, say } from './terminal.ts'
import { toVideoLine } from './video-lines.ts'
import { parsePlatform, readVideoList, type VideoEntry } from './video-list.ts'

interface AddOptions {
  title?: string
  author?: string
  platform?: string
  backfill?: boolean
  priority: string
  from?: string
  wait?: boolean
  json?: boolean
}

interface Outcome {
  source: string
  line?: number
  video?: { id: string; status: VideoStatus; title: string }
  created?: boolean
  error?: string
}

export function defineAdd(command: Command): void {
  addExamples(
    command,
    'add film.mp4 --author Acme --wait',
    'add https://example.com/film.mp4 --title "A film"',
    'add --from list.csv --backfill',
  )
    .argument('[source...]', 'files or URLs')
    .option('--title <text>', 'title (with one source only)')
    .option('--author <name>', 'brand or channel')
    .option('--platform <name>', `one of ${PLATFORMS.join(', ')}`)
    .option('--backfill', 'process after all live work')
    .option('--priority <n>', 'from 0 (first) to 1000 (last)', '0')
    .option('--from <file>', 'read sources from a CSV with header source,title,author,platform or from a JSON array')
    .option('--wait', 'wait until every video is ready or has failed')
    .option('--json', 'print one JSON object')
    .action((sources: string[], options: AddOptions) => withContext((context) => addVideos(context, sources, options)))
}

async function addVideos(context: CommandContext, sources: string[], options: AddOptions): Promise<void> {
  const shared: SubmissionDetails = {
    title: options.title,
    author: options.author,
    platform: parsePlatform(options.platform),
    backfill: options.backfill,
    priority: parseInteger('--priority', options.priority, { min: 0, max: 1_000 }),
  }
  const entries: VideoEntry[] = [
    ...sources.map((source) => ({ source, details: shared })),
    ...(options.from ? await readVideoList(options.from, shared) : []),
  ]
  if (entries.length === 0) throw usage('Name at least one file or URL, or a list with --from.')
  if (options.title && entries.length > 1)
    throw usage('--title works with one source only. For several, use a list with a title column.')
  const outcomes: Outcome[] = []
  for (const entry of entries) {
    const outcome = await addOne(context, entry)
    outcomes.push(outcome)
    if (!options.json) say(toOutcomeLine(outcome))
  }
  if (options.wait) await follow(context, outcomes, options.json ?? false)
  if (outcomes.some((outcome) => outcome.error !== undefined || outcome.video?.status === 'failed'))
    process.exitCode = 1
  if (options.json) print(true, { videos: outcomes }, () => [])
}

async function addOne(context: CommandContext, entry: VideoEntry): Promise<Outcome> {
  const { source, details } = entry
  const named = { ...(entry.line === undefined ? {} : { line: entry.line }), source: toShownAddress(source) }
  if (entry.error !== undefined) return { ...named, error: entry.error }
  try {
    const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(source)
    const { video, created } = isUrl ? await addUrl(context, source, details) : await addFile(context, source, details)
    return { ...named, video: { id: video.id, status: video.status, title: video.title }, created }
  } catch (error) {
    if (error instanceof AppError || error instanceof CliError) return { ...named, error: error.message }
    throw error
  }
}

function addUrl({ db, config }: CommandContext, url: string, details: SubmissionDetails) {
  const fetchable = fetchability({ ytdlp: config.ytdlpPath !== undefined })
  return submitUrl(db, url, findSource, { ...details, fetchable })
}

async function addFile({ db, store, config }: CommandContext, path: string, details: SubmissionDetails) {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) throw new CliError('This is a folder. Name the files in it.')
  if (!found?.isFile()) throw new CliError('There is no such file, or it cannot be read.')
  // Before gigabytes are read and hashed.
  if (found.size > config.maxUploadBytes) throw tooLarge(config.maxUploadBytes)
  const stream = createReadStream(path)
  try {
    return await submitUpload(db, store, stream, {
      filename: basename(path),
      maxBytes: config.maxUploadBytes,
      details: () => details,
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') throw new CliError('The file cannot be read.')
    if (code === 'ENOSPC') throw new CliError('The disk that holds the library is full.')
    throw error
  } finally {
    stream.destroy()
  }
}

function toOutcomeLine({ source, line, video, created, error }: Outcome): string {
  if (error !== undefined) return `✗ ${line === undefined ? '' : `line ${line}, `}${source}: ${error}`
  const { id, title, status } = video!
  return created ? `+ ${id}  ${title}` : `= ${id}  ${title} (already here, ${status})`
}

/** Prints a line whenever a video moves on, until none is in progress. */
async function follow({ db }: CommandContext, outcomes: Outcome[], quiet: boolean): Promise<void> {
  const shown = new Map<string, string>()
  for (;;) {
    let inProgress = 0
    for (const outcome of outcomes) {
      if (!outcome.video) continue
      const report = await reportVideo(db, outcome.video.id).catch((error: unknown) => {
        // Deleted in the meantime.
        if (error instanceof AppError) return undefined
        throw error
      })
      if (!report) continue
      outcome.video.status = report.status
      outcome.video.title = report.title
      if (!['ready', 'failed', 'cancelled'].includes(report.status)) inProgress++
      const line = toVideoLine(report)
      if (!quiet && shown.get(report.id) !== line) say(line)
      shown.set(report.id, line)
    }
    if (inProgress === 0) return
    await sleep(300)
  }
}
