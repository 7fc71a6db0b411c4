import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import { defineTool, SHOWS_FRAMES, type Tool } from '../tool.ts'
import { flagArgument, formatArgument, limitArgument } from '../values.ts'
import { commonestValues, countLines } from './counts.ts'
import { FrameListing, presentPage } from './frame-answer.ts'
import {
  cursorArgument,
  detailArgument,
  filterArguments,
  imagesArgument,
  notArgument,
  resolveFilters,
} from './frame-arguments.ts'
import type { LibraryToolDeps } from './library-deps.ts'
import { findSimilarFrames } from './similar-frames.ts'
import { videoFrames } from './video-frames.ts'

export function frameTools(deps: LibraryToolDeps): Tool[] {
  return [searchFrames(deps), browseFrames(deps), videoFrames(deps), findSimilarFrames(deps)]
}

function searchFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'search_frames',
    title: 'Search frames',
    description:
      'Find frames of launch and product videos by what they show, in plain words: "white headline on black". ' +
      'Filters narrow it: any value within one, all of them together.',
    points: POINTS.search,
    input: z.strictObject({
      query: z.string().trim().min(1).max(500).describe('What the frame shows or says'),
      ...filterArguments,
      not: notArgument,
      sort: z.enum(['relevance', 'newest', 'strength']).default('relevance'),
      limit: limitArgument(20, 100),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
      format: formatArgument,
    }),
    output: FrameListing,
    async run(args) {
      const filters = await resolveFilters(deps, args)
      const q = cleanText(args.query)
      if (q === '') throw invalid('query', 'query: must contain a word')
      const asked = { q, filters, sort: args.sort, facets: false }
      const { answer, listed } = await presentPage(deps, 'search_frames', args, asked)
      return { ...answer, structured: listed }
    },
  })
}

function browseFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'browse_frames',
    title: 'Browse the frame wall',
    description:
      'Page through frames by attributes alone, newest or strongest first. ' +
      'counts adds the frames per attribute value.',
    points: POINTS.read,
    input: z.strictObject({
      ...filterArguments,
      not: notArgument,
      sort: z.enum(['newest', 'strength']).default('newest'),
      counts: flagArgument(),
      limit: limitArgument(20, 100),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
      format: formatArgument,
    }),
    output: FrameListing.extend({
      counts: z.record(z.string(), z.record(z.string(), z.number())).optional(),
    }),
    async run(args) {
      const filters = await resolveFilters(deps, args)
      const asked = { q: '', filters, sort: args.sort, facets: args.counts }
      const { answer, listed, facets } = await presentPage(deps, 'browse_frames', args, asked)
      if (!facets) return { ...answer, structured: listed }
      const text = `${answer.text}\n${countLines(facets)}`
      return { ...answer, text, structured: { ...listed, counts: commonestValues(facets) } }
    },
  })
}
