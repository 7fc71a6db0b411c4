import { z } from 'zod'
import { cleanText, quote } from '../../clean-text.ts'
import { invalid, notFound } from '../../errors.ts'
import { frameIdIn } from '../../library/ids.ts'
import {
  brandIdOf,
  type FrameFilters,
  type LibrarySearch,
  type TechniqueDocument,
} from '../../search/library-search.ts'
import { currentSlug } from '../../search/query.ts'
import { nameKey } from '../../search/text/tokens.ts'
import { sourceKeyOf } from '../../video/source/source.ts'
import { nearestTechniques } from '../../views/nearest.ts'
import { COLOR_PATTERN, filterParameters, toFilters } from '../../views/parameters.ts'
import { byName, COUNTED, DERIVED, isListed, type ListedName } from '../../vocabulary.ts'
import { Detail } from '../present.ts'
import type { ToolApp } from '../tool.ts'
import { anySeconds, isIdLike, kebabCase, MAX_VALUES, oneOrMany, splitCommas, wholeNumber } from '../values.ts'

/** What the tools of the library share: what they read from, their filters, and references to videos. */

/** A list described without what its items may be: that spares the model's context. The values are checked. */
function briefly<T extends z.ZodType>(list: T): T {
  return list.meta({ items: { type: 'string' } })
}

/** A filter of a closed list, whose values are known by other names too. */
function closedList<N extends ListedName>(name: N) {
  const list = oneOrMany(filterParameters[name].schema, { attribute: name }).optional()
  return name === 'zone' ? list.describe('Of the face') : list
}

const open = {
  technique: briefly(oneOrMany(filterParameters.technique.schema).optional()).describe('Slugs from list_techniques'),
  author: briefly(oneOrMany(filterParameters.author.schema, { commas: false }).optional()).describe(
    'Brands or channels',
  ),
}
type ListedArguments = { [N in ListedName]: ReturnType<typeof closedList<N>> }

/** The filters of `/api/frames`, by the same schemas; `video` is called what results call it. */
export const filterArguments = {
  ...(byName(COUNTED, (name) => (isListed(name) ? closedList(name) : open[name])) as typeof open & ListedArguments),
  video_id: briefly(oneOrMany(videoReference(), { commas: false }).optional()),
  color: oneOrMany(filterParameters.color.schema)
    .optional()
    .meta({ items: { type: 'string', pattern: COLOR_PATTERN } }),
  ...byName(DERIVED, closedList),
}

type FilterArgument = keyof typeof filterArguments

/** Values of a filter in a short schema, which is checked again by the filter's own. */
const values = z.union([z.string(), z.array(z.string())], 'must be a text or a list of texts')

/** Filters within an argument: one that is unknown is told with those that there are. */
function onlyFilters<S extends z.ZodRawShape>(shape: S) {
  const names = Object.keys(shape).join(', ')
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? `no filter ${issue.keys.join(', ').slice(0, 100)}; ${names}` : undefined,
  })
}

/** What a frame must not be: the same filters by the same names. Its schema is short: it stands in several tools. */
export const notArgument = z
  .record(z.string(), values)
  .transform((given): object => given)
  .pipe(onlyFilters(filterArguments).partial())
  .optional()
  .meta({ description: 'Filters to leave out' })

const { author: _, platform: __, video_id: ___, ...withinFilm } = filterArguments
const stepFilters = onlyFilters({ ...withinFilm, query: z.string().max(500), within_sec: z.number() }).partial()

/** A step of a sequence: the filters in which frames of one film differ, or words. Its schema is short too. */
export const stepArgument = z
  .object({ within_sec: anySeconds.optional() })
  .catchall(values)
  .transform((given): object => given)
  .pipe(stepFilters)
  .refine(({ within_sec: _, ...asked }) => Object.values(asked).some(Boolean), 'needs a filter or a query')

/** @throws AppError invalid_request for an unknown technique, with the nearest slugs */
export async function resolveStep(
  deps: ToolApp,
  { technique, ...step }: z.output<typeof stepArgument>,
): Promise<z.output<typeof stepArgument>> {
  return technique ? { ...step, technique: await slugsOf(deps, technique) } : step
}

/** The same filters without what search_frames alone tells of them: it costs every listing tokens. */
export const briefFilterArguments = Object.fromEntries(
  Object.entries(filterArguments).map(([name, schema]) => [name, briefly(schema).meta({ description: undefined })]),
) as typeof filterArguments

export function videoReference() {
  return z.string().max(2_000)
}

export const cursorArgument = z.string().max(100).optional()
export const briefDetailArgument = Detail.default('compact')
export const detailArgument = briefDetailArgument.describe('full adds text, composition, colours')
export const imagesArgument = wholeNumber(0, { min: 0, max: 6 }).describe('Thumbnails to attach')

type Chosen = { [N in FilterArgument]?: z.infer<(typeof filterArguments)[N]> }
type FilterValues = Chosen & { not?: Chosen | undefined }

/**
 * The filters as the search takes them.
 * @throws AppError invalid_request for an unknown technique, with the nearest slugs: a search would only find nothing.
 * not_found for an unknown video.
 */
export async function resolveFilters(deps: ToolApp, { not = {}, ...args }: FilterValues): Promise<FrameFilters> {
  const left = Object.entries(await byParameters(deps, not)).map(([name, values]) => [`not_${name}`, values])
  return toFilters({ ...(await byParameters(deps, args)), ...Object.fromEntries(left) })
}

/** Chosen values by the names of `/api/frames`. */
async function byParameters(deps: ToolApp, { video_id, technique, ...rest }: Chosen) {
  return {
    ...rest,
    ...(technique ? { technique: await slugsOf(deps, technique) } : {}),
    ...(video_id ? { video: await videoIdsOf(deps, video_id) } : {}),
  }
}

async function slugsOf(deps: ToolApp, given: readonly string[]): Promise<string[]> {
  const kept = await deps.vocabulary()
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

/** More names that the library does not have as they are written are left so: each takes a search. */
const MOST_RESPELLED = 5

/**
 * Brands as the library spells them: they are matched exactly, and models write them their own way. `notes` say what
 * was read as what, and what there is none of.
 */
export async function spellBrands(search: LibrarySearch, names: readonly string[]) {
  const known = names.length > 0 ? await search.documents('brands', names.map(brandIdOf)) : new Map()
  const notes: string[] = []
  const spelled: string[] = []
  let left = MOST_RESPELLED
  for (const name of names) {
    const brand = known.has(brandIdOf(name)) || left-- <= 0 ? { name } : await spellBrand(search, name)
    spelled.push(brand.name)
    if (brand.note !== undefined) notes.push(brand.note)
  }
  if (left < 0) notes.push(`- ${-left} more names of brands are unknown as they are written.`)
  return { names: spelled, notes }
}

async function spellBrand(
  search: Pick<LibrarySearch, 'search'>,
  name: string,
): Promise<{ name: string; note?: string }> {
  const { brands } = await search.search({ q: cleanText(name), limit: 5, namesOnly: true })
  const names = brands.map(({ document }) => document.name)
  const same = names.find((one) => nameKey(one) === nameKey(name))
  if (same) return { name: same, note: `(author read as ${quote(same, 60)})` }
  const near = names.length > 0 ? ` The nearest: ${names.map((one) => quote(one, 60)).join(', ')}.` : ''
  return { name, note: `- no brand is called ${quote(name, 60)}.${near}` }
}

/** The filters with all brands as the library spells them, those to leave out too. */
export async function readBrands(
  search: LibrarySearch,
  filters: FrameFilters,
): Promise<{ filters: FrameFilters; notes: string[] }> {
  const { author = [], not_author = [] } = filters
  const { names, notes } = await spellBrands(search, [...author, ...not_author])
  const [asked, without] = [names.slice(0, author.length), names.slice(author.length)]
  const both = without.find((name) => asked.includes(name))
  if (both !== undefined)
    throw invalid('not', `author asks for ${quote(both, 60)}, and not leaves it out: send one of them`)
  const spelled = { ...(filters.author && { author: asked }), ...(filters.not_author && { not_author: without }) }
  return { filters: { ...filters, ...spelled }, notes }
}

/** References to a video: its id, an address of it or of one of its frames, a frame's id, its source URL, its title. */
type Deps = Pick<ToolApp, 'search' | 'publicUrl'>

/** @throws AppError not_found for a video that is not public, naming what was given. */
export async function videoIdOf(deps: Deps, given: string): Promise<string> {
  const id = await findVideo(deps, given)
  if (id === undefined) throw noSuchVideo([given])
  return id
}

/** A single text that names no video is a list with commas. @throws AppError not_found */
async function videoIdsOf(deps: Deps, given: readonly string[]): Promise<string[]> {
  const [text = '', ...more] = given
  const isList = more.length === 0 && text.includes(',') && (await findVideo(deps, text)) === undefined
  const names = isList ? (splitCommas(text) as string[]) : given
  if (names.length > MAX_VALUES) throw noSuchVideo(given)
  // One after the other: none goes on when one is not found, and a call takes one connection at a time.
  const ids: string[] = []
  for (const one of names) ids.push(await videoIdOf(deps, one))
  return ids
}

export function noSuchVideo(given: readonly string[]): Error {
  const named = given.map((one) => quote(one, 80)).join(', ')
  return notFound(`video: ${named}. Pass ids, URLs or whole titles; search_library finds videos by title or URL`)
}

export async function findVideo(deps: Deps, given: string): Promise<string | undefined> {
  const { search, publicUrl } = deps
  const term = cleanText(given)
  const named = ownReference(term, publicUrl)
  if (named === undefined) {
    const sourceKey = sourceKeyOf(term)
    if (sourceKey === undefined) return findByTitle(search, term)
    return (await search.search({ q: term, limit: 1, sourceKey, asker: 'agents' })).videos[0]?.document.id
  }
  if ((await search.video(named)) !== undefined) return named
  return (await search.frame(named))?.frame.video_id ?? findByTitle(search, term)
}

const MOST_OF_A_TITLE = 300

/** The video that alone has this title. */
async function findByTitle(search: Deps['search'], term: string): Promise<string | undefined> {
  if (term.length > MOST_OF_A_TITLE) return undefined
  const { videos } = await search.search({ q: term, limit: 5, namesOnly: true })
  const same = videos.filter(({ document }) => nameKey(document.title) === nameKey(term))
  return same.length === 1 ? same[0]!.document.id : undefined
}

/** The id in a text that is an id or an address of this service; undefined for any other text. */
function ownReference(term: string, publicUrl: string): string | undefined {
  const [path = ''] = (term.startsWith(publicUrl) ? term.slice(publicUrl.length) : term).split(/[?#]/)
  const video = /^\/(?:api\/)?videos\/([\w-]+)(?:\/frames)?\/?$/.exec(path)?.[1]
  const id = video ?? frameIdIn(term)
  return isIdLike(id) ? id : undefined
}
