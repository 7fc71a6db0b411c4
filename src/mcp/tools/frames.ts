import { z } from 'zod'
import { cleanText, clip, plural, quote } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { asksMuch } from '../../http/rate-limit/rate-limits.ts'
import type {
  FacetCounts,
  FrameFilters,
  FrameHit,
  FramePage,
  FrameQuery,
  LibrarySearch,
  ReadAs,
} from '../../search/library-search.ts'
import { MAX_RELEVANCE_DEPTH, MOST_COUNTED } from '../../search/query.ts'
import { countUndescribed } from '../../views/parameters.ts'
import { COUNTED } from '../../vocabulary.ts'
import { readCursor, toCursor } from '../arguments.ts'
import {
  captionOf,
  type Detail,
  DetailedFrame,
  frameLines,
  loadThumbs,
  moreWith,
  type Presented,
  toLink,
  toPresentedFrame,
  VideoNames,
  videosOf,
} from '../present.ts'
import { suggest } from '../suggestions.ts'
import { defineTool, SHOWS_FRAMES, type Tool, type ToolAnswer, type ToolApp } from '../tool.ts'
import { flagArgument, formatArgument, limitArgument } from '../values.ts'
import {
  briefFilterArguments,
  cursorArgument,
  detailArgument,
  filterArguments,
  imagesArgument,
  notArgument,
  readBrands,
  resolveFilters,
} from './library.ts'

/** Frames as data, with their videos once each. */
export const FrameList = z.object({ frames: z.array(DetailedFrame), videos: VideoNames })

/** A page of them. `total`: how many there are on all pages; absent where that is too many to count. */
export const FrameListing = FrameList.extend({ total: z.number().optional(), next_cursor: z.string().nullable() })

export function searchFrames(deps: ToolApp): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'search_frames',
    title: 'Search frames',
    description:
      'Find frames of launch and product videos by what they show, in plain words: "white headline on black". ' +
      'Filters narrow it: any value within one, all of them together.',
    price: 'write',
    input: z.strictObject({
      query: z.string().trim().min(1).max(500).describe('What the frame shows or says'),
      ...filterArguments,
      not: notArgument,
      sort: z.enum(['relevance', 'newest', 'strength', 'meaning']).default('relevance'),
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

export function browseFrames(deps: ToolApp): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'browse_frames',
    title: 'Browse the frame wall',
    description:
      'Page through frames by attributes alone, newest or strongest first. ' +
      'Filters take the values of search_frames. counts adds the frames per attribute value.',
    price: 'search',
    raises: (args) => asksMuch({ ...readCursor('browse_frames', args, args.cursor), facets: args.counts }),
    input: z.strictObject({
      ...briefFilterArguments,
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

interface FrameAnswer {
  answer: Pick<ToolAnswer, 'text' | 'links' | 'images' | 'notes'>
  listed: z.infer<typeof FrameList>
}

/** Frames as text with one link each, and as data; thumbnails where they are wanted. */
export async function presentFrames(
  { publicUrl, readImage }: Pick<ToolApp, 'publicUrl' | 'readImage'>,
  heading: string,
  found: readonly Presented[],
  options: { detail: Detail; images: number; withVideo: boolean },
): Promise<FrameAnswer> {
  const documents = found.map(({ document }) => document)
  const { images, left } = await loadThumbs(documents, options.images, readImage)
  const tooLarge = left > 0 ? [`(${plural(left, 'picture')} left out as too large: open their image URLs.)`] : []
  // The first line counts what the data holds.
  const notes = [...heading.split('\n').slice(found.length > 0 ? 1 : 0), ...tooLarge]
  return {
    answer: {
      text: [heading, ...tooLarge, ...frameLines(found, publicUrl, options)].join('\n'),
      links: documents.map((document) => toLink(document, publicUrl)),
      images,
      notes,
    },
    listed: {
      frames: found.map((one) => toPresentedFrame(one, publicUrl, options.detail, captionOf(found))),
      videos: videosOf(documents),
    },
  }
}

type PageArguments = {
  cursor?: string | undefined
  limit: number
  detail: Detail
  images: number
}

interface FrameAnswerPage extends FrameAnswer {
  listed: z.infer<typeof FrameListing>
  facets: FacetCounts | undefined
}

/** Few frames are followed by partial matches, up to this number. */
const FEW = 3
/** And by up to so many that are close in meaning, where few meet every word. */
const CLOSE = 6

const OTHER_ENGINE = 'The search engine changed after the page before, and orders differently: frames may repeat.'

/** One page of `tool`'s frames, by the cursor in its arguments. */
async function presentPage(
  deps: ToolApp,
  tool: string,
  args: PageArguments,
  asked: Omit<FrameQuery, 'page' | 'pageSize' | 'variety'>,
): Promise<FrameAnswerPage> {
  const { page, engine } = readCursor(tool, args, args.cursor)
  const fill = asked.q === '' ? undefined : Math.min(FEW, args.limit)
  const { filters, notes } = await readBrands(deps.search, asked.filters)
  const close = Math.min(CLOSE, args.limit)
  const paged = { page, pageSize: args.limit, engine, variety: false, fill, close, loosen: true }
  const query: FrameQuery = { ...asked, filters, ...paged, asker: 'agents' }
  const all = await deps.search.frames(query)
  const found = within(args, all)
  const isLast = isByMeaning(found) || (query.sort === 'relevance' && page * args.limit >= MAX_RELEVANCE_DEPTH)
  const hasNext = found.frames.length === args.limit && !isLast
  const next = hasNext ? toCursor(tool, args, page + 1, found.engine) : null
  const few = query.q !== '' && page === 1 && found.frames.length < FEW
  const hasNoFull = found.full === 0 && found.frames.length > 0
  const reading = [
    ...(engine && engine !== found.engine ? [OTHER_ENGINE] : []),
    ...readingLines(found.readAs, found.frames, hasNoFull),
    ...(all.close?.length === found.close?.length
      ? []
      : ['More frames are close in meaning: sort meaning shows them.']),
    ...(few ? await undescribedLine(deps.search, query.filters) : []),
  ]
  const heading =
    found.frames.length + (found.close ?? []).length > 0
      ? [headingOf(found, page, next), ...notes, ...reading]
      : await emptyHeading(page, reading, async () => [...notes, ...(await suggest(deps, query, found.loosened))])
  // Without words every frame scores the same.
  const scored = query.q !== '' && args.detail === 'full'
  const hits = [...found.frames, ...(found.close ?? []), ...(found.partialMatches ?? [])]
  const shown = hits.map(({ document, score, missing, matched }) => ({
    document,
    score: scored ? score : undefined,
    missing,
    meaning: matched.meaning,
  }))
  const { answer, listed } = await presentFrames(deps, heading.join('\n'), shown, { ...args, withVideo: true })
  return { answer, listed: { ...listed, total: found.total, next_cursor: next }, facets: found.facets }
}

/** Words find what nobody has described by its text alone: pictures show it. */
async function undescribedLine(search: LibrarySearch, filters: FrameFilters): Promise<string[]> {
  const count = await countUndescribed(search, filters)
  if (count === 0) return []
  const which = Object.keys(filters).length > 0 ? ' with these filters' : ''
  const frames = count === undefined ? `more than ${MOST_COUNTED} frames` : plural(count, 'frame')
  return [`Not described yet: ${frames}${which}. browse_frames with described "no" and images shows them.`]
}

/**
 * How the question was read, in a line, where that is not plain: words met by attributes, names or synonyms, guessed,
 * left out, or not searched. `hasNoFull`: frames were found, and none has every word.
 */
export function readingLines(
  readAs: ReadAs | undefined,
  frames: readonly Pick<FrameHit, 'met'>[],
  hasNoFull: boolean,
): string[] {
  if (!readAs) return []
  const { words, without, ignored, met, meaning } = readAs
  const kinds = Map.groupBy(
    frames.flatMap((frame) => frame.met ?? []),
    ({ word }) => word,
  )
  const bySynonym = (word: string) => kinds.get(word)?.every(({ kind }) => kind === 'synonym') ?? false
  const lines = words.flatMap(({ word, as }) => {
    const told = as.map((one) => (one === 'text' && bySynonym(word) ? 'a synonym' : one))
    const isPlain = told.every((one) => one === 'text' || one === 'exact text')
    return isPlain ? [] : [`${clip(word, 40)} (${clip(told.join(' or '), 200)})`]
  })
  const told = [
    ...(lines.length > 0 ? [`Read as: ${lines.join(', ')}`] : []),
    ...(without.length > 0 ? [`Left out: frames with ${clip(without.join(', '), 200)}`] : []),
    ...(ignored.length > 0 ? [`Not searched: ${clip(ignored.join(', '), 100)}`] : []),
  ]
  const lack =
    met > 0
      ? `No frame has every word. The best meet ${met} of ${words.length}; each says what it lacks.`
      : 'No frame has any of the words. These have what one may stand for.'
  return [
    ...(told.length > 0 ? [told.join('. ')] : []),
    ...(hasNoFull ? [lack] : []),
    ...(meaning && meaning !== 'close' ? [`By meaning: ${meaning}.`] : []),
  ]
}

/** Partial matches count into the limit of a page. What is close in meaning comes besides, except in full. */
function within({ limit, detail }: Pick<PageArguments, 'limit' | 'detail'>, found: FramePage): FramePage {
  const room = limit - found.frames.length
  const close = found.close?.slice(0, detail === 'full' ? room : CLOSE)
  const left = Math.max(0, room - (close?.length ?? 0))
  return { ...found, close, partialMatches: found.partialMatches?.slice(0, left) }
}

const isByMeaning = ({ frames }: FramePage) => frames[0]?.matched.meaning !== undefined

function headingOf(found: FramePage, page: number, next: string | null): string {
  const { frames, partialMatches = [], close = [], total } = found
  const all = total ?? `more than ${MOST_COUNTED}`
  const isWhole = all === frames.length || isByMeaning(found)
  const ofTotal = isWhole ? '' : ` of ${all}`
  const numbered = page > 1 ? `, page ${page}` : ''
  const filled =
    partialMatches.length > 0
      ? `, then ${partialMatches.length} partial match${partialMatches.length === 1 ? '' : 'es'}`
      : ''
  const near = close.length > 0 ? `, then ${close.length} close in meaning` : ''
  return `${plural(frames.length, 'frame')}${ofTotal}${numbered}${near}${filled}${moreWith(next)}`
}

async function emptyHeading(
  page: number,
  reading: readonly string[],
  suggestions: () => Promise<string[]>,
): Promise<string[]> {
  if (page > 1) return ['No more frames.']
  return ['No frames found.', ...reading, 'Try:', ...(await suggestions())]
}

const MAX_VALUES = 50
const MAX_VALUES_IN_TEXT = 12

/** The most frequent values of each attribute: the long tail of authors would fill a context window. */
function commonestValues(facets: FacetCounts): Record<string, Record<string, number>> {
  return Object.fromEntries(
    Object.entries(facets).map(([facet, counts]) => [facet, Object.fromEntries(byCount(counts).slice(0, MAX_VALUES))]),
  )
}

function countLines(facets: FacetCounts): string {
  const lines: string[] = []
  for (const facet of COUNTED) {
    const counts = byCount(facets[facet])
    if (counts.length === 0) continue
    const shown = counts
      .slice(0, MAX_VALUES_IN_TEXT)
      .map(([value, count]) => `${facet === 'author' ? quote(value, 60) : value} ${count}`)
    const left = counts.length - shown.length
    lines.push(`${facet}: ${shown.join(', ')}${left > 0 ? `, and ${left} more` : ''}`)
  }
  return ['Counts (each ignoring its own filter):', ...lines].join('\n')
}

function byCount(counts: Record<string, number>): [string, number][] {
  return Object.entries(counts).sort(([, a], [, b]) => b - a)
}
