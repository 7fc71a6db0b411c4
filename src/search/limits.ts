import { invalid } from '../errors.ts'
import type { FrameQuery } from './library-search.ts'

/** Matches that `relevance` and `variety` page through. `newest` and `strength` have no such limit. */
export const MAX_RELEVANCE_DEPTH = 20_000

/** Values counted per facet, without the rarest of a longer list. */
export const MAX_FACET_VALUES = 1_000

/** @throws AppError invalid_request for a page past the depth of an order that is not stored. */
export function refuseDepth(query: FrameQuery): void {
  const isRanked = query.sort === 'relevance' && query.q.trim() !== ''
  if (!isRanked && !query.variety) return
  if ((query.page - 1) * query.pageSize < MAX_RELEVANCE_DEPTH) return
  const what = query.variety ? 'variety=on' : 'sort=relevance'
  throw invalid(
    'page',
    `${what} goes ${MAX_RELEVANCE_DEPTH} matches deep; use sort=newest without variety to read every page.`,
  )
}

/** A page tells how many frames there are up to this number. */
export const MOST_COUNTED = 10_000

/** Where fewer conditions would find frames, more than this are not counted. */
export const MOST_LOOSENED = 20
