import { z } from 'zod'
import { operationOf } from '../../api/endpoints.ts'
import { plural } from '../../clean-text.ts'
import { AppError, invalid } from '../../errors.ts'
import { priceOf } from '../../http/endpoint.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { isPageCursor } from '../arguments.ts'
import type { Detail } from '../present.ts'
import type { Tool, ToolApp, ToolContext } from '../tool.ts'
import { frameIds } from '../values.ts'
import { presentFrames } from './frames.ts'

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

/** The frames of `rows` in their order, below `heading`. The read model may not hold some of them yet. */
export async function presentRows(
  deps: ToolApp,
  rows: readonly { frameId: string; note?: string | null }[],
  heading: string,
  detail: Detail,
) {
  const frames = await deps.search.framesByIds(rows.map((row) => row.frameId))
  const found = new Map(frames.map((frame) => [frame.id, frame]))
  const shown = rows.flatMap(({ frameId, note }) => {
    const document = found.get(frameId)
    return document ? [{ document, note }] : []
  })
  const late = rows.length - shown.length
  const lateNote = late > 0 ? `\n(${plural(late, 'frame')} not shown yet: the library is still updating.)` : ''
  return presentFrames(deps, heading + lateNote, shown, { detail, images: 0, withVideo: true })
}
