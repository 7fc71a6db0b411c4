import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import type { VideoStatus } from '../db/schema/videos.ts'
import { AppError, MediaError } from '../errors.ts'
import { fetchability, type SubmissionDetails, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { tooLarge } from '../media/media-store.ts'
import { checkMagic, SNIFF_BYTES } from '../video/source/magic.ts'
import { toShownAddress } from '../video/source/shown-address.ts'
import { findSource } from '../video/source/source.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { type CommandContext, parseInteger, withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { CliError, usage } from './failure.ts'
import { followVideos } from './follow.ts'
import { print, say } from './terminal.ts'
import { readVideoList, type VideoEntry } from './video-list.ts'

interface AddOptions {
  title?: string
  author?: string
  platform?: Platform
  backfill?: boolean
  priority: string
  from?: string
  wait?: boolean
  json?: boolean
}

interface Outcome {
  source: string
  line?: number
  entry?: number
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
    .addOption(new Option('--platform <name>', 'where it was published').choices(PLATFORMS))
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
    platform: options.platform,
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
  const { source, details, error: refusal, ...place } = entry
  const named = { ...place, source: toShownAddress(source) }
  if (refusal !== undefined) return { ...named, error: refusal }
  try {
    const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(source)
    const { video, created } = isUrl ? await addUrl(context, source, details) : await addFile(context, source, details)
    return { ...named, video: { id: video.id, status: video.status, title: video.title }, created }
  } catch (error) {
    if (error instanceof AppError || error instanceof CliError || error instanceof MediaError)
      return { ...named, error: error.message }
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
  if (found.size > 0) checkMagic(await readHead(path))
  const stream = createReadStream(path)
  try {
    return await submitUpload(db, store, stream, {
      filename: basename(path),
      maxBytes: config.maxUploadBytes,
      details: () => details,
    })
  } finally {
    stream.destroy()
  }
}

/** The first bytes of a file, before all of it is copied. */
async function readHead(path: string): Promise<Uint8Array> {
  const file = await open(path).catch(() => {
    throw new CliError('The file cannot be read.')
  })
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function toOutcomeLine({ source, line, entry, video, created, error }: Outcome): string {
  const place = [line === undefined ? [] : `line ${line}, `, entry === undefined ? [] : `entry ${entry}, `].flat()
  if (error !== undefined) return `✗ ${place.join('')}${source}: ${error}`
  const { id, title, status } = video!
  return created ? `+ ${id}  ${title}` : `= ${id}  ${title} (already here, ${status})`
}

/** Waits for the videos that were added, and keeps in the outcomes how they ended. */
async function follow({ db }: CommandContext, outcomes: Outcome[], quiet: boolean): Promise<void> {
  const ids = outcomes.flatMap(({ video }) => video?.id ?? [])
  const reports = new Map((await followVideos(db, ids, { quiet })).map((report) => [report.id, report]))
  for (const { video } of outcomes) {
    const report = video && reports.get(video.id)
    if (report) Object.assign(video, { status: report.status, title: report.title })
  }
}
