import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import type { FrameDocument } from '../../search/library-search.ts'
import { readCursor, toCursor } from '../cursor.ts'
import { clip, clock, DetailedFrame, moreWith, plural } from '../present.ts'
import { defineTool, READS, type Tool } from '../tool.ts'
import { isIdLike, limitArgument, seconds } from '../values.ts'
import { presentFrames } from './frame-answer.ts'
import { cursorArgument, detailArgument, imagesArgument, videoReference } from './frame-arguments.ts'
import type { LibraryToolDeps } from './library-deps.ts'
import { noSuchVideo, videoIdOf } from './video-reference.ts'

export function videoFrames(deps: LibraryToolDeps): Tool {
  return defineTool({
    name: 'get_video_frames',
    title: "See a video's flow",
    description:
      'Frames of one video in time order: how it opens, cuts and closes. ' +
      'from_sec and to_sec choose a part: to_sec 10 is the first ten seconds.',
    annotations: READS,
    points: POINTS.read,
    scope: null,
    cacheable: true,
    input: z.strictObject({
      video_id: videoReference().min(1).describe('Id or URL of the video, or of one of its frames'),
      from_sec: seconds.optional(),
      to_sec: seconds.optional(),
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
        duration_sec: z.number().nullable(),
        frame_count: z.number(),
      }),
      frames: z.array(DetailedFrame),
      next_cursor: z.string().nullable(),
    }),
    async run(args) {
      const { from_sec: from = 0, to_sec: to = Number.POSITIVE_INFINITY } = args
      if (from > to) throw invalid('to_sec', `to_sec (${to}): must not be before from_sec (${from})`)
      const all = await framesOf(deps, args.video_id)
      const within = all.filter(({ t_sec }) => t_sec >= from && t_sec <= to)
      const page = readCursor('get_video_frames', args, args.cursor)
      const skip = (page - 1) * args.limit
      const shown = within.slice(skip, skip + args.limit)
      const next = skip + args.limit < within.length ? toCursor('get_video_frames', args, page + 1) : null
      const { video } = all[0]!
      const { id, title, author, source_url, duration_sec } = video
      const { answer, listed } = await presentFrames(
        deps,
        `${titleLine(video)}; ${spanOf(all, within, { skip, count: shown.length })}${moreWith(next)}`,
        shown.map((document) => ({ document })),
        { ...args, withVideo: false },
      )
      const structured = {
        video: { id, title, author, source_url, duration_sec, frame_count: all.length },
        frames: listed.frames,
        next_cursor: next,
      }
      return { ...answer, structured }
    },
  })
}

function titleLine({ title, author, source_url, duration_sec }: FrameDocument['video']): string {
  const by = author ? ` by ${clip(author, 80)}` : ''
  const length = duration_sec === null ? '' : `, ${clock(duration_sec)} long`
  const at = source_url ? ` ${clip(source_url, 300)}` : ''
  return `"${clip(title, 160)}"${by}${length}${at}`
}

/** Which frames are shown: all, a page, or those of a part of the video. */
function spanOf(
  all: readonly FrameDocument[],
  within: readonly FrameDocument[],
  { skip, count }: { skip: number; count: number },
): string {
  if (within.length === 0) {
    const span = `${clock(all[0]!.t_sec)} to ${clock(all.at(-1)!.t_sec)}`
    return `no frames in this part; the video has ${plural(all.length, 'frame')} from ${span}`
  }
  const part = within.length < all.length ? ` in this part, ${all.length} in the video` : ''
  return count < within.length
    ? `frames ${skip + 1}–${skip + count} of ${within.length}${part}`
    : `${plural(within.length, 'frame')}${part}`
}

/** @throws AppError not_found for a video that is not public, or has no frames. */
async function framesOf(deps: LibraryToolDeps, given: string): Promise<FrameDocument[]> {
  // The usual call names the video itself: one look-up.
  const named = isIdLike(given) ? await deps.search.videoFrames(given) : undefined
  const frames = named ?? (await deps.search.videoFrames(await videoIdOf(deps, given)))
  if (frames && frames.length > 0) return frames
  throw noSuchVideo(given)
}
