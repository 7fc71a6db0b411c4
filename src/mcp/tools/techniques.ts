import { z } from 'zod'
import { cleanText, clip, plural } from '../../clean-text.ts'
import type { TechniqueDocument } from '../../search/library-search.ts'
import { readCursor, toCursor } from '../arguments.ts'
import { moreWith } from '../present.ts'
import { nearestTechniquesLine } from '../suggestions.ts'
import { defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, limitArgument } from '../values.ts'
import { cursorArgument } from './library.ts'

const Technique = z.object({
  slug: z.string(),
  description: z.string(),
  frame_count: z.number(),
})

/** The pictures of a whole vocabulary would cost more tokens than they are worth. */
const MAX_EXAMPLES = 4
const MAX_DESCRIPTION = 100
/** Others are counted. */
const MAX_UNUSED = 100

export function listTechniques({ search, publicUrl }: ToolApp): Tool {
  return defineTool({
    name: 'list_techniques',
    title: 'List techniques',
    description: 'The vocabulary of named, reusable moves, most used first: slug, frames, what it is.',
    annotations: READS,
    price: 'read',
    scope: null,
    cacheable: true,
    input: z.strictObject({
      query: z.string().max(200).optional().describe('In its name or description'),
      limit: limitArgument(100, 200),
      cursor: cursorArgument,
      format: formatArgument,
    }),
    output: z.object({
      techniques: z.array(Technique),
      unused: z.array(z.string()),
      total: z.number(),
      next_cursor: z.string().nullable(),
    }),
    async run(args) {
      const { page } = readCursor('list_techniques', args, args.cursor)
      const vocabulary = await search.techniques()
      const term = cleanText(args.query ?? '').toLowerCase()
      const matching = vocabulary.filter((technique) => mentions(technique, term))
      const used = matching.filter(({ frame_count }) => frame_count > 0).sort((a, b) => b.frame_count - a.frame_count)
      const shown = used.slice((page - 1) * args.limit, page * args.limit)
      const next = page * args.limit < used.length ? toCursor('list_techniques', args, page + 1) : null
      const isPast = page > 1 && shown.length === 0
      const rest = page > 1 ? [] : matching.filter(({ frame_count }) => frame_count === 0).map(({ slug }) => slug)
      const notes = matching.length === 0 ? ['No matching technique.', nearestTechniquesLine(vocabulary, term)] : []
      const heading =
        notes.length > 0
          ? notes.join('\n')
          : `${plural(matching.length, 'technique')}, ${used.length} in use${isPast ? '; no more' : moreWith(next)}`
      const techniques = shown.map(({ slug, description, frame_count }) => {
        return { slug, description: clip(description, MAX_DESCRIPTION), frame_count }
      })
      const links = shown.slice(0, MAX_EXAMPLES).flatMap(({ slug, image_path }) => {
        return image_path === null ? [] : [{ uri: publicUrl + image_path, name: slug }]
      })
      const unused = rest.slice(0, MAX_UNUSED)
      const more = rest.length > unused.length ? `, and ${rest.length - unused.length} more` : ''
      return {
        text: [
          heading,
          ...techniques.map(({ slug, frame_count, description }) => {
            const example = links.find(({ name }) => name === slug)
            return `${slug} (${frame_count}): ${description}${example ? `\n${example.uri}` : ''}`
          }),
          ...(unused.length > 0 ? [`Of no frame yet: ${unused.join(', ')}${more}`] : []),
        ].join('\n'),
        links,
        notes,
        structured: { techniques, unused, total: matching.length, next_cursor: next },
      }
    },
  })
}

function mentions({ slug, name, description, aliases }: TechniqueDocument, term: string): boolean {
  return [slug, name, description, ...aliases].some((text) => text.toLowerCase().includes(term))
}
