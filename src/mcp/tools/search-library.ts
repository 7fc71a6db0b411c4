import { z } from 'zod'
import { cleanText, plural, quote } from '../../clean-text.ts'
import type { SearchGroups, VideoDocument } from '../../search/library-search.ts'
import { sourceKeyOf } from '../../video/source/source.ts'
import { CompactFrame, captionOf, frameLines, toCompactFrame, toLink, VideoNames } from '../present.ts'
import { nearestTechniquesLine } from '../suggestions.ts'
import { defineTool, SHOWS_FRAMES, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, limitArgument } from '../values.ts'
import { readingLines } from './frames.ts'

const words = z.array(z.string()).optional()

const Groups = z.object({
  videos: z.array(VideoNames.element.extend({ frame_count: z.number() })),
  frames: z.array(CompactFrame.extend({ shares: words, missing: words })),
  brands: z.array(z.object({ name: z.string(), video_count: z.number(), frame_count: z.number() })),
  techniques: z.array(z.object({ slug: z.string(), name: z.string(), frame_count: z.number() })),
})

export function searchLibrary({ search, vocabulary, publicUrl }: ToolApp): Tool {
  return defineTool({
    ...SHOWS_FRAMES,
    name: 'search_library',
    title: 'Search the library',
    description:
      'One search over videos, frames, brands and techniques. A pasted video URL finds that video. ' +
      'Without a query: the strongest of each, brands with their frames.',
    price: 'write',
    input: z.strictObject({
      query: z.string().max(2000).optional(),
      limit: limitArgument(5, 20).describe('Rows per group'),
      format: formatArgument,
    }),
    output: Groups,
    async run({ query = '', limit }) {
      const q = cleanText(query)
      const sourceKey = sourceKeyOf(q)
      const groups = await search.search({ q, limit, sourceKey, asker: 'agents' })
      const found = documentsOf(groups)
      const lines = groupLines(found, publicUrl)
      const byWords = found.frames.filter(({ meaning }) => meaning === undefined)
      const hasNoFull = byWords.length > 0 && byWords.every(({ missing }) => missing)
      const notes = [
        ...(sourceKey && found.videos.length === 0 ? [NOT_HERE] : []),
        ...(lines.length > 0 || sourceKey ? [] : ['Nothing found.', nearestTechniquesLine(await vocabulary(), q)]),
        ...readingLines(groups.readAs, groups.frames, hasNoFull),
      ]
      return {
        text: [...lines, ...notes].join('\n'),
        notes,
        links: found.frames.map(({ document }) => toLink(document, publicUrl)),
        structured: toGroups(found, publicUrl),
      }
    },
  })
}

const NOT_HERE = 'No video of this address is here. Operators add one with add_video; video_status tells how far it is.'

type FoundDocuments = ReturnType<typeof documentsOf>

function documentsOf({ videos, frames, brands, techniques }: SearchGroups) {
  return {
    videos: videos.map(({ document }) => document),
    frames: frames.map(({ document, missing, matched }) => ({ document, missing, meaning: matched.meaning })),
    brands: brands.map(({ document }) => document),
    techniques: techniques.map(({ document }) => document),
  }
}

function groupLines({ videos, frames, brands, techniques }: FoundDocuments, publicUrl: string): string[] {
  const lines: string[] = []
  if (videos.length > 0) lines.push('Videos', ...videos.map(videoLine))
  if (frames.length > 0) lines.push('Frames', ...frameLines(frames, publicUrl, { detail: 'compact', withVideo: true }))
  if (brands.length > 0) {
    const counted = brands.map(({ name, frame_count }) => `${quote(name, 60)} (${plural(frame_count, 'frame')})`)
    lines.push(`Brands: ${counted.join(', ')}`)
  }
  if (techniques.length > 0) {
    const counted = techniques.map(({ slug, frame_count }) => `${slug} (${plural(frame_count, 'frame')})`)
    lines.push(`Techniques: ${counted.join(', ')}`)
  }
  return lines
}

function videoLine({ id, title, author, frame_count }: VideoDocument): string {
  const by = author === null ? '' : ` by ${quote(author, 60)}`
  return `${id} ${quote(title, 80)}${by}, ${plural(frame_count, 'frame')}`
}

function toGroups({ videos, frames, brands, techniques }: FoundDocuments, publicUrl: string): z.infer<typeof Groups> {
  return {
    videos: videos.map(({ id, title, author, frame_count }) => ({
      id,
      title,
      author: author ?? undefined,
      frame_count,
    })),
    frames: frames.map(({ document, missing, meaning }) => ({
      ...toCompactFrame(document, publicUrl, captionOf(frames)),
      shares: meaning === undefined ? undefined : [`meaning ${meaning}`],
      missing: missing && [...missing],
    })),
    brands: brands.map(({ name, video_count, frame_count }) => ({ name, video_count, frame_count })),
    techniques: techniques.map(({ slug, name, frame_count }) => ({ slug, name, frame_count })),
  }
}
