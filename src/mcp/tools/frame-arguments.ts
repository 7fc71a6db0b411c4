import { z } from 'zod'
import { invalid } from '../../errors.ts'
import type { FrameFilters, LibrarySearch } from '../../search/library-search.ts'
import { currentSlug } from '../../search/techniques.ts'
import { filterParameters, toFilters } from '../../views/frame-query.ts'
import { Detail } from '../present.ts'
import { nearestTechniques } from '../suggestions.ts'
import { oneOrMany } from '../tool.ts'

const parameters = filterParameters

/** The filters of `/api/frames`, by the same schemas. */
export const filterArguments = {
  subject: oneOrMany(parameters.subject.schema).optional(),
  surface: oneOrMany(parameters.surface.schema).optional(),
  shot: oneOrMany(parameters.shot.schema).optional(),
  technique: oneOrMany(parameters.technique.schema).optional().describe('Slugs from list_techniques'),
  zone: oneOrMany(parameters.zone.schema).optional().describe('Where the face sits'),
  tone: oneOrMany(parameters.tone.schema).optional(),
  kind: oneOrMany(parameters.kind.schema).optional(),
  author: oneOrMany(parameters.author.schema, { commas: false }).optional().describe('Exact brand or channel names'),
  platform: oneOrMany(parameters.platform.schema).optional(),
  video: oneOrMany(parameters.video.schema).optional().describe('Video ids'),
  color: oneOrMany(
    z
      .string()
      .regex(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, 'must be a hex colour such as #1a73e8')
      .pipe(parameters.color.schema),
  )
    .optional()
    .describe('Hex colours to be near'),
}

export const cursorArgument = z.string().max(100).optional().describe('next_cursor of the previous answer')
export const detailArgument = Detail.default('compact').describe(
  'full adds composition, what to take from it, on-screen text, colours, source link',
)
export const imagesArgument = z.number().int().min(0).max(6).default(0).describe('Attach this many thumbnails inline')

export function limitArgument(fallback: number, max: number) {
  return z.number().int().min(1).max(max).default(fallback)
}

/**
 * The filters as the search takes them.
 * @throws AppError invalid_request for an unknown technique, with the nearest slugs: a search would only find nothing.
 */
export async function resolveFilters(
  search: LibrarySearch,
  args: Parameters<typeof toFilters>[0],
): Promise<FrameFilters> {
  const wanted = toFilters(args)
  if (!wanted.technique) return wanted
  const vocabulary = await search.techniques()
  const unknown = wanted.technique.find((slug) => currentSlug(vocabulary, slug) === undefined)
  if (unknown === undefined) return wanted
  const near = nearestTechniques(vocabulary, unknown, 5).map((technique) => technique.slug)
  const help = near.length > 0 ? `Nearest: ${near.join(', ')}.` : 'list_techniques returns them all.'
  throw invalid('technique', `technique: there is no "${unknown.slice(0, 64)}". ${help}`, near)
}
