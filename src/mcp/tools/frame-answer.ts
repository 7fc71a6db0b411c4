import type { FramePage, FrameQuery, Hit, ShownFrame } from '../../search/library-search.ts'
import { readCursor, toCursor } from '../cursor.ts'
import {
  type Detail,
  frameLines,
  loadThumbs,
  moreWith,
  type PresentedFrame,
  plural,
  toLink,
  toPresentedFrame,
} from '../present.ts'
import { suggest } from '../suggestions.ts'
import type { ToolAnswer, ToolContext } from '../tool.ts'
import type { LibraryToolDeps } from './library-deps.ts'

type FrameAnswer = Pick<ToolAnswer, 'text' | 'links' | 'images'>

/** A hit of a search with words, or a frame that was found without a score. */
type FoundFrame = Hit<ShownFrame> | { document: ShownFrame; score?: undefined }

/** Frames as text with one link each, and as data; thumbnails where they are wanted. */
export async function presentFrames(
  { publicUrl, readImage }: Pick<LibraryToolDeps, 'publicUrl' | 'readImage'>,
  heading: string,
  found: readonly FoundFrame[],
  options: { detail: Detail; images: number; withVideo: boolean },
): Promise<{ answer: FrameAnswer; frames: PresentedFrame[] }> {
  const documents = found.map(({ document }) => document)
  return {
    answer: {
      text: [heading, ...documents.map((document) => frameLines(document, publicUrl, options))].join('\n'),
      links: documents.map((document) => toLink(document, publicUrl)),
      images: options.images > 0 ? await loadThumbs(documents, options.images, readImage) : undefined,
    },
    frames: found.map(({ document, score }) => toPresentedFrame(document, publicUrl, options.detail, score)),
  }
}

type PageArguments = {
  cursor?: string | undefined
  limit: number
  detail: Detail
  images: number
}

interface FrameAnswerPage {
  answer: FrameAnswer
  frames: PresentedFrame[]
  next: string | null
  found: FramePage
}

/** One page of `tool`'s frames, by the cursor in its arguments. */
export async function presentPage(
  deps: LibraryToolDeps,
  tool: string,
  args: PageArguments,
  asked: Omit<FrameQuery, 'page' | 'pageSize' | 'variety'>,
  { signal }: ToolContext,
): Promise<FrameAnswerPage> {
  const page = readCursor(tool, args, args.cursor)
  const query: FrameQuery = { ...asked, page, pageSize: args.limit, variety: false }
  const found = await deps.search.frames(query)
  const next = found.frames.length === args.limit ? toCursor(tool, args, page + 1) : null
  const heading =
    found.frames.length > 0
      ? headingOf(found, page, next)
      : await emptyHeading(page, () => suggest(deps.search, query, signal))
  // Without words every frame scores the same.
  const shown = query.q === '' ? found.frames.map(({ document }) => ({ document })) : found.frames
  return { ...(await presentFrames(deps, heading, shown, { ...args, withVideo: true })), next, found }
}

function headingOf({ frames, total }: FramePage, page: number, next: string | null): string {
  const ofTotal = total === undefined ? '' : ` of ${total}`
  const numbered = page > 1 ? `, page ${page}` : ''
  return `${plural(frames.length, 'frame')}${ofTotal}${numbered}${moreWith(next)}`
}

async function emptyHeading(page: number, suggestions: () => Promise<string[]>): Promise<string> {
  if (page > 1) return 'No more frames.'
  return ['No frames found. Try:', ...(await suggestions())].join('\n')
}
