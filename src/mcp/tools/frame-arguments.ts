import cssColors from 'color-name'
import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { COLOR_NAMES } from '../../search/attribute-words.ts'
import { colorNames, isColorName } from '../../search/color.ts'
import type { FrameFilters, TechniqueDocument } from '../../search/library-search.ts'
import { currentSlug } from '../../search/techniques.ts'
import { valuesCalled } from '../../search/text/named-words.ts'
import { filterParameters, toFilters } from '../../views/frame-query.ts'
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

/** Short: it stands in the schema. */
const COLOR = String.raw`^(#?([\da-fA-F]{3}){1,2}|${COLOR_NAMES.join('|')})$`

/** Also as questions in words call it, navy is blue, and by the names of CSS: chartreuse is green. */
function color() {
  const isColor = new RegExp(COLOR)
  return z
    .string()
    .transform((value) => valuesCalled('color', value.slice(0, 40))[0] ?? calledInCss(value.slice(0, 40)) ?? value)
    .refine((value) => isColor.test(value), `must be a hex colour such as #1a73e8, or one of ${COLOR_NAMES.join(', ')}`)
    .transform((value) => (isColorName(value) ? value : parameters.color.schema.parse(value)))
}

function calledInCss(value: string): string | undefined {
  const name = value.toLowerCase().replace(/[^a-z]+/g, '')
  if (!Object.hasOwn(cssColors, name)) return undefined
  const [red, green, blue] = cssColors[name as keyof typeof cssColors]
  const hex = `#${((red << 16) | (green << 8) | blue).toString(16).padStart(6, '0')}`
  return colorNames([hex], [1])[0]
}

/** The filters of `/api/frames`, by the same schemas; `video` is called what results call it. */
export const filterArguments = {
  subject: oneOrMany(parameters.subject.schema, { attribute: 'subject' }).optional(),
  surface: oneOrMany(parameters.surface.schema, { attribute: 'surface' }).optional(),
  shot: oneOrMany(parameters.shot.schema, { attribute: 'shot' }).optional(),
  technique: briefly(oneOrMany(parameters.technique.schema).optional()).describe('Slugs from list_techniques'),
  zone: oneOrMany(parameters.zone.schema, { attribute: 'zone' }).optional().describe('Where the face sits'),
  tone: oneOrMany(parameters.tone.schema, { attribute: 'tone' }).optional(),
  kind: oneOrMany(parameters.kind.schema, { attribute: 'kind' }).optional(),
  author: briefly(oneOrMany(parameters.author.schema, { commas: false }).optional()).describe('Brands or channels'),
  platform: oneOrMany(parameters.platform.schema, { attribute: 'platform' }).optional(),
  video_id: briefly(oneOrMany(videoReference()).optional()),
  color: oneOrMany(color())
    .optional()
    .meta({ items: { type: 'string', pattern: COLOR } }),
}

/** The same filters for a tool that takes them beside its main argument, without their closed lists. */
export const briefFilterArguments = Object.fromEntries(
  Object.entries(filterArguments).map(([name, schema]) => [name, briefly(schema)]),
) as typeof filterArguments

export function videoReference() {
  return z.string().max(2_000)
}

export const cursorArgument = z.string().max(100).optional().describe('The last next_cursor')
export const detailArgument = Detail.default('compact').describe(
  'full adds on-screen text, composition, colours, source',
)
export const imagesArgument = wholeNumber(0, { min: 0, max: 6 }).describe('Thumbnails to attach')

type FilterValues = Parameters<typeof toFilters>[0] & { video_id?: string[] | undefined }

/**
 * The filters as the search takes them.
 * @throws AppError invalid_request for an unknown technique, with the nearest slugs: a search would only find nothing.
 * not_found for an unknown video.
 */
export async function resolveFilters(deps: LibraryToolDeps, args: FilterValues): Promise<FrameFilters> {
  const wanted = toFilters(args)
  if (args.video_id) wanted.video = await Promise.all(args.video_id.map((given) => videoIdOf(deps, given)))
  if (!wanted.technique) return wanted
  const kept = await deps.advisor.vocabulary()
  const technique = wanted.technique.map((given) => slugOf(kept, given))
  if (technique.every((slug) => slug !== undefined)) return { ...wanted, technique }
  const vocabulary = await deps.search.techniques()
  return {
    ...wanted,
    technique: wanted.technique.map((given) => slugOf(vocabulary, given) ?? refuse(vocabulary, given)),
  }
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
