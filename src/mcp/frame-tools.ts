import { z } from 'zod'
import { invalid, notFound } from '../errors.ts'
import { POINTS } from '../http/rate-limit.ts'
import {
  FACETS,
  type FacetCounts,
  type FrameFilters,
  type FrameQuery,
  type Hit,
  type LibrarySearch,
  type ShownFrame,
} from '../search/library-search.ts'
import { currentSlug } from '../search/techniques.ts'
import { cleanText, filterParameters, toFilters } from '../views/frame-query.ts'
import { readCursor, toCursor } from './cursor.ts'
import { clip, Detail, DetailedFrame, frameLines, loadThumbs, plural, toLink, toPresentedFrame } from './present.ts'
import { nearestTechniques, suggest } from './suggestions.ts'
import { defineTool, Id, oneOrMany, READS, type Tool, type ToolAnswer, type ToolContext } from './tool.ts'

export interface LibraryToolDeps {
  search: LibrarySearch
  publicUrl: string
  /** A picture by its key in the image store. */
  readImage(key: string): Promise<Buffer | undefined>
  /** The canonical key of a video's URL; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
}

const p = filterParameters
/** The filters of `/api/frames`, by the same schemas. */
const filters = {
  subject: oneOrMany(p.subject.schema).optional(),
  surface: oneOrMany(p.surface.schema).optional(),
  shot: oneOrMany(p.shot.schema).optional(),
  technique: oneOrMany(p.technique.schema).optional().describe('Slugs from list_techniques'),
  zone: oneOrMany(p.zone.schema).optional().describe('Where the face sits'),
  tone: oneOrMany(p.tone.schema).optional(),
  kind: oneOrMany(p.kind.schema).optional(),
  author: oneOrMany(p.author.schema, { commas: false }).optional().describe('Exact brand or channel names'),
  platform: oneOrMany(p.platform.schema).optional(),
  video: oneOrMany(p.video.schema).optional().describe('Video ids'),
  color: oneOrMany(
    z
      .string()
      .regex(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, 'must be a hex colour such as #1a73e8')
      .pipe(p.color.schema),
  )
    .optional()
    .describe('Hex colours to be near'),
}
const limit = (fallback: number, max: number) => z.number().int().min(1).max(max).default(fallback)
const cursor = z.string().max(100).optional().describe('next_cursor of the previous answer')
const detail = Detail.default('compact').describe(
  'full adds composition, what to take from it, on-screen text, colours, source link',
)
const images = z.number().int().min(0).max(6).default(0).describe('Attach this many thumbnails inline')

const MAX_COUNTED_VALUES = 50

const frames = z.array(DetailedFrame)
const nextCursor = z.string().nullable()
const list = z.object({ frames, next_cursor: nextCursor })

export function frameTools({ search, publicUrl, readImage, sourceKeyOf }: LibraryToolDeps): Tool[] {
  /** Filters as the search takes them. @throws AppError invalid_request for an unknown technique: it could only match nothing. */
  async function readFilters(args: Parameters<typeof toFilters>[0]): Promise<FrameFilters> {
    const wanted = toFilters(args)
    if (!wanted.technique) return wanted
    const vocabulary = await search.techniques()
    const unknown = wanted.technique.find((slug) => currentSlug(vocabulary, slug) === undefined)
    if (unknown !== undefined) {
      const near = nearestTechniques(vocabulary, unknown, 5).map((technique) => technique.slug)
      const help = near.length > 0 ? `nearest are ${near.join(', ')}` : 'list_techniques gives them all'
      throw invalid('technique', `technique: there is no "${unknown.slice(0, 64)}"; ${help}`, near)
    }
    return wanted
  }

  async function present(
    heading: string,
    hits: readonly (Hit<ShownFrame> | { document: ShownFrame; score?: undefined })[],
    options: { detail: Detail; images: number; withVideo: boolean },
  ): Promise<Pick<ToolAnswer, 'text' | 'links' | 'images'> & { frames: z.infer<typeof frames> }> {
    const documents = hits.map((hit) => hit.document)
    return {
      text: [heading, ...documents.map((document) => frameLines(document, publicUrl, options))].join('\n'),
      links: documents.map((document) => toLink(document, publicUrl)),
      images: options.images > 0 ? await loadThumbs(documents, options.images, readImage) : undefined,
      frames: hits.map((hit) => toPresentedFrame(hit.document, publicUrl, options.detail, hit.score)),
    }
  }

  async function page(
    tool: string,
    args: { cursor?: string | undefined; limit: number; detail: Detail; images: number },
    asked: Omit<FrameQuery, 'page' | 'pageSize' | 'variety'>,
    context: ToolContext,
  ) {
    const number = readCursor(tool, args, args.cursor)
    const query: FrameQuery = { ...asked, page: number, pageSize: args.limit, variety: false }
    const found = await search.frames(query)
    const next = found.frames.length === args.limit ? toCursor(tool, args, number + 1) : null
    const hits: Parameters<typeof present>[1] =
      query.q === '' ? found.frames.map(({ document }) => ({ document })) : found.frames
    const heading =
      hits.length === 0
        ? number > 1
          ? 'No more frames.'
          : ['No frames found. What would find some:', ...(await suggest(search, query, context.signal))].join('\n')
        : `${plural(hits.length, 'frame')}${found.total === undefined ? '' : ` of ${found.total}`}${number > 1 ? `, page ${number}` : ''}${next ? `; more with cursor ${next}` : ''}`
    const { frames: shown, ...answer } = await present(heading, hits, { ...args, withVideo: true })
    return { answer, shown, next, found }
  }

  return [
    defineTool({
      name: 'search_frames',
      title: 'Search frames',
      description:
        'Find frames of launch and product videos by words: caption, composition, on-screen text and what is worth taking from them. Filters combine: any value within one, all of them together.',
      annotations: READS,
      points: POINTS.search,
      scope: null,
      cacheable: true,
      input: z.strictObject({
        query: z.string().trim().min(1).max(500).describe('e.g. white headline on black'),
        ...filters,
        limit: limit(20, 50),
        cursor,
        detail,
        images,
      }),
      output: list,
      async run(args, context) {
        const asked = {
          q: cleanText(args.query),
          filters: await readFilters(args),
          sort: 'relevance' as const,
          facets: false,
        }
        if (asked.q === '') throw invalid('query', 'query: must hold a word')
        const { answer, shown, next } = await page('search_frames', args, asked, context)
        return { ...answer, structured: { frames: shown, next_cursor: next } }
      },
    }),
    defineTool({
      name: 'browse_frames',
      title: 'Browse the frame wall',
      description:
        'Page through frames by attributes alone, newest or strongest first; counts says how many frames each attribute value has.',
      annotations: READS,
      points: POINTS.read,
      scope: null,
      cacheable: true,
      input: z.strictObject({
        ...filters,
        sort: z.enum(['newest', 'strength']).default('newest'),
        counts: z.boolean().default(false),
        limit: limit(20, 50),
        cursor,
        detail,
        images,
      }),
      output: list.extend({
        total: z.number().optional(),
        counts: z.record(z.string(), z.record(z.string(), z.number())).optional(),
      }),
      async run(args, context) {
        const asked = { q: '', filters: await readFilters(args), sort: args.sort, facets: args.counts }
        const { answer, shown, next, found } = await page('browse_frames', args, asked, context)
        const counted = args.counts ? { total: found.total, counts: mostOf(found.facets as FacetCounts) } : {}
        const text = found.facets ? `${answer.text}\n${countLines(found.facets)}` : answer.text
        return { ...answer, text, structured: { frames: shown, next_cursor: next, ...counted } }
      },
    }),
    defineTool({
      name: 'get_video_frames',
      title: "See a video's flow",
      description: 'All frames of one video in time order: how it opens, cuts and closes.',
      annotations: READS,
      points: POINTS.read,
      scope: null,
      cacheable: true,
      input: z.strictObject({
        video: z.string().min(1).max(2000).describe('Id of the video or of one of its frames, or its URL'),
        limit: limit(40, 120),
        cursor,
        detail,
        images,
      }),
      output: z.object({
        video: z.object({
          id: z.string(),
          title: z.string(),
          author: z.string().nullable(),
          source_url: z.string().nullable(),
          frame_count: z.number(),
        }),
        frames,
        next_cursor: nextCursor,
      }),
      async run(args) {
        const videoId = await findVideo(args.video)
        const all = videoId === undefined ? undefined : await search.videoFrames(videoId)
        if (!all || all.length === 0)
          throw notFound('video in the library; search_library finds videos by title or URL')
        const number = readCursor('get_video_frames', args, args.cursor)
        const from = (number - 1) * args.limit
        const shown = all.slice(from, from + args.limit)
        const next = from + args.limit < all.length ? toCursor('get_video_frames', args, number + 1) : null
        const { video } = all[0]!
        const span =
          shown.length < all.length ? ` ${from + 1}–${from + shown.length} of ${all.length}` : ` ${all.length}`
        const by = video.author ? ` by ${clip(video.author, 80)}` : ''
        const heading = `"${clip(video.title, 160)}"${by}${video.source_url ? ` ${clip(video.source_url, 300)}` : ''}; frames${span}${next ? `; more with cursor ${next}` : ''}`
        const { frames: presented, ...answer } = await present(
          heading,
          shown.map((document) => ({ document })),
          { ...args, withVideo: false },
        )
        return {
          ...answer,
          structured: {
            video: {
              id: video.id,
              title: video.title,
              author: video.author,
              source_url: video.source_url,
              frame_count: all.length,
            },
            frames: presented,
            next_cursor: next,
          },
        }
      },
    }),
    defineTool({
      name: 'find_similar_frames',
      title: 'Find similar frames',
      description: 'Frames of any video that look or work like the given one.',
      annotations: READS,
      points: POINTS.search,
      scope: null,
      cacheable: true,
      input: z.strictObject({ frame_id: Id, ...filters, limit: limit(12, 50), detail, images }),
      output: z.object({ frames }),
      async run(args) {
        const hits = await search.similar(args.frame_id, { filters: await readFilters(args), limit: args.limit })
        if (!hits) throw notFound('frame; ids come from the other tools')
        const heading =
          hits.length === 0
            ? 'No similar frames; fewer filters may find some.'
            : `${plural(hits.length, 'frame')} like ${args.frame_id}`
        const { frames: shown, ...answer } = await present(heading, hits, { ...args, withVideo: true })
        return { ...answer, structured: { frames: shown } }
      },
    }),
  ]

  /** A video's id from what people have at hand. */
  async function findVideo(given: string): Promise<string | undefined> {
    const term = cleanText(given)
    const sourceKey = sourceKeyOf(term)
    if (sourceKey !== undefined) return (await search.search({ q: term, limit: 1, sourceKey })).videos[0]?.document.id
    if (!Id.safeParse(term).success) return undefined
    if ((await search.video(term)) !== undefined) return term
    return (await search.frame(term))?.frame.video_id
  }
}

/** The commonest values of each attribute: a long tail of authors is nobody's context window's business. */
function mostOf(facets: FacetCounts): Record<string, Record<string, number>> {
  return Object.fromEntries(
    Object.entries(facets).map(([facet, counts]) => [
      facet,
      Object.fromEntries(
        Object.entries(counts)
          .sort(([, a], [, b]) => b - a)
          .slice(0, MAX_COUNTED_VALUES),
      ),
    ]),
  )
}

function countLines(facets: FacetCounts): string {
  const lines = FACETS.map((facet) => {
    const counts = Object.entries(facets[facet]).sort(([, a], [, b]) => b - a)
    if (counts.length === 0) return undefined
    const more = counts.length > 12 ? `, and ${counts.length - 12} more` : ''
    return `${facet}: ${counts
      .slice(0, 12)
      .map(([value, count]) => `${clip(value, 60)} ${count}`)
      .join(', ')}${more}`
  })
  return ['Counts (each as if its own filter were off):', ...lines.filter((line) => line !== undefined)].join('\n')
}
