import { z } from 'zod'
import { plural } from '../../clean-text.ts'
import { notFound } from '../../errors.ts'
import { sharedTraits } from '../../search/likeness.ts'
import { defineTool, SHOWS_FRAMES, type Tool, type ToolApp } from '../tool.ts'
import { FrameId, flagArgument, formatArgument, limitArgument } from '../values.ts'
import { FrameList, presentFrames } from './frames.ts'
import {
  briefFilterArguments,
  detailArgument,
  imagesArgument,
  notArgument,
  readBrands,
  resolveFilters,
} from './library.ts'

export function findSimilarFrames(deps: ToolApp): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'find_similar_frames',
    title: 'Find similar frames',
    description:
      'Frames that look or work like the given one, most alike first, at most one of its own video. Each tells its ' +
      'likeness (0 to 1) and what it shares. Filters take the values of search_frames.',
    price: 'write',
    input: z.strictObject({
      frame_id: FrameId.describe('Id or image URL'),
      other_videos: flagArgument().describe('None of its own video'),
      ...briefFilterArguments,
      not: notArgument,
      limit: limitArgument(12, 100),
      detail: detailArgument,
      images: imagesArgument,
      format: formatArgument,
    }),
    output: FrameList,
    async run(args) {
      const { filters, notes } = await readBrands(deps.search, await resolveFilters(deps, args))
      const [hits, [me]] = await Promise.all([
        deps.search.similar(args.frame_id, { filters, limit: args.limit, otherVideos: args.other_videos }),
        deps.search.framesByIds([args.frame_id]),
      ])
      if (!hits || !me) throw notFound(`frame: ${args.frame_id}. Use an id or image URL from another tool`)
      const alike = hits.map(({ document, score, matched: { meaning } }) => ({
        document,
        score: hundredths(score),
        shares: [
          ...(document.video_id === me.video_id ? ['the same film'] : []),
          ...(meaning ? [`meaning ${meaning}`] : []),
          ...sharedTraits(me, document),
        ],
      }))
      const counts = {
        alike: alike.length,
        isCut: alike.length === args.limit,
        isFiltered: Object.keys(filters).length > 0,
      }
      const heading = [headingOf(args.frame_id, counts), ...notes].join('\n')
      const { answer, listed } = await presentFrames(deps, heading, alike, { ...args, withVideo: true })
      return { ...answer, structured: listed }
    },
  })
}

const hundredths = (score: number) => Math.round(score * 100) / 100

/** `isCut`: as many as were asked for, so that there may be more. */
function headingOf(
  frameId: string,
  { alike, isCut, isFiltered }: { alike: number; isCut: boolean; isFiltered: boolean },
): string {
  if (alike === 0 && isFiltered)
    return `No frame with these filters shares enough with ${frameId}. Fewer filters may find some.`
  if (alike === 0) return `No frame shares enough with ${frameId}. Try search_frames with words of its caption.`
  const rest = isCut ? '' : '; all others share little with it'
  return `${plural(alike, 'frame')} like ${frameId}${rest}`
}
