import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { SubmissionDetails } from '../library/videos/submit.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { requireKnown } from './context.ts'
import { type CliError, usage } from './failure.ts'
import { similarNames } from './similar-names.ts'

export interface VideoEntry {
  source: string
  details: SubmissionDetails
  /** Its line in a CSV file, or its number in a JSON array. Both from 1. */
  line?: number
  entry?: number
  /** Why the entry cannot be used. */
  error?: string
}

const COLUMNS = ['source', 'title', 'author', 'platform']

const ListEntry = z.object({
  source: z.string().min(1),
  title: z.string().optional(),
  author: z.string().optional(),
  platform: z.string().optional(),
})

type Place = { line: number } | { entry: number }

/**
 * Reads a list for `frames add --from`. An entry's own details win over the shared ones.
 * @throws CliError for a list that cannot be understood as a whole
 */
export async function readVideoList(path: string, shared: SubmissionDetails): Promise<VideoEntry[]> {
  const content = await readFile(path, 'utf8').catch(() => {
    throw usage(`The list ${path} cannot be read.`)
  })
  if (content.trimStart().startsWith('['))
    return parseJsonList(content).map((entry, index) => toVideoEntry(entry, { entry: index + 1 }, shared))
  return (await parseCsvList(content)).map(({ record, line }) => toVideoEntry(record, { line }, shared))
}

function parsePlatform(given: string | undefined): Platform | undefined {
  return given === undefined ? undefined : requireKnown('platform', given, PLATFORMS)
}

function toVideoEntry(entry: unknown, place: Place, shared: SubmissionDetails): VideoEntry {
  const record = typeof entry === 'string' ? { source: entry } : entry
  const parsed = ListEntry.safeParse(isObject(record) ? { ...record, source: record.source ?? record.url } : record)
  if (!parsed.success)
    return { source: '(no source)', details: {}, ...place, error: 'The entry needs a source: a file or a URL.' }
  const { source, title, author, platform } = parsed.data
  try {
    if (isObject(record)) requireColumns(Object.keys(record), 'The entry has an unknown field')
    const details = {
      ...shared,
      title: title || undefined,
      author: author || shared.author,
      platform: parsePlatform(platform || undefined) ?? shared.platform,
    }
    return { source, details, ...place }
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
