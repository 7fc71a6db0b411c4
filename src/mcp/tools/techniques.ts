import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import type { TechniqueDocument } from '../../search/library-search.ts'
import { toTechnique } from '../../views/resources.ts'
import { clip, plural } from '../../views/short-text.ts'
import { readCursor, toCursor } from '../arguments.ts'
import { moreWith } from '../present.ts'
import { nearestTechniquesLine } from '../suggestions.ts'
import { defineTool, type ImageLink, READS, type Tool, type ToolApp } from '../tool.ts'
import { limitArgument } from '../values.ts'
import { cursorArgument } from './library.ts'

const Technique = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  frame_count: z.number(),
  image_url: z.string().nullable(),
})

/** The pictures of a whole vocabulary would cost more tokens than they are worth. */
const MAX_EXAMPLES = 10

export function listTechniques({ search, publicUrl }: ToolApp): Tool {
  return defineTool({
    name: 'list_techniques',
    title: 'List techniques',
    description:
      'The vocabulary of named, reusable moves, most used first: slug, what it is, how many frames, an example.',
    annotations: READS,
    price: 'read',
    scope: null,
    cacheable: true,
    input: z.strictObject({
      query: z.string().max(200).optional().describe('In its name or description'),
      limit: limitArgument(100, 200),
      cursor: cursorArgument,
    }),
    output: z.object({ techniques: z.array(Technique), total: z.number(), next_cursor: z.string().nullable() }),
    async run(args) {
      const { page } = readCursor('list_techniques', args, args.cursor)
      const vocabulary = await search.techniques()
      const term = cleanText(args.query ?? '').toLowerCase()
      const matching = vocabulary
        .filter((technique) => mentions(technique, term))
        .sort((a, b) => b.frame_count - a.frame_count)
      const shown = matching.slice((page - 1) * args.limit, page * args.limit)
      const next = page * args.limit < matching.length ? toCursor('list_techniques', args, page + 1) : null
      const heading =
        matching.length === 0
          ? `No matching technique.\n${nearestTechniquesLine(vocabulary, term)}`
          : `${plural(matching.length, 'technique')}${shown.length > 0 ? moreWith(next) : '; no more on this page'}`
      const techniques = shown.map((technique) => toTechnique(technique, publicUrl))
      return {
        text: [heading, ...techniques.map(linesOf)].join('\n'),
        links: techniques.slice(0, MAX_EXAMPLES).flatMap(pictureOf),
        structured: { techniques, total: matching.length, next_cursor: next },
      }
    },
  })
}

function mentions({ slug, name, description, aliases }: TechniqueDocument, term: string): boolean {
  return [slug, name, description, ...aliases].some((text) => text.toLowerCase().includes(term))
}

function linesOf({ slug, frame_count, description, image_url }: z.infer<typeof Technique>, at: number): string {
  const example = at < MAX_EXAMPLES && image_url !== null ? `\n${image_url}` : ''
  return `${slug} (${frame_count}): ${clip(description, 120)}${example}`
}

function pictureOf({ slug, name, image_url }: z.infer<typeof Technique>): ImageLink[] {
  return image_url === null ? [] : [{ uri: image_url, name: slug, title: name }]
}
