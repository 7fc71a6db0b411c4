import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { notFound } from '../errors.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { endpoint } from '../http/endpoint.ts'
import { asksMuch } from '../http/rate-limit/rate-limits.ts'
import { correctFrame } from '../library/frames/corrections.ts'
import { type FramePage, MOST_CLOSE } from '../search/library-search.ts'
import { Frame, FrameHit, ReadAs, toFrame, toHit, WallFrame } from '../views/frame.ts'
import { UnknownValue, unknownValues } from '../views/nearest.ts'
import {
  filterParameters,
  flag,
  frameParameters,
  impliedSort,
  PAGE_SIZE,
  toFilters,
  toFrameQuery,
} from '../views/parameters.ts'
import { OK, Ok } from '../views/resources.ts'
import { ANNOTATED, ATTRIBUTES, byName, isListed, MAX_TEXT } from '../vocabulary.ts'
import type { App } from './app.ts'
import { checkId, listLimit, viewOf } from './reads.ts'

const FramesAnswer = z
  .strictObject({
    page: z.int().min(1),
    frames: z.array(WallFrame),
    hasMore: z.boolean().describe('A full page (120 frames) came back.'),
    facets: z.record(z.string(), z.record(z.string(), z.int())).optional().describe('Only with `facets=1`.'),
    total: z.int().optional().describe('Only with `facets=1`.'),
    read_as: ReadAs.optional().describe('Only with `facets=1` and `q`.'),
    close: z
      .array(WallFrame)
      .optional()
      .describe(
        'Only with `facets=1` and `q`, on the first page: up to 24 frames close in meaning, where fewer than ' +
          'a page meet every word. They pass the same filters and are not counted.',
      ),
    unknown: z
      .array(UnknownValue)
      .optional()
      .describe('Only with `facets=1`: brands, techniques and videos that there are not, with the nearest.'),
  })
  .meta({ id: 'FramesResponse' })
const FrameAnswer = z
  .strictObject({ frame: Frame, previous: Frame.nullable(), next: Frame.nullable() })
  .meta({ id: 'FrameResponse' })
const SimilarAnswer = z.strictObject({ frames: z.array(FrameHit) }).meta({ id: 'SimilarResponse' })

const CorrectionBody = z
  .strictObject(
    byName(ANNOTATED, (name): z.ZodType<string | null> => {
      if (ATTRIBUTES[name].role === 'written') return z.string().min(1).max(MAX_TEXT).nullable()
      return isListed(name) ? z.enum(ATTRIBUTES[name].values).nullable() : z.string().min(1).max(64).nullable()
    }),
  )
  .partial()
  .refine((body) => Object.keys(body).length > 0, `name at least one of ${ANNOTATED.join(', ')}`)
  .meta({ minProperties: 1 })

/** The fields that `facets=1` adds. */
function countsOf({ facets, total, readAs }: FramePage, unknown: z.infer<typeof UnknownValue>[]) {
  return { facets, total, ...(readAs ? { read_as: readAs } : {}), ...(unknown.length > 0 ? { unknown } : {}) }
}

export const frameEndpoints = [
  cachedRead(
    {
      id: 'listFrames',
      path: '/api/frames',
      tag: 'Library',
      summary: 'The frame wall: filter and page',
      description:
        'Filters combine: AND across attributes, OR within one. 120 frames a page; ' +
        '`hasMore` is true when a full page came back. `q` is read as people write; `read_as` says how. ' +
        '`facets=1`, `variety=on`, `sort=meaning` and a page from 100 on cost 5 points.',
      parameters: frameParameters,
      answer: FramesAnswer,
      price: 'search',
    },
    async ({ search, publicUrl }: App, { query: values }) => {
      const query = toFrameQuery(values)
      const found = await search.frames({ ...query, close: query.facets ? MOST_CLOSE : 0, asker: 'programs' })
      const view = viewOf(publicUrl, values)
      const answer = {
        page: query.page,
        frames: found.frames.map((hit) => (query.q === '' ? view(hit.document) : toHit(hit, view))),
        hasMore: found.frames.length === PAGE_SIZE,
        ...(query.facets ? countsOf(found, await unknownValues(search, query.filters)) : {}),
        ...(query.facets && found.close ? { close: found.close.map((hit) => toHit(hit, view)) } : {}),
      }
      return found.readAs?.meaning === 'unavailable' ? { passing: answer } : answer
    },
    {
      canonical: ({ sort, ...rest }) => (sort === impliedSort(rest) ? rest : { sort, ...rest }),
      raises: asksMuch,
    },
  ),

  cachedRead(
    {
      id: 'getFrame',
      path: '/api/frames/:id',
      tag: 'Library',
      summary: 'One frame with its neighbours in the video',
      parameters: { provenance: frameParameters.provenance },
      answer: FrameAnswer,
      errors: [404],
    },
    async ({ search, publicUrl }: App, { params, query }) => {
      const found = await search.frame(params.id)
      if (!found) throw notFound('frame')
      const view = viewOf(publicUrl, query)
      return {
        frame: view(found.frame),
        previous: found.previous && view(found.previous),
        next: found.next && view(found.next),
      }
    },
    { check: checkId('frame') },
  ),

  cachedRead(
    {
      id: 'findSimilarFrames',
      path: '/api/frames/:id/similar',
      tag: 'Library',
      summary: 'Frames like this one',
      description:
        'Most alike first, in looks or in meaning (`matched.meaning`), from a likeness (`score`) of 0.5 on or of the ' +
        'same picture, at most one of its own video unless `video` names that.',
      parameters: {
        ...filterParameters,
        other_videos: { schema: flag, fallback: false, description: '`1` leaves its own video out.' },
        limit: listLimit(24, 120),
      },
      answer: SimilarAnswer,
      price: 'write',
      errors: [404],
    },
    async ({ search, publicUrl }: App, { params, query: { limit = 24, other_videos: otherVideos, ...values } }) => {
      const hits = await search.similar(params.id, { filters: toFilters(values), limit, otherVideos })
      if (!hits) throw notFound('frame')
      return { frames: hits.map((hit) => toHit(hit, (document) => toFrame(document, publicUrl))) }
    },
    { check: checkId('frame') },
  ),

  endpoint(
    {
      id: 'correctFrame',
      method: 'patch',
      path: '/api/frames/:id/annotation',
      tag: 'Operators',
      summary: 'Set and lock values of a frame; null unlocks',
      body: CorrectionBody,
      example: { subject: 'ui', technique: 'cursor-zoom', caption: null },
      answer: Ok,
      scope: 'library:write',
      errors: [404],
    },
    async ({ db }: { db: Db }, { params, body, caller }) => {
      await correctFrame(db, { frameId: params.id, accountId: caller.account.id, correction: body })
      return OK
    },
  ),
]
