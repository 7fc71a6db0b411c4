import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import type { VideoStatus } from '../db/schema/videos.ts'
import { AppError, MediaError, readGiven } from '../errors.ts'
import { NewDetails } from '../library/videos/details.ts'
import { type SubmissionDetails, submitUpload, submitUrl } from '../library/videos/submit.ts'
import { tooLarge } from '../media/media-store.ts'
import { checkMagic, SNIFF_BYTES } from '../video/source/magic.ts'
import { toShownAddress } from '../video/source/shown-address.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { type CommandContext, parseInteger, requireKnown, withContext } from './context.ts'
import { CliError, similarNames, usage } from './failure.ts'
import { addExamples, print, say } from './terminal.ts'
import { followVideos } from './videos.ts'

interface AddOptions {
  title?: string
  author?: string
  platform?: Platform
  publishedAt?: string
  backfill?: boolean
  priority: string
  from?: string
  wait?: boolean
  json?: boolean
}

interface VideoEntry {
  source: string
  details: SubmissionDetails
  /** Its line in a CSV file, or its number in a JSON array. Both from 1. */
  line?: number
  entry?: number
  /** Why the entry cannot be used. */
  error?: string
}

interface Outcome extends Omit<VideoEntry, 'details'> {
  video?: { id: string; status: VideoStatus; title: string }
  created?: boolean
  unchanged?: string[]
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
    .option('--published-at <date>', 'when it was published')
    .option('--backfill', 'process after all live work')
    .option('--priority <n>', 'from 0 (first) to 1000 (last)', '0')
    .option(
      '--from <file>',
      'read sources from a CSV with header source,title,author,platform,published or from a JSON array',
    )
    .option('--wait', 'wait until every video is ready or has failed')
    .action((sources: string[], options: AddOptions) => withContext((context) => addVideos(context, sources, options)))
}

async function addVideos(context: CommandContext, sources: string[], options: AddOptions): Promise<void> {
  const priority = parseInteger('--priority', options.priority, { min: 0, max: 1_000 })
  const queued = { backfill: options.backfill, priority }
  const shared = { author: options.author, platform: options.platform, published_at: options.publishedAt }
  const own = readGiven(NewDetails, { ...shared, title: options.title })
  const listed = options.from ? await readVideoList(options.from, shared) : []
  const entries = [...sources.map((source): VideoEntry => ({ source, details: own })), ...listed].map((entry) => {
    return { ...entry, details: { ...entry.details, ...queued } }
  })
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
    const { video, ...outcome } = await (isUrl ? addUrl : addFile)(context, source, details)
    return { ...named, video: { id: video.id, status: video.status, title: video.title }, ...outcome }
  } catch (error) {
    if (error instanceof AppError || error instanceof CliError || error instanceof MediaError)
      return { ...named, error: error.message }
    throw error
  }
}

function addUrl({ db, config }: CommandContext, url: string, details: SubmissionDetails) {
  return submitUrl(db, url, { ...details, ytdlp: config.ytdlpPath !== undefined })
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

function toOutcomeLine({ source, line, entry, video, created, unchanged = [], error }: Outcome): string {
  const place = [line === undefined ? [] : `line ${line}, `, entry === undefined ? [] : `entry ${entry}, `].flat()
  if (error !== undefined) return `✗ ${place.join('')}${source}: ${error}`
  const { id, title, status } = video!
  if (created) return `+ ${id}  ${title}`
  const stays = unchanged.length > 0 ? `; ${unchanged.join(', ')} unchanged: use frames edit ${id}` : ''
  return `= ${id}  ${title} (already here, ${status}${stays})`
}

/** Waits for the videos that were added, and keeps in the outcomes how they ended. */
async function follow({ db, config }: CommandContext, outcomes: Outcome[], quiet: boolean): Promise<void> {
  const ids = outcomes.flatMap(({ video }) => video?.id ?? [])
  const reports = new Map((await followVideos(db, ids, { quiet })).map((report) => [report.id, report]))
  for (const { video } of outcomes) {
    const report = video && reports.get(video.id)
    if (!report) continue
    Object.assign(video, { status: report.status, title: report.title })
    if (!quiet && report.status === 'ready') say(`${config.publicUrl}/videos/${report.id}`)
  }
}

const COLUMNS = ['source', 'title', 'author', 'platform', 'published']

/** What is empty is not said. */
const text = z
  .string()
  .transform((given) => given || undefined)
  .optional()
const ListEntry = z.object({ source: z.string().min(1), title: text, author: text, platform: text, published: text })

/** Details of every entry that does not say its own. */
type Shared = Partial<Record<'author' | 'platform' | 'published_at', string | undefined>>
type Place = { line: number } | { entry: number }

/**
 * Reads a list for `frames add --from`. An entry's own details win over the shared ones.
 * @throws CliError for a list that cannot be understood as a whole
 */
async function readVideoList(path: string, shared: Shared): Promise<VideoEntry[]> {
  const content = await readFile(path, 'utf8').catch(() => {
    throw usage(`The list ${path} cannot be read.`)
  })
  if (content.trimStart().startsWith('['))
    return parseJsonList(content).map((entry, index) => toVideoEntry(entry, { entry: index + 1 }, shared))
  return (await parseCsvList(content)).map(({ record, line }) => toVideoEntry(record, { line }, shared))
}

function toVideoEntry(entry: unknown, place: Place, shared: Shared): VideoEntry {
  const record = typeof entry === 'string' ? { source: entry } : entry
  const parsed = ListEntry.safeParse(isObject(record) ? { ...record, source: record.source ?? record.url } : record)
  if (!parsed.success)
    return { source: '(no source)', details: {}, ...place, error: 'The entry needs a source: a file or a URL.' }
  const { source, title, author, platform, published } = parsed.data
  try {
    if (isObject(record)) requireColumns(Object.keys(record), 'The entry has an unknown field')
    const details = {
      title,
      author: author ?? shared.author,
      platform: platform ? requireKnown('platform', platform, PLATFORMS) : shared.platform,
      published_at: published ?? shared.published_at,
    }
    return { source, details: readGiven(NewDetails, details), ...place }
  } catch (error) {
    return { source, details: {}, ...place, error: (error as CliError).message }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** @throws CliError that names the first column that is not known */
function requireColumns(names: readonly string[], what: string): void {
  const wrong = names.find((name) => ![...COLUMNS, 'url'].includes(name))
  if (wrong === undefined) return
  const [near] = similarNames(wrong, COLUMNS)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw usage(`${what} "${wrong}".${hint} Use ${COLUMNS.join(', ')}.`)
}

function readHeader(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase())
  if (!names.includes('source') && !names.includes('url'))
    throw usage(`The first line of the list is "${header.join(',')}". It must name its columns: ${COLUMNS.join(',')}.`)
  requireColumns(names, 'The list has an unknown column')
  return names
}

async function parseCsvList(content: string): Promise<{ record: unknown; line: number }[]> {
  const { parse } = await import('csv-parse/sync')
  let misnamed: unknown
  const columns = (header: string[]) => {
    try {
      return readHeader(header)
    } catch (error) {
      misnamed = error
      return header
    }
  }
  try {
    const options = { bom: true, columns, trim: true, skip_empty_lines: true, info: true }
    const rows = parse(content, options) as unknown as { record: Record<string, string>; info: { lines: number } }[]
    if (misnamed) throw misnamed
    // What the parser counts is the line where an entry ends: quoted values may have several.
    return rows.map(({ record, info }) => ({ record, line: info.lines - lineBreaksIn(record) }))
  } catch (error) {
    if (misnamed) throw misnamed
    const reason = (error as Error).message
    throw usage(`The list is not a CSV with the header ${COLUMNS.join(',')}: ${reason}`)
  }
}

function lineBreaksIn(record: Record<string, string>): number {
  return Object.values(record).join('').split('\n').length - 1
}

function parseJsonList(content: string): unknown[] {
  try {
    return z.array(z.unknown()).parse(JSON.parse(content))
  } catch {
    throw usage('The list is not a JSON array of sources. Use a form such as [{"source": "film.mp4"}].')
  }
}
