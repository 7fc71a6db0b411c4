import type { Response } from 'express'
import { z } from 'zod'
import type { Parameters } from '../parameters.ts'
import { type ExportRow, toCsv } from '../views/export.ts'

/** What the exports share: one collection as a file, in JSON or CSV. */

export const exportParameters = {
  format: { schema: z.enum(['json', 'csv']), description: 'json (default) or csv.' },
} as const satisfies Parameters

/** Names the file. Sends CSV itself; the JSON answer is returned. */
export function toDownload(
  res: Response,
  { format = 'json', name, rows }: { format?: 'json' | 'csv'; name: string; rows: ExportRow[] },
): { exported_at: string; items: ExportRow[] } | undefined {
  res.set('Content-Disposition', `attachment; filename="${name}.${format}"`)
  if (format === 'json') return { exported_at: new Date().toISOString(), items: rows }
  res.type('text/csv; charset=utf-8').send(toCsv(rows))
  return undefined
}
