import { z } from 'zod'
import { clip, clock, plural, quote } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import type { FrameDocument } from '../../search/library-search.ts'
import { readCursor, toCursor } from '../arguments.ts'
import { moreWith, type Presented, VideoNames } from '../present.ts'
import { defineTool, SHOWS_FRAMES, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, isIdLike, limitArgument, seconds, severalOf, someNumber } from '../values.ts'
import { FrameListing, presentFrames } from './frames.ts'
import { cursorArgument, detailArgument, findVideo, imagesArgument, noSuchVideo, videoReference } from './library.ts'

const MAX_VIDEOS = 20
const ends = someNumber({ min: 1, max: 120 })

const Video = VideoNames.element.extend({
  source_url: z.string().optional(),
  duration_sec: z.number().optional(),
  frame_count: z.number(),
})

export function videoFrames(deps: ToolApp): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'get_video_frames',
    title: "See a video's flow",
    description:
      'Frames of one video or several in time order: how they open, cut and close. ' +
      'first: 3 is the first three frames of each, last: 1 the last, to_sec: 10 its first ten seconds.',
    price: 'search',
    raises: ({ video_id }) => video_id.length > 1,
    input: z.strictObject({
      video_id: severalOf(videoReference(), MAX_VIDEOS).describe('Ids or URLs of videos, or of their frames'),
      from_sec: seconds.optional(),
      to_sec: seconds.optional(),
      first: ends,
      last: ends,
      limit: limitArgument(40, 120),
      cursor: cursorArgument,
      detail: detailArgument,
      images: imagesArgument,
      format: formatArgument,
    }),
    output: FrameListing.extend({ videos: z.array(Video) }),
    async run(args) {
      const { from_sec: from = 0, to_sec: to = Number.POSITIVE_INFINITY } = args
      if (from > to) throw invalid('to_sec', `to_sec (${to}): must not be before from_sec (${from})`)
      const films = (await filmsOf(deps, args.video_id)).map((all) => {
        const within = all.filter(({ t_sec }) => t_sec >= from && t_sec <= to)
        return { all, within, chosen: endsOf(within, args) }
      })
      const chosen = films.flatMap((film) => film.chosen)
      const { page } = readCursor('get_video_frames', args, args.cursor)
      const skip = (page - 1) * args.limit
      const shown = chosen.slice(skip, skip + args.limit)
      const next = skip + args.limit < chosen.length ? toCursor('get_video_frames', args, page + 1) : null
      const [only] = films
      const heading =
        films.length === 1
          ? `${titleLine(only!.all)}; ${spanOf(only!, skip, shown.length)}${moreWith(next)}`
          : [
              `${films.length} videos, ${shown.length} of ${plural(chosen.length, 'frame')}${moreWith(next)}`,
              ...films.filter((film) => film.chosen.length === 0).map(filmLine),
            ].join('\n')
      const presented = shown.map((document, at): Presented => {
        const isFirst = films.length > 1 && document.video_id !== shown[at - 1]?.video_id
        const film = isFirst && films.find(({ all }) => all[0]!.video_id === document.video_id)
        return { document, above: film ? filmLine(film) : undefined }
      })
      const { answer, listed } = await presentFrames(deps, heading, presented, { ...args, withVideo: false })
      const videos = films.map(({ all }) => {
        const { id, title, author, source_url: url, duration_sec: length } = all[0]!.video
        const known = { author: author ?? undefined, source_url: url ?? undefined, duration_sec: length ?? undefined }
        return { id, title, ...known, frame_count: all.length }
      })
      return { ...answer, structured: { ...listed, videos, total: chosen.length, next_cursor: next } }
    },
  })
}

interface Film {
  all: readonly FrameDocument[]
  /** Those of the part of the video that was asked for. */
  within: readonly FrameDocument[]
  chosen: readonly FrameDocument[]
}

/** The first and the last of them, each once; all where neither is asked for. */
function endsOf(
  frames: readonly FrameDocument[],
  { first, last }: { first?: number | undefined; last?: number | undefined },
): readonly FrameDocument[] {
  if (first === undefined && last === undefined) return frames
  return frames.filter((_, at) => at < (first ?? 0) || at >= frames.length - (last ?? 0))
}

const filmLine = ({ all, chosen }: Film): string =>
  `${all[0]!.video_id} ${titleOf(all)}; ${chosen.length} of ${plural(all.length, 'frame')}`

function titleLine(frames: readonly FrameDocument[]): string {
  const { source_url } = frames[0]!.video
  return `${titleOf(frames)}${source_url ? ` ${clip(source_url, 300)}` : ''}`
}

function titleOf([frame]: readonly FrameDocument[]): string {
  const { title, author, duration_sec } = frame!.video
  const by = author ? ` by ${quote(author, 80)}` : ''
  const length = duration_sec === null ? '' : `, ${clock(duration_sec)} long`
  return `${quote(title, 160)}${by}${length}`
}

/** Which frames are shown: all, a page, or those of a part of the video. */
function spanOf({ all, within, chosen }: Film, skip: number, count: number): string {
  if (within.length === 0) {
    const span = `${clock(all[0]!.t_sec)} to ${clock(all.at(-1)!.t_sec)}`
    return `no frames in this part; the video has ${plural(all.length, 'frame')} from ${span}`
  }
  const part = within.length < all.length ? ` in this part, ${all.length} in the video` : ''
  if (count === 0) return `no more frames; there are ${chosen.length}${part}`
  if (count < chosen.length) return `frames ${skip + 1}–${skip + count} of ${chosen.length}${part}`
  return chosen.length < within.length
    ? `${chosen.length} of ${plural(within.length, 'frame')}${part}`
    : `${plural(within.length, 'frame')}${part}`
}

/**
 * The frames of each video, once each.
 * @throws AppError not_found where one is not public, or has no frames: then nothing is answered.
 */
async function filmsOf(deps: ToolApp, given: readonly string[]): Promise<FrameDocument[][]> {
  const found = await Promise.all(given.map((one) => framesOf(deps, one)))
  const unknown = given.filter((_, at) => !found[at]?.length)
  if (unknown.length > 0) throw noSuchVideo(unknown)
  return [...new Map(found.map((frames) => [frames![0]!.video_id, frames!])).values()]
}

async function framesOf(deps: ToolApp, given: string): Promise<FrameDocument[] | undefined> {
  // The usual call names the video itself: one look-up.
  const named = isIdLike(given) ? await deps.search.videoFrames(given) : undefined
  if (named) return named
  const id = await findVideo(deps, given)
  return id === undefined ? undefined : deps.search.videoFrames(id)
}
