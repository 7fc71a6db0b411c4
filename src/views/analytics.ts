import { z } from 'zod'
import { invalid } from '../errors.ts'
import { countedThrough, type Figure, type FigureRow } from '../library/analytics/figures.ts'
import { brandIdOf, type DocumentKind, type LibraryDocuments, type LibrarySearch } from '../search/library-search.ts'
import { type Cell, toCsv } from './export.ts'

const DAY_MS = 86_400_000
const USUAL_DAYS = 30
const MOST_DAYS = 366
const FIRST_DAY = '1970-01-01'

export const dayParameter = z.iso
  .date('must be a day such as 2026-11-22')
  .refine((day) => day >= FIRST_DAY, `must be a day from ${FIRST_DAY} on`)

const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/**
 * The range of days in UTC, both included; by default the last 30 with today.
 * @throws AppError invalid_request for one that ends before it begins or is longer than a year.
 */
export function toDayRange(
  given: { from?: string | undefined; to?: string | undefined },
  now = Date.now(),
): { from: string; to: string } {
  const to = given.to ?? toDay(now)
  const from = given.from ?? toDay(Date.parse(to) - (USUAL_DAYS - 1) * DAY_MS)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) throw invalid('from', `from: ${from} is after to (${to}). Give an earlier day, or a later to.`)
  if (days > MOST_DAYS)
    throw invalid('from', `from: ${from} to ${to} is ${days} days. Ask for at most ${MOST_DAYS} days at once.`)
  return { from, to }
}

/** What the keys of a row name: by frame, video, brand or technique. Null: the library no longer has it. */
export const namedShape = {
  title: z.string().nullable().optional().describe('Of the video, brand or technique that the key names.'),
  author: z.string().nullable().optional(),
  image_url: z.url().nullable().optional(),
}
export const NAMES = Object.keys(namedShape) as (keyof typeof namedShape)[]
type Named = { title: string | null; author: string | null; image_url: string | null }

interface ReportDeps {
  db: Parameters<typeof countedThrough>[0]
  search: Pick<LibrarySearch, 'documents'>
  publicUrl: string
}

/** A table of figures over a range of days, with titles and pictures where its rows name something. */
export async function readReport(
  { db, search, publicUrl }: ReportDeps,
  figure: Figure,
  {
    by = figure.by[0],
    limit,
    ...days
  }: { by?: string | undefined; limit: number; from?: string | undefined; to?: string | undefined },
) {
  const range = toDayRange(days)
  const counted_through = await countedThrough(db, figure.lateMs)
  let rows: (FigureRow & Partial<Named>)[] = await figure.read(db, by, { ...range, limit })
  const name = await namesOf(search, publicUrl, by, rows)
  if (name) rows = rows.map((row) => ({ ...row, ...name(row.key) }))
  return { ...range, by, counted_through, rows }
}

/** Undefined where keys name nothing that has a title. */
async function namesOf(
  search: Pick<LibrarySearch, 'documents'>,
  publicUrl: string,
  by: string,
  rows: readonly FigureRow[],
): Promise<((key: string | null) => Named) | undefined> {
  const keys = rows.flatMap(({ key }) => key ?? [])
  const named = (title: string, author: string | null, path: string | null): Named => {
    return { title, author, image_url: path === null ? null : publicUrl + path }
  }
  const found = async <K extends DocumentKind>(
    kind: K,
    toNamed: (document: LibraryDocuments[K]) => Named,
    toId = (key: string) => key,
  ) => {
    const documents = await search.documents(kind, keys.map(toId))
    return (key: string | null): Named => {
      const document = key === null ? undefined : documents.get(toId(key))
      return document ? toNamed(document) : { title: null, author: null, image_url: null }
    }
  }
  if (by === 'frame') return found('frames', ({ video, author, thumb_path }) => named(video.title, author, thumb_path))
  if (by === 'video') return found('videos', ({ title, author, image_path }) => named(title, author, image_path))
  if (by === 'technique') return found('techniques', ({ name, image_path }) => named(name, null, image_path))
  if (by === 'brand') return found('brands', ({ name, image_path }) => named(name, name, image_path), brandIdOf)
  return undefined
}

/** A line of names, then one for each row, for spreadsheets. */
export const toReportCsv = (names: readonly string[], rows: readonly Record<string, Cell | undefined>[]): string =>
  toCsv([names, ...rows.map((row) => names.map((name) => row[name] ?? null))])
