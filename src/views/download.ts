import type { Response } from 'express'
import { z } from 'zod'
import { jsonPieces } from '../library/json-pieces.ts'
import type { Parameters } from '../parameters.ts'
import { CSV_HEAD, type ExportRow, toCsvLines } from './export.ts'

/** Exports: one collection as a file, in JSON or CSV. */

export const exportParameters = {
  format: { schema: z.enum(['json', 'csv']), description: 'json (default) or csv.' },
} as const satisfies Parameters

/** Rows per batch of a long list. */
export const BATCH = 100

interface Exchange {
  res: Response
  sendPieces(pieces: AsyncIterable<string>, type: string): Promise<void>
}

interface Download {
  format?: 'json' | 'csv' | undefined
  name: string
  /** Members of the JSON before its items. */
  about?: object
  batches: AsyncIterable<readonly ExportRow[]>
}

/** Sends a file in batches. */
export async function sendDownload(
  exchange: Exchange,
  { format = 'json', name, about = {}, batches }: Download,
): Promise<undefined> {
  exchange.res.set('Content-Disposition', `attachment; filename="${name}.${format}"`)
  if (format === 'json') return sendList(exchange, { ...about, exported_at: new Date() }, 'items', batches)
  await exchange.sendPieces(csvPieces(batches), 'text/csv; charset=utf-8')
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
