import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { describeIssue, firstOfEach, invalid, typeName } from '../errors.ts'
import { canonicalKey } from '../parameters.ts'
import type { EngineName } from '../search/library-search.ts'
import { type Fields, isFields } from './protocol.ts'
import { describeTool, type Tool } from './tool.ts'

/** The arguments of a call as models write them, what is wrong with them, and the cursor among them. */

/**
 * What models write instead of an argument's name. The first group is understood everywhere, the second only where the
 * argument is required: `id` of a tool that needs one thing is that thing.
 */
const ALSO_CALLED: Readonly<Record<string, readonly [always: readonly string[], ifRequired?: readonly string[]]>> = {
  query: [['q', 'search', 'term', 'text']],
  frame_id: [
    ['frame', 'frame_ids', 'frames'],
    ['id', 'ids', 'image_url', 'url'],
  ],
  frame_ids: [['frame_id', 'frame', 'frames', 'ids', 'id', 'image_urls', 'image_url', 'urls', 'url']],
  video_id: [
    ['video', 'video_ids', 'videos'],
    ['id', 'frame_id', 'source_url', 'video_url', 'image_url', 'url', 'title', 'video_title'],
  ],
  board_id: [['board', 'board_name', 'id', 'name']],
  name: [['board_name', 'board', 'title', 'new_name']],
  author: [['authors', 'brand', 'brands', 'channel']],
  color: [['colors', 'colour', 'colours']],
  technique: [['techniques']],
  from_sec: [['from', 'start', 'start_sec', 'after_sec']],
  to_sec: [['to', 'end', 'end_sec', 'until', 'before_sec']],
  cursor: [['next_cursor', 'page', 'page_number']],
  url: [['urls', 'video_url', 'video_urls', 'source_url', 'address', 'link', 'links']],
  limit: [['n', 'count', 'top_k', 'max_results', 'num_results', 'per_page', 'page_size']],
}

/** What models wrap arguments in: `{ query, filters: { tone: "dark" } }`. */
const WRAPPERS = ['filters', 'filter', 'where', 'options', 'arguments', 'params']

/** Orders as models call them. */
const SORTS: Readonly<Record<string, string>> = {
  latest: 'newest',
  recent: 'newest',
  date: 'newest',
  strongest: 'strength',
  popular: 'strength',
  relevant: 'relevance',
  score: 'relevance',
}

/**
 * The arguments of one call under the names of the tool's schema, and what was read otherwise than it was written. A
 * null is an absent argument.
 */
export type ArgumentReader = (given: Fields) => { args: Fields; notes: string[] }

export function argumentReader(tool: Tool): ArgumentReader {
  const { properties, required } = describeTool(tool).inputSchema
  const schemas = (properties ?? {}) as Record<string, { type?: string; maximum?: number; enum?: string[] }>
  const declared = new Set(Object.keys(schemas))
  const texts = new Set([...declared].filter((name) => schemas[name]?.type === 'string'))
  const meant = new Map<string, string[]>()
  for (const name of declared) {
    const [always, ifRequired = []] = ALSO_CALLED[name] ?? [[]]
    const needed = (required as string[] | undefined)?.includes(name)
    for (const other of needed ? [...always, ...ifRequired] : always)
      if (!declared.has(other)) meant.set(other, [...(meant.get(other) ?? []), name])
  }
  return (wrapped) => {
    const given = unwrapped(wrapped)
    const notes: string[] = []
    // Entries, because an argument may be called `__proto__`.
    const read: [string, unknown][] = []
    // What has one meaning first: what has several means what is left.
    const byMeanings = Object.entries(given).sort(([one], [other]) => namesOf(one).length - namesOf(other).length)
    for (const [written, whole] of byMeanings) {
      if (whole === null) continue
      const name = nameOf(written, given, read)
      const value = name === 'not' && isFields(whole) ? opposites(whole) : withoutNulls(whole)
      if (name === 'limit') read.push([name, readLimit(value, notes)])
      else if (name === 'sort') read.push([name, readSort(single(name, value), notes)])
      else if (name !== 'cursor' || name === written || !isNumber(value)) read.push([name, single(name, value)])
      // The first page has no cursor.
      else if (Number(value) !== 1) read.push([name, pageCursor(Number(value))])
    }
    return { args: Object.fromEntries(read), notes }
  }

  /** The filters to leave out have the names of the filters. */
  function opposites(given: Fields): Fields {
    const entries = Object.entries(given).filter(([, value]) => value !== null)
    return Object.fromEntries(entries.map(([written, value]) => [nameOf(written, given), value]))
  }

  /** More than the most is the most. */
  function readLimit(value: unknown, notes: string[]): unknown {
    const most = schemas.limit?.maximum
    if (most === undefined || !isNumber(value) || Number(value) <= most) return value
    notes.push(`limit ${value} was read as ${most}, the most of ${tool.name}.`)
    return most
  }

  function readSort(value: unknown, notes: string[]): unknown {
    const orders = schemas.sort?.enum
    if (typeof value !== 'string' || !orders || orders.includes(value)) return value
    const plain = snakeCase(value.slice(0, MAX_NAME))
    const meant = Object.hasOwn(SORTS, plain) ? SORTS[plain]! : plain
    if (orders.includes(meant)) return meant
    if (meant !== 'relevance' || !orders.includes('newest')) return value
    notes.push(`sort ${value} was read as newest: without words no frame is more relevant. search_frames takes words.`)
    return 'newest'
  }

  /** A list where one value is due: of one value that value, of the words of a question the question. */
  function single(name: string, value: unknown): unknown {
    if (!Array.isArray(value) || !texts.has(name)) return value
    if (name === 'query' && value.every((word) => typeof word === 'string')) return value.join(' ')
    return value.length === 1 ? value[0] : value
  }

  /** A name that could only mean arguments that are given too stays as it was written: one of them is wrong. */
  function nameOf(written: string, given: Fields, read: readonly [string, unknown][] = []): string {
    if (declared.has(written)) return written
    const isFree = (name: string) => (given[name] ?? null) === null && !read.some(([taken]) => taken === name)
    return namesOf(written).find(isFree) ?? written
  }

  function namesOf(written: string): readonly string[] {
    if (declared.has(written) || written.length > MAX_NAME) return []
    const plain = snakeCase(written)
    return declared.has(plain) ? [plain] : (meant.get(plain) ?? [])
  }
}

/** Clients that know all arguments send a null for each that is not given, within an argument too. */
function withoutNulls(value: unknown, depth = MAX_DEPTH): unknown {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1))
  if (!isFields(value)) return value
  const given = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(given.map(([name, inner]) => [name, withoutNulls(inner, depth - 1)]))
}

/** No argument is nested deeper: a list of steps with their filters. */
const MAX_DEPTH = 3

const MAX_NAME = 60

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^\d{1,9}$/.test(value))

/** What wrappers hold, beside the rest. One that repeats an argument stays, and is refused: one of the two is wrong. */
function unwrapped(given: Fields): Fields {
  let flat = given
  for (const name of WRAPPERS) {
    const { [name]: inner, ...rest } = flat
    if (!isFields(inner) || Object.keys(inner).some((key) => Object.hasOwn(flat, key))) continue
    flat = { ...rest, ...inner }
  }
  return flat
}

/** `frameId` and `frame-id` as `frame_id`. */
export function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
}

/** More frames in full would be more than clients take: some 140,000 characters. */
const MOST_IN_FULL = 24

/** Parsed arguments with a limit that `detail: full` keeps, also where it is the tool's own; told in `notes`. */
export function boundInFull(parsed: unknown, notes: string[]): unknown {
  const { detail, limit = 0 } = parsed as { detail?: string; limit?: number }
  if (detail !== 'full' || limit <= MOST_IN_FULL) return parsed
  notes.push(`limit ${limit} was read as ${MOST_IN_FULL}, the most with detail: full.`)
  return { ...(parsed as Fields), limit: MOST_IN_FULL }
}

/** What takes arguments. */
type Taker = Pick<Tool, 'name' | 'input'>

const MAX_ISSUES = 8
const MAX_UNKNOWN = 20

/**
 * What is wrong with a call's arguments, for a model to correct: which one, what it was, what is allowed. `finder`: the
 * tool that takes most filters, named where it takes what is unknown here.
 */
export function explainArguments(tool: Taker, given: Fields, error: z.ZodError, finder?: Taker): string {
  const lines = firstOfEach(error.issues)
    .slice(0, MAX_ISSUES)
    .map((issue) => explainIssue(tool, given, issue, finder))
  return `The arguments of ${tool.name} are not valid:\n${lines.join('\n')}`
}

function explainIssue(tool: Taker, given: Fields, issue: z.core.$ZodIssue, finder?: Taker): string {
  if (issue.code === 'unrecognized_keys' && issue.path.length === 0) {
    const names = issue.keys.slice(0, MAX_UNKNOWN).map((name) => `"${name.slice(0, 60)}"`)
    const elsewhere = finder ? argumentNames(finder).filter((name) => issue.keys.includes(name)) : []
    const help = elsewhere.length > 0 ? `. ${finder!.name} takes ${elsewhere.join(', ')}` : ''
    return `unknown argument ${names.join(', ')}; ${tool.name} takes ${argumentNames(tool).join(', ') || 'none'}${help}`
  }
  // A single value may stand for a list of one: name the argument as it was written.
  const written = issue.path.filter((_, at) => at === 0 || typeof valueAt(given, issue.path.slice(0, at)) === 'object')
  const value = valueAt(given, written)
  const path = written.join('.')
  if (value === undefined && issue.code === 'invalid_type')
    return `${path}: is required and must be ${typeName(issue.expected)}`
  if (Array.isArray(value) && issue.code === 'invalid_type')
    return `${path}${shown(value)}: takes one; call ${tool.name} for each`
  return `${path}${shown(value)}: ${describeIssue(issue)}`
}

function shown(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return ` (got a list of ${value.length})`
  if (typeof value === 'object' && value !== null) return ' (got an object)'
  return ` (got ${JSON.stringify(value).slice(0, 60)})`
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Fields)[key as string] : undefined),
    given,
  )
}

function argumentNames(tool: Taker): string[] {
  return Object.keys((tool.input as unknown as { shape?: object }).shape ?? {})
}

/** An opaque cursor: a page number, a fingerprint of the arguments, which fits no other question, and the engine. */
export function toCursor(tool: string, args: Record<string, unknown>, page: number, engine?: EngineName): string {
  return Buffer.from(`${page}.${fingerprint(tool, args)}.${engine ?? ''}`).toString('base64url')
}

/** What stands for a cursor where the number of a page was given. Lists without numbered pages refuse it. */
const pageCursor = (page: number): string => `${PAGE}${page}`
const PAGE = 'page-'
export const isPageCursor = (cursor: string | undefined): boolean => cursor?.startsWith(PAGE) ?? false

/**
 * The page that a cursor, or its number, stands for; 1 without one.
 * @throws AppError invalid_request for anything but a cursor of the same arguments, or the number of a page.
 */
export function readCursor(tool: string, args: Record<string, unknown>, cursor: string | undefined) {
  if (cursor === undefined) return { page: 1 }
  if (isPageCursor(cursor)) return { page: readPage(cursor.slice(PAGE.length)) }
  const match = /^([1-9]\d{0,6})\.([\w-]+)\.(postgres|meilisearch)?$/.exec(
    Buffer.from(cursor, 'base64url').toString('latin1'),
  )
  if (!match || match[2] !== fingerprint(tool, args))
    throw invalid('cursor', 'cursor: unknown. Pass next_cursor of the previous result with the same other arguments.')
  return { page: Number(match[1]), engine: match[3] as EngineName | undefined }
}

function fingerprint(tool: string, args: Record<string, unknown>): string {
  const key = `${tool} ${canonicalKey({ ...args, cursor: undefined })}`
  return createHash('sha256').update(key).digest('base64url').slice(0, 8)
}

function readPage(number: string): number {
  if (!/^[1-9]\d{0,3}$/.test(number)) throw invalid('page', 'page: must be a whole number from 1 to 9999.')
  return Number(number)
}
