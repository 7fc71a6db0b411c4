import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { SubmissionDetails } from '../library/videos/submit.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { requireKnown } from './context.ts'
import { CliError, usage } from './failure.ts'

export interface VideoEntry {
  source: string
  details: SubmissionDetails
  /** Its number in the list, from 1. */
  line?: number
  /** Why the entry cannot be used. */
  error?: string
}

const ListEntry = z.object({
  source: z.string().min(1),
  title: z.string().optional(),
  author: z.string().optional(),
  platform: z.string().optional(),
})

/** Reads a list for `frames add --from`. An entry's own details win over the shared ones. */
export async function readVideoList(path: string, shared: SubmissionDetails): Promise<VideoEntry[]> {
  const content = await readFile(path, 'utf8').catch(() => {
    throw new CliError(`The list ${path} cannot be read.`)
  })
  const entries = content.trimStart().startsWith('[') ? parseJsonList(content) : await parseCsvList(content)
  return entries.map((entry, index) => toVideoEntry(entry, index + 1, shared))
}

export function parsePlatform(given: string | undefined): Platform | undefined {
  return given === undefined ? undefined : requireKnown('platform', given, PLATFORMS)
}

function toVideoEntry(entry: unknown, line: number, shared: SubmissionDetails): VideoEntry {
  const record = typeof entry === 'string' ? { source: entry } : entry
  const parsed = ListEntry.safeParse(isObject(record) ? { ...record, source: record.source ?? record.url } : record)
  if (!parsed.success)
    return { source: '(no source)', details: {}, line, error: 'The entry needs a source: a file or a URL.' }
  const { source, title, author, platform } = parsed.data
  try {
    const details = {
      ...shared,
      title: title || undefined,
      author: author || shared.author,
      platform: parsePlatform(platform || undefined) ?? shared.platform,
    }
    return { source, details, line }
  } catch (error) {
    return { source, details: {}, line, error: (error as CliError).message }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

async function parseCsvList(content: string): Promise<unknown[]> {
  const { parse } = await import('csv-parse/sync')
  try {
    return parse(content, {
      bom: true,
      columns: (header: string[]) => header.map((name) => name.trim().toLowerCase()),
      trim: true,
      skip_empty_lines: true,
    })
  } catch (error) {
    const reason = (error as Error).message
    throw usage(`The list is not a CSV with the header source,title,author,platform: ${reason}`)
  }
}

function parseJsonList(content: string): unknown[] {
  try {
    return z.array(z.unknown()).parse(JSON.parse(content))
  } catch {
    throw usage('The list is not a JSON array of sources.')
  }
}
