import { createHash } from 'node:crypto'
import { invalid } from '../errors.ts'
import { canonicalKey } from '../parameters.ts'

/** An opaque cursor: a page number with a fingerprint of the arguments, so that it fits no other question. */
export function toCursor(tool: string, args: Record<string, unknown>, page: number): string {
  return Buffer.from(`${page}.${fingerprint(tool, args)}`).toString('base64url')
}

/** What stands for a cursor where the number of a page was given. Lists without numbered pages refuse it. */
export const pageCursor = (page: number): string => `${PAGE}${page}`
const PAGE = 'page-'
export const isPageCursor = (cursor: string | undefined): boolean => cursor?.startsWith(PAGE) ?? false

/**
 * The page that a cursor, or its number, stands for; 1 without one.
 * @throws AppError invalid_request for anything but a cursor of the same arguments, or the number of a page.
 */
export function readCursor(tool: string, args: Record<string, unknown>, cursor: string | undefined): number {
  if (cursor === undefined) return 1
  if (isPageCursor(cursor)) return readPage(cursor.slice(PAGE.length))
  const match = /^([1-9]\d{0,6})\.([\w-]+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (!match || match[2] !== fingerprint(tool, args))
    throw invalid('cursor', 'cursor: unknown. Pass next_cursor of the previous result with the same other arguments.')
  return Number(match[1])
}

function fingerprint(tool: string, args: Record<string, unknown>): string {
  const key = `${tool} ${canonicalKey({ ...args, cursor: undefined })}`
  return createHash('sha256').update(key).digest('base64url').slice(0, 8)
}

function readPage(number: string): number {
  if (!/^[1-9]\d{0,3}$/.test(number)) throw invalid('page', 'page: must be a whole number from 1 to 9999.')
  return Number(number)
}
