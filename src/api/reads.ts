import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Parameter, Parameters } from '../parameters.ts'
import type { ShownFrame } from '../search/library-search.ts'
import { toFrame } from '../views/frame.ts'
import { limitUpTo, requirePublicId } from '../views/parameters.ts'

/** What reads share: the library that they read, pages and cursors. */

/** The check of a path's id, for `cachedRead`. */
export function checkId(what: 'video' | 'frame'): (params: { id: string }) => void {
  return ({ id }) => requirePublicId(what, id)
}

/** `after`, with the form of this list's cursors. */
export function cursorParameter(form: RegExp) {
  const schema = z.string().regex(form, 'not a cursor of this list. Use the `next` of an earlier page')
  return { schema, description: 'The `next` of the previous page.' } as const satisfies Parameter
}

export const nextCursor = z.string().nullable().describe('Pass it as `after` for the next page; null at the end.')

export const listLimit = (fallback: number, max: number) =>
  ({
    schema: limitUpTo(max),
    description: `Rows: ${fallback} by default, at most ${max}.`,
    fallback,
  }) as const

export const afterParameter = cursorParameter(/^[A-Za-z0-9_-]{1,4000}$/)

export const MAX_LIMIT = 500

/** Of an account's list: the whole list, or a page with a link to the next. */
export const pageParameters = (form: RegExp) =>
  ({
    limit: {
      schema: limitUpTo(MAX_LIMIT),
      description: `Rows per page, at most ${MAX_LIMIT}. Without it ${MAX_LIMIT} after a cursor, else everything.`,
      example: '50',
    },
    after: cursorParameter(form),
  }) as const satisfies Parameters

/** The fields of a page beside its rows; none when the answer holds the whole list. */
export function nextOf(query: { limit?: number; after?: string }, next: string | null): { next?: string | null } {
  return query.limit === undefined && query.after === undefined ? {} : { next }
}

export const LINK = { Link: 'The next page as `<…>; rel="next"`; absent at the end.' } as const

/** Sets the absolute link to the rest of a list. */
export function linkNext(
  { req, res }: { req: Request; res: Response },
  publicUrl: string,
  { limit, next }: { limit: number | undefined; next: string | null },
): void {
  if (next === null) return
  const query = new URLSearchParams({ ...(limit === undefined ? {} : { limit: String(limit) }), after: next })
  res.set('Link', `<${publicUrl}${req.path}?${query}>; rel="next"`)
}

/** How a frame is shown for the parameters of a request. */
export function viewOf(publicUrl: string, { provenance }: { provenance?: boolean }) {
  return (document: ShownFrame) => toFrame(document, publicUrl, { provenance: provenance ?? false })
}
