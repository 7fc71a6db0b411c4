import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import { invalid, notFound } from '../../errors.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import type { FacetCounts } from '../../search/library-search.ts'
import { DetailedFrame, plural } from '../present.ts'
import { defineTool, Id, READS, type Tool } from '../tool.ts'
import { commonestValues, countLines } from './counts.ts'
import { presentFrames, presentPage } from './frame-answer.ts'
import {
  cursorArgument,
  detailArgument,
  filterArguments,
  imagesArgument,
  limitArgument,
  resolveFilters,
} from './frame-arguments.ts'
import type { LibraryToolDeps } from './library-deps.ts'
import { videoFrames } from './video-frames.ts'

const FrameListing = z.object({ frames: z.array(DetailedFrame), next_cursor: z.string().nullable() })

export function frameTools(deps: LibraryToolDeps): Tool[] {
  return [searchFrames(deps), browseFrames(deps), videoFrames(deps), findSimilarFrames(deps)]
}

function searchFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    name: 'search_frames',
    title: 'Search frames',
    description:
      'Find frames of launch and product videos by words in the caption, composition, on-screen text and what is ' +
      'worth taking from them. Filters combine: any value within one, all of them together.',
    annotations: READS,
    points: POINTS.search,
    scope: null,
    cacheable: true,
    input: z.strictObject({
      query: z.string().trim().min(1).max(500).describe('e.g. white headline on black'),
      ...filterArguments,
      limit: limitArgument(20, 50),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
    }),
    output: FrameListing,
    async run(args, context) {
      const filters = await resolveFilters(deps.search, args)
      const q = cleanText(args.query)
      if (q === '') throw invalid('query', 'query: must contain a word')
      const asked = { q, filters, sort: 'relevance' as const, facets: false }
      const { answer, frames, next } = await presentPage(deps, 'search_frames', args, asked, context)
      return { ...answer, structured: { frames, next_cursor: next } }
    },
  })
}

function browseFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    name: 'browse_frames',
    title: 'Browse the frame wall',
    description:
      'Page through frames by attributes alone, newest or strongest first. ' +
      'counts adds the frames per attribute value.',
    annotations: READS,
    points: POINTS.read,
    scope: null,
    cacheable: true,
    input: z.strictObject({
      ...filterArguments,
      sort: z.enum(['newest', 'strength']).default('newest'),
      counts: z.boolean().default(false),
      limit: limitArgument(20, 50),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
    }),
    output: FrameListing.extend({
      total: z.number().optional(),
      counts: z.record(z.string(), z.record(z.string(), z.number())).optional(),
    }),
    async run(args, context) {
      const filters = await resolveFilters(deps.search, args)
      const asked = { q: '', filters, sort: args.sort, facets: args.counts }
      const { answer, frames, next, found } = await presentPage(deps, 'browse_frames', args, asked, context)
      const counted = args.counts ? { total: found.total, counts: commonestValues(found.facets as FacetCounts) } : {}
      const text = found.facets ? `${answer.text}\n${countLines(found.facets)}` : answer.text
      return { ...answer, text, structured: { frames, next_cursor: next, ...counted } }
    },
  })
}

function findSimilarFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    name: 'find_similar_frames',
    title: 'Find similar frames',
    description: 'Frames of any video that look or work like the given one.',
    annotations: READS,
    points: POINTS.search,
    scope: null,
    cacheable: true,
    input: z.strictObject({
      frame_id: Id,
      ...filterArguments,
      limit: limitArgument(12, 50),
      detail: detailArgument,
      images: imagesArgument,
    }),
    output: z.object({ frames: z.array(DetailedFrame) }),
    async run(args) {
      const filters = await resolveFilters(deps.search, args)
      const hits = await deps.search.similar(args.frame_id, { filters, limit: args.limit })
      if (!hits) throw notFound('frame. Use an id returned by another tool')
      const heading =
        hits.length === 0
          ? 'No similar frames. Fewer filters may find some.'
          : `${plural(hits.length, 'frame')} like ${args.frame_id}`
      const { answer, frames } = await presentFrames(deps, heading, hits, { ...args, withVideo: true })
      return { ...answer, structured: { frames } }
    },
  })
}
