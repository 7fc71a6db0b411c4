import type { Response } from 'express'
import { z } from 'zod'
import { jsonPieces } from '../library/json-pieces.ts'
import type { Parameters } from '../parameters.ts'
import { PLATFORMS } from '../vocabulary.ts'
import type { PinnedFrame, SavedFrame } from './collections.ts'

/** One frame of an exported collection, with its credit and the way back to its source. */
const ExportedFrame = z.strictObject({
  frame_id: z.string(),
  credit: z.string(),
  video_title: z.string(),
  author: z.string().nullable(),
  platform: z.enum(PLATFORMS),
  t_sec: z.number(),
  source_url: z.string().nullable(),
  image_url: z.url(),
  caption: z.string().nullable(),
  steal: z.string().nullable(),
  note: z.string().nullable(),
  added_at: z.iso.datetime(),
})
const COLUMNS = Object.keys(ExportedFrame.shape) as (keyof typeof ExportedFrame.shape)[]

export const exportShape = { exported_at: z.iso.datetime(), items: z.array(ExportedFrame) }

export type ExportRow = z.infer<typeof ExportedFrame>

export function toExportRow(item: SavedFrame | PinnedFrame): ExportRow {
  return {
    frame_id: item.id,
    credit: creditOf(item),
    video_title: item.video.title,
    author: item.author,
    platform: item.platform,
    t_sec: item.t_sec,
    source_url: item.source_url ?? item.video.source_url,
    image_url: item.image_url,
    caption: item.caption,
    steal: item.steal,
    note: 'note' in item ? item.note : null,
    added_at: 'saved_at' in item ? item.saved_at : item.pinned_at,
  }
}

export async function* asRows(batches: Download['batches']): AsyncGenerator<ExportRow[]> {
  for await (const frames of batches) yield frames.map(toExportRow)
}

/** “Title” by Author, platform, at 0:12.5 */
function creditOf({ video, t_sec }: Pick<SavedFrame, 'video' | 't_sec'>): string {
  const minutes = Math.floor(t_sec / 60)
  const [whole, rest] = (t_sec - minutes * 60).toFixed(3).split('.') as [string, string]
  const seconds = whole.padStart(2, '0') + `.${rest}`.replace(/\.?0+$/, '')
  return `“${video.title}”${video.author ? ` by ${video.author}` : ''}, ${video.platform}, at ${minutes}:${seconds}`
}

export type Cell = string | number | null

/** Lines of RFC 4180. */
const csvLines = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')

/** After a byte order mark, so that spreadsheets read UTF-8. */
export const toCsv = (rows: readonly (readonly Cell[])[]): string => `\uFEFF${csvLines(rows)}`

/** The first line. */
export const CSV_HEAD = toCsv([COLUMNS])

export const toCsvLines = (rows: readonly ExportRow[]): string =>
  csvLines(rows.map((row) => COLUMNS.map((column) => row[column])))

/**
 * An apostrophe goes before text that a spreadsheet would run as a formula. That is at the start of a cell, and after a
 * sign that separates cells in some countries' spreadsheets.
 */
export function csvCell(value: Cell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const inside = value.replace(/([;\t\r\n] *)(?=[=+\-@＝＋－＠])/gu, "$1'")
  const safe = /^[\s]*[=+\-@\t\r\n＝＋－＠]/u.test(value) ? `'${inside}` : inside
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Exports: one collection as a file, in JSON or CSV. */

export const exportParameters = {
  format: { schema: z.enum(['json', 'csv']), description: 'json (default) or csv.' },
} as const satisfies Parameters

export interface Exchange {
  res: Response
  sendPieces(pieces: AsyncIterable<string>, type: string): Promise<void>
}

interface Download {
  format?: 'json' | 'csv' | undefined
  name: string
  /** Members of the JSON before its items. */
  about?: object
  batches: AsyncIterable<readonly (SavedFrame | PinnedFrame)[]>
}

/** Sends a file in batches. */
export async function sendDownload(
  exchange: Exchange,
  { format = 'json', name, about = {}, batches }: Download,
): Promise<undefined> {
  exchange.res.set('Content-Disposition', `attachment; filename="${name}.${format}"`)
  const rows = asRows(batches)
  if (format === 'json') return sendList(exchange, { ...about, exported_at: new Date() }, 'items', rows)
  await exchange.sendPieces(csvPieces(rows), 'text/csv; charset=utf-8')
}

/** Sends an object with a long list at its end, in batches. */
export async function sendList(
  { sendPieces }: Pick<Exchange, 'sendPieces'>,
  about: object,
  name: string,
  batches: AsyncIterable<readonly object[]>,
): Promise<undefined> {
  await sendPieces(jsonPieces(about, { [name]: batches }), 'application/json; charset=utf-8')
}

async function* csvPieces(batches: AsyncIterable<readonly ExportRow[]>) {
  let head = CSV_HEAD
  for await (const rows of batches) {
    yield head + toCsvLines(rows)
    head = ''
  }
  if (head !== '') yield head
}
