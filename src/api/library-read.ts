import { z } from 'zod'
import type { LibrarySearch, ShownFrame } from '../search/library-search.ts'
import { toFrame } from '../views/frame.ts'
import { limitUpTo, requirePublicId } from '../views/parameter-values.ts'
import { cursorParameter } from './paging.ts'

/** Parts that the open reads of the library share. */

export interface ReadDeps {
  search: LibrarySearch
  publicUrl: string
  /** The canonical key of a pasted video URL; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
}

/** The check of a path's id, for `cachedRead`. */
export function checkId(what: 'video' | 'frame'): (params: { id: string }) => void {
  return ({ id }) => requirePublicId(what, id)
}

export const listLimit = (fallback: number, max: number) =>
  ({
    schema: limitUpTo(max),
    description: `Rows: ${fallback} by default, at most ${max}.`,
    fallback,
  }) as const

export const afterParameter = cursorParameter(/^[A-Za-z0-9_-]{1,4000}$/)

export const debugField = z
  .strictObject({
    engine: z.enum(['postgres', 'meilisearch']),
    took_ms: z.number(),
    as_of: z.iso.datetime().nullable(),
  })
  .optional()
  .describe('Only with `debug=1`.')

type Debug = NonNullable<z.infer<typeof debugField>>

export const isDebug = ({ debug }: { debug?: boolean }): boolean => debug ?? false

/** With `debug=1`, adds engine, time taken and age of the read model to an answer. */
export function explained<
  D extends { search: LibrarySearch },
  I extends { query: { debug?: boolean } },
  A extends object,
>(load: (deps: D, input: I) => Promise<A>): (deps: D, input: I) => Promise<A & { debug?: Debug }> {
  return async (deps, input) => {
    if (!isDebug(input.query)) return load(deps, input)
    const started = performance.now()
    const answer = await load(deps, input)
    const took_ms = Math.round((performance.now() - started) * 10) / 10
    const as_of = (await deps.search.asOf())?.toISOString() ?? null
    return { ...answer, debug: { engine: deps.search.engine, took_ms, as_of } }
  }
}

/** How a frame is shown for the parameters of a request. */
export function viewOf(publicUrl: string, { provenance }: { provenance?: boolean }) {
  return (document: ShownFrame) => toFrame(document, publicUrl, { provenance: provenance ?? false })
}
