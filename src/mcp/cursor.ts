import { createHash } from 'node:crypto'
import { invalid } from '../errors.ts'
import { canonicalKey } from '../parameters.ts'

/** Where a list goes on: the page, tied to the question it belongs to, so that it cannot be used with another one by mistake. Opaque to callers. */
export function toCursor(tool: string, question: Record<string, unknown>, page: number): string {
  return Buffer.from(`${page}.${fingerprint(tool, question)}`).toString('base64url')
}

/** The page a cursor stands for; 1 without one. @throws AppError invalid_request for anything that is not a cursor of this very question. */
export function readCursor(tool: string, question: Record<string, unknown>, cursor: string | undefined): number {
  if (cursor === undefined) return 1
  const match = /^([1-9]\d{0,6})\.([\w-]+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (!match || match[2] !== fingerprint(tool, question))
    throw invalid('cursor', 'cursor: unknown; pass next_cursor of the previous answer, with the same other arguments')
  return Number(match[1])
}

function fingerprint(tool: string, question: Record<string, unknown>): string {
  const { cursor: _, ...rest } = question
  return createHash('sha256')
    .update(`${tool} ${canonicalKey(rest)}`)
    .digest('base64url')
    .slice(0, 8)
}
