import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { AppError, invalid } from '../../errors.ts'
import { pointsForFrames } from '../../http/rate-limit/budgets.ts'
import type { LibrarySearch, ShownFrame } from '../../search/library-search.ts'
import { frameLines, plural } from '../present.ts'
import { atMost, Id, splitCommas, type ToolContext } from '../tool.ts'

/** What the tools of a person's saves and boards share. They call the same library functions as the HTTP API. */

export interface AccountToolDeps {
  db: Db
  search: LibrarySearch
  publicUrl: string
}

/** The most frames one write takes: all or none of them. */
export const MAX_IDS = 100
export const frameIdsArgument = z
  .preprocess((value) => atMost(MAX_IDS, splitCommas(value)), z.array(Id).min(1).max(MAX_IDS))
  .describe('One or many frame ids')
/** A write of many frames costs a point a frame. */
export function pointsOfFrames({ frame_ids }: Record<string, unknown>): number {
  const ids = splitCommas(frame_ids)
  return pointsForFrames(Array.isArray(ids) ? Math.min(ids.length, MAX_IDS) : 1)
}

export const frameIdList = z.array(z.string())

export function accountOf({ caller }: ToolContext): string {
  if (!caller) throw new Error('an account tool ran without a caller')
  return caller.account.id
}

/** Names a bad cursor as the tools' argument does. */
export async function withCursorNamed<T>(list: Promise<T>): Promise<T> {
  try {
    return await list
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error
    throw invalid('cursor', 'cursor: unknown. Pass next_cursor of the previous answer.')
  }
}

/** The frames of `rows`, in their order. `late` counts those that the read model does not hold yet. */
export async function withFrames<T extends { frameId: string }>(search: LibrarySearch, rows: readonly T[]) {
  const frames = await search.framesByIds(rows.map((row) => row.frameId))
  const found = new Map(frames.map((frame) => [frame.id, frame]))
  const shown: { row: T; frame: ShownFrame }[] = []
  for (const row of rows) {
    const frame = found.get(row.frameId)
    if (frame) shown.push({ row, frame })
  }
  return { shown, late: rows.length - shown.length }
}

export function linesOf(frame: ShownFrame, publicUrl: string): string {
  return frameLines(frame, publicUrl, { detail: 'compact', withVideo: true })
}

export function lateNote(late: number): string[] {
  return late > 0 ? [`(${plural(late, 'frame')} not shown yet: the library is still updating.)`] : []
}
