import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import { notFound } from '../../errors.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import type { FrameDocument, LibrarySearch } from '../../search/library-search.ts'
import { readCursor, toCursor } from '../cursor.ts'
import { clip, DetailedFrame, moreWith } from '../present.ts'
import { defineTool, Id, READS, type Tool } from '../tool.ts'
import { presentFrames } from './frame-answer.ts'
import { cursorArgument, detailArgument, imagesArgument, limitArgument } from './frame-arguments.ts'
import type { LibraryToolDeps } from './library-deps.ts'

export function videoFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    name: 'get_video_frames',
    title: "See a video's flow",
    description: 'All frames of one video in time order: how it opens, cuts and closes.',
    annotations: READS,
    points: POINTS.read,
    scope: null,
    cacheable: true,
    input: z.strictObject({
      video: z.string().min(1).max(2000).describe('Id of the video or of one of its frames, or its URL'),
      limit: limitArgument(40, 120),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
    }),
    output: z.object({
      video: z.object({
        id: z.string(),
        title: z.string(),
        author: z.string().nullable(),
        source_url: z.string().nullable(),
        frame_count: z.number(),
      }),
      frames: z.array(DetailedFrame),
      next_cursor: z.string().nullable(),
    }),
    async run(args) {
      const all = await framesOf(deps, args.video)
      const page = readCursor('get_video_frames', args, args.cursor)
      const from = (page - 1) * args.limit
      const shown = all.slice(from, from + args.limit)
      const next = from + args.limit < all.length ? toCursor('get_video_frames', args, page + 1) : null
      const span = shown.length < all.length ? `${from + 1}–${from + shown.length} of ${all.length}` : `${all.length}`
      const { video } = all[0]!
      const { answer, frames } = await presentFrames(
        deps,
        `${headingOf(video)}; frames ${span}${moreWith(next)}`,
        shown.map((document) => ({ document })),
        { ...args, withVideo: false },
      )
      const { id, title, author, source_url } = video
      const structured = {
        video: { id, title, author, source_url, frame_count: all.length },
        frames,
        next_cursor: next,
      }
      return { ...answer, structured }
    },
  })
}

function headingOf({ title, author, source_url }: FrameDocument['video']): string {
  const by = author ? ` by ${clip(author, 80)}` : ''
  const at = source_url ? ` ${clip(source_url, 300)}` : ''
  return `"${clip(title, 160)}"${by}${at}`
}

/** @throws AppError not_found for a video that is not public, or has no frames. */
async function framesOf(deps: LibraryToolDeps, given: string): Promise<FrameDocument[]> {
  const videoId = await findVideo(deps, cleanText(given))
  const frames = videoId === undefined ? undefined : await deps.search.videoFrames(videoId)
  if (frames && frames.length > 0) return frames
  throw notFound('video in the library. search_library finds videos by title or URL')
}

/** A video's id from its URL, its id, or the id of one of its frames. */
async function findVideo({ search, sourceKeyOf }: LibraryToolDeps, term: string): Promise<string | undefined> {
  const sourceKey = sourceKeyOf(term)
  if (sourceKey !== undefined) return videoOfSource(search, term, sourceKey)
  if (!Id.safeParse(term).success) return undefined
  if ((await search.video(term)) !== undefined) return term
  return (await search.frame(term))?.frame.video_id
}

async function videoOfSource(search: LibrarySearch, term: string, sourceKey: string): Promise<string | undefined> {
  const { videos } = await search.search({ q: term, limit: 1, sourceKey })
  return videos[0]?.document.id
}
