import { z } from 'zod'
import { operationOf } from '../../api/endpoints.ts'
import { plural } from '../../clean-text.ts'
import { AppError, invalid } from '../../errors.ts'
import { priceOf } from '../../http/endpoint.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import type { ShownFrame } from '../../search/library-search.ts'
import { isPageCursor } from '../arguments.ts'
import { frameLines, toLink, videosOf } from '../present.ts'
import type { Tool, ToolApp, ToolContext } from '../tool.ts'
import { frameIds } from '../values.ts'

/** What the tools of a person's saves and boards share. They call the same library functions as the HTTP API. */

/** Scope, plan and price of the operation that does the same over HTTP. */
export function rightsOf(id: string): Pick<Tool, 'scope' | 'allowLapsedPlan' | 'price'> {
  const operation = operationOf(id)
  const { scope = null, allowLapsedPlan = false } = operation
  return { scope, allowLapsedPlan, price: priceOf(operation) }
}

/** A write takes all or none of them. */
export const frameIdsArgument = frameIds(MOST_ITEMS).describe('Ids or image URLs')

export const frameIdList = z.array(z.string())

export function accountOf({ caller }: ToolContext): string {
  if (!caller) throw new Error('an account tool ran without a caller')
  return caller.account.id
}

const NO_PAGES = 'page: this list has no numbered pages. Leave it out, then pass next_cursor of each result as cursor.'

/** Names a bad cursor as the tools' argument does. */
export async function withCursorNamed<T>(cursor: string | undefined, list: Promise<T>): Promise<T> {
  try {
    return await list
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error
    if (error.details?.some(({ path }) => path !== 'after')) throw error
    if (isPageCursor(cursor)) throw invalid('page', NO_PAGES)
    throw invalid('cursor', 'cursor: unknown. Pass next_cursor of the previous result.')
  }
}

/**
 * The frames of `rows` in their order, as text below `heading`, as links and with their videos. The read model may not
 * hold some of them yet.
 */
export async function presentRows<T extends { frameId: string; note?: string | null }>(
  { search, publicUrl }: ToolApp,
  rows: readonly T[],
  heading: string,
) {
  const frames = await search.framesByIds(rows.map((row) => row.frameId))
  const found = new Map(frames.map((frame) => [frame.id, frame]))
  const shown: { row: T; frame: ShownFrame }[] = []
  for (const row of rows) {
    const frame = found.get(row.frameId)
    if (frame) shown.push({ row, frame })
  }
  const presented = shown.map(({ row, frame }) => ({ document: frame, note: row.note }))
  const lines = frameLines(presented, publicUrl, { detail: 'compact', withVideo: true })
  return {
    shown,
    text: [heading, ...lines, ...lateNote(rows.length - shown.length)].join('\n'),
    links: shown.map(({ frame }) => toLink(frame, publicUrl)),
    videos: videosOf(shown.map(({ frame }) => frame)),
  }
}

function lateNote(late: number): string[] {
  return late > 0 ? [`(${plural(late, 'frame')} not shown yet: the library is still updating.)`] : []
}
