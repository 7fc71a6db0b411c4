import { z } from 'zod'
import { invalid } from '../../errors.ts'
import type { FrameFilters, TechniqueDocument } from '../../search/library-search.ts'
import { currentSlug } from '../../search/techniques.ts'
import { filterParameters, toFilters } from '../../views/frame-query.ts'
import { COLOR_PATTERN } from '../../views/parameter-values.ts'
import { byDerived } from '../../vocabulary.ts'
import { Detail } from '../present.ts'
import { nearestTechniques } from '../suggestions.ts'
import { kebabCase, oneOrMany, wholeNumber } from '../values.ts'
import type { LibraryToolDeps } from './library-deps.ts'
import { videoIdOf } from './video-reference.ts'

const parameters = filterParameters

/** A list described without what its items may be: that spares the model's context. The values are checked. */
function briefly<T extends z.ZodType>(list: T): T {
  return list.meta({ items: { type: 'string' } })
}

/** The filters of `/api/frames`, by the same schemas; `video` is called what results call it. */
export const filterArguments = {
  subject: oneOrMany(parameters.subject.schema, { attribute: 'subject' }).optional(),
  surface: oneOrMany(parameters.surface.schema, { attribute: 'surface' }).optional(),
  shot: oneOrMany(parameters.shot.schema, { attribute: 'shot' }).optional(),
  technique: briefly(oneOrMany(parameters.technique.schema).optional()).describe('Slugs from list_techniques'),
  zone: oneOrMany(parameters.zone.schema, { attribute: 'zone' }).optional().describe('Of the face'),
  tone: oneOrMany(parameters.tone.schema, { attribute: 'tone' }).optional(),
  kind: oneOrMany(parameters.kind.schema, { attribute: 'kind' }).optional(),
  author: briefly(oneOrMany(parameters.author.schema, { commas: false }).optional()).describe('Brands or channels'),
  platform: oneOrMany(parameters.platform.schema, { attribute: 'platform' }).optional(),
  video_id: briefly(oneOrMany(videoReference()).optional()),
  color: oneOrMany(parameters.color.schema)
    .optional()
    .meta({ items: { type: 'string', pattern: COLOR_PATTERN } }),
  ...byDerived((name) => oneOrMany(parameters[name].schema, { attribute: name }).optional()),
}

type FilterArgument = keyof typeof filterArguments

/** What a frame must not be: the same filters by the same names. Its schema is short: it stands in several tools. */
export const notArgument = z
  .record(z.string(), z.union([z.string(), z.array(z.string())]))
  .transform((given): object => given)
  .pipe(z.strictObject(filterArguments).partial())
  .optional()
  .meta({ description: 'Filters to leave out' })

/** The same filters for a tool that takes them beside its main argument, without their closed lists. */
export const briefFilterArguments = Object.fromEntries(
  Object.entries(filterArguments).map(([name, schema]) => [name, briefly(schema)]),
) as typeof filterArguments

export function videoReference() {
  return z.string().max(2_000)
}

export const cursorArgument = z.string().max(100).optional()
export const detailArgument = Detail.default('compact').describe('full adds text, composition, colours')
export const imagesArgument = wholeNumber(0, { min: 0, max: 6 }).describe('Thumbnails to attach')

type Chosen = { [N in FilterArgument]?: z.infer<(typeof filterArguments)[N]> }
type FilterValues = Chosen & { not?: Chosen | undefined }

/**
 * The filters as the search takes them.
 * @throws AppError invalid_request for an unknown technique, with the nearest slugs: a search would only find nothing.
 * not_found for an unknown video.
 */
export async function resolveFilters(
  deps: LibraryToolDeps,
  { not = {}, ...args }: FilterValues,
): Promise<FrameFilters> {
  const left = Object.entries(await byParameters(deps, not)).map(([name, values]) => [`not_${name}`, values])
  return toFilters({ ...(await byParameters(deps, args)), ...Object.fromEntries(left) })
}

/** Chosen values by the names of `/api/frames`. */
async function byParameters(deps: LibraryToolDeps, { video_id, technique, ...rest }: Chosen) {
  return {
    ...rest,
    ...(technique ? { technique: await slugsOf(deps, technique) } : {}),
    ...(video_id ? { video: await Promise.all(video_id.map((given) => videoIdOf(deps, given))) } : {}),
  }
}

async function slugsOf(deps: LibraryToolDeps, given: readonly string[]): Promise<string[]> {
  const kept = await deps.advisor.vocabulary()
  const slugs = given.map((one) => slugOf(kept, one))
  if (slugs.every((slug) => slug !== undefined)) return slugs
  const vocabulary = await deps.search.techniques()
  return given.map((one) => slugOf(vocabulary, one) ?? refuse(vocabulary, one))
}

/** A technique by its slug, also an earlier one, or by its name. */
function slugOf(vocabulary: readonly TechniqueDocument[], given: string): string | undefined {
  if (currentSlug(vocabulary, given) !== undefined) return given
  const slug = kebabCase(given)
  return (vocabulary.find((one) => kebabCase(one.name) === slug) ?? vocabulary.find((one) => one.slug === slug))?.slug
}

function refuse(vocabulary: readonly TechniqueDocument[], given: string): never {
  const near = nearestTechniques(vocabulary, given, 5).map((technique) => technique.slug)
  const help = near.length > 0 ? `Nearest: ${near.join(', ')}.` : 'list_techniques returns them all.'
  throw invalid('technique', `technique: there is no "${given.slice(0, 64)}". ${help}`, near)
}
