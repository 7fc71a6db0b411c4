import { z } from 'zod'
import { POINTS } from '../http/rate-limit.ts'
import { cleanText } from '../views/frame-query.ts'
import { readCursor, toCursor } from './cursor.ts'
import type { LibraryToolDeps } from './frame-tools.ts'
import { CompactFrame, clip, frameLines, plural, toCompactFrame, toLink } from './present.ts'
import { nearestTechniques } from './suggestions.ts'
import { defineTool, READS, type Tool } from './tool.ts'

const Technique = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  frame_count: z.number(),
  image_url: z.string().nullable(),
})
/** Pictures of techniques that are cited: a whole vocabulary of links would cost more than it tells. */
const MAX_TECHNIQUE_LINKS = 10

export function libraryTools({ search, publicUrl, sourceKeyOf }: LibraryToolDeps): Tool[] {
  return [
    defineTool({
      name: 'search_library',
      title: 'Search the library',
      description:
        'One search over videos, frames, brands and techniques. A pasted video URL finds that video. Without a query: the strongest of each.',
      annotations: READS,
      points: POINTS.search,
      scope: null,
      cacheable: true,
      input: z.strictObject({
        query: z.string().max(2000).optional(),
        limit: z.number().int().min(1).max(20).default(5).describe('Rows per group'),
      }),
      output: z.object({
        videos: z.array(
          z.object({
            id: z.string(),
            title: z.string(),
            author: z.string().nullable(),
            frame_count: z.number(),
            image_url: z.string().nullable(),
          }),
        ),
        frames: z.array(CompactFrame),
        brands: z.array(z.object({ name: z.string(), video_count: z.number(), frame_count: z.number() })),
        techniques: z.array(z.object({ slug: z.string(), name: z.string(), frame_count: z.number() })),
      }),
      async run({ query = '', limit }) {
        const q = cleanText(query)
        const found = await search.search({ q, limit, sourceKey: sourceKeyOf(q) })
        const videos = found.videos.map(({ document }) => document)
        const documents = found.frames.map(({ document }) => document)
        const brands = found.brands.map(({ document }) => document)
        const techniques = found.techniques.map(({ document }) => document)
        const parts: string[] = []
        if (videos.length > 0)
          parts.push(
            'Videos',
            ...videos.map(
              (video) =>
                `${video.id} "${clip(video.title, 80)}"${by(video.author)}, ${plural(video.frame_count, 'frame')}`,
            ),
          )
        if (documents.length > 0)
          parts.push(
            'Frames',
            ...documents.map((document) => frameLines(document, publicUrl, { detail: 'compact', withVideo: true })),
          )
        if (brands.length > 0)
          parts.push(
            `Brands: ${brands.map((brand) => `${clip(brand.name, 60)} (${plural(brand.frame_count, 'frame')})`).join(', ')}`,
          )
        if (techniques.length > 0)
          parts.push(
            `Techniques: ${techniques.map((technique) => `${technique.slug} (${plural(technique.frame_count, 'frame')})`).join(', ')}`,
          )
        if (parts.length === 0) parts.push('Nothing found.', ...(await nearest(q)))
        return {
          text: parts.join('\n'),
          links: documents.map((document) => toLink(document, publicUrl)),
          structured: {
            videos: videos.map(({ id, title, author, frame_count, image_path }) => ({
              id,
              title,
              author,
              frame_count,
              image_url: absolute(image_path),
            })),
            frames: documents.map((document) => toCompactFrame(document, publicUrl)),
            brands: brands.map(({ name, video_count, frame_count }) => ({ name, video_count, frame_count })),
            techniques: techniques.map(({ slug, name, frame_count }) => ({ slug, name, frame_count })),
          },
        }
      },
    }),
    defineTool({
      name: 'list_techniques',
      title: 'List techniques',
      description: 'The vocabulary of named, reusable moves: slug, what it is, how many frames show it.',
      annotations: READS,
      points: POINTS.read,
      scope: null,
      cacheable: true,
      input: z.strictObject({
        query: z.string().max(200).optional().describe('Only those whose name or description has this'),
        limit: z.number().int().min(1).max(200).default(100),
        cursor: z.string().max(100).optional(),
      }),
      output: z.object({ techniques: z.array(Technique), next_cursor: z.string().nullable() }),
      async run(args) {
        const number = readCursor('list_techniques', args, args.cursor)
        const vocabulary = await search.techniques()
        const term = cleanText(args.query ?? '').toLowerCase()
        const matching = vocabulary.filter((technique) =>
          [technique.slug, technique.name, technique.description, ...technique.aliases].some((text) =>
            text.toLowerCase().includes(term),
          ),
        )
        const shown = matching.slice((number - 1) * args.limit, number * args.limit)
        const next = number * args.limit < matching.length ? toCursor('list_techniques', args, number + 1) : null
        const heading =
          matching.length === 0
            ? ['No technique has that.', ...(await nearest(term))].join('\n')
            : `${plural(matching.length, 'technique')}${next ? `; more with cursor ${next}` : ''}`
        return {
          text: [
            heading,
            ...shown.map(
              (technique) => `${technique.slug} (${technique.frame_count}): ${clip(technique.description, 120)}`,
            ),
          ].join('\n'),
          links: shown
            .filter((technique) => technique.image_path !== null)
            .slice(0, MAX_TECHNIQUE_LINKS)
            .map((technique) => ({
              uri: publicUrl + technique.image_path,
              name: technique.slug,
              title: technique.name,
            })),
          structured: {
            techniques: shown.map(({ slug, name, description, frame_count, image_path }) => ({
              slug,
              name,
              description,
              frame_count,
              image_url: absolute(image_path),
            })),
            next_cursor: next,
          },
        }
      },
    }),
  ]

  async function nearest(term: string): Promise<string[]> {
    const near = nearestTechniques(await search.techniques(), term, 5)
    if (near.length === 0) return ['Try fewer or other words, or list_techniques and browse_frames.']
    return [`Nearest techniques: ${near.map((technique) => technique.slug).join(', ')}.`]
  }

  function absolute(path: string | null): string | null {
    return path === null ? null : publicUrl + path
  }
}

function by(author: string | null): string {
  return author === null ? '' : ` by ${clip(author, 60)}`
}
