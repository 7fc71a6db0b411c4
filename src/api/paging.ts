import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Parameters } from '../parameters.ts'

/** What the account's lists share: everything at once, or a page with a link to the next. */

const MAX_LIMIT = 500

/** A whole number from 1; a number above `max` counts as `max`. */
export function cappedNumber(max: number) {
  return z
    .string()
    .regex(/^[1-9][0-9]{0,8}$/, 'must be a whole number from 1')
    .transform((value) => Math.min(Number(value), max))
}

export const pageParameters = {
  limit: {
    schema: cappedNumber(MAX_LIMIT),
    description: `Rows per page, at most ${MAX_LIMIT} (more is capped). Without it the answer holds everything.`,
    example: '50',
  },
  after: { schema: z.string().max(100), description: 'The cursor of the previous page’s `Link: rel="next"`.' },
} as const satisfies Parameters

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
