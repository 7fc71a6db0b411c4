import cssColors from 'color-name'
import { z } from 'zod'
import { cleanText } from '../clean-text.ts'
import { invalid, notFound } from '../errors.ts'
import type { Parameter, Parameters, Values } from '../parameters.ts'
import { COLOR_NAMES, isColorName } from '../search/color.ts'
import type { FrameFilters, FrameQuery, LibrarySearch } from '../search/library-search.ts'
import { valuesCalled } from '../search/text/named-words.ts'
import {
  ATTRIBUTES,
  byName,
  COUNTED,
  type CountedName,
  DERIVED,
  type Derived,
  isListed,
  type ListedName,
  oklabOf,
  plainColor,
  toPolar,
} from '../vocabulary.ts'

/** Schemas of single parameter values. */

export const freeText = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .transform((value) => cleanText(value))

const wholeNumber = (message: string, digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9]{1,${digits}}$`), message)
    .transform(Number)
    .refine((value) => value >= 1, message)
    .meta({ type: 'integer', minimum: 1 })

/** A number above `max` counts as `max`. */
export const limitUpTo = (max: number) =>
  wholeNumber(`must be a whole number from 1 (values above ${max} are capped)`, 300).transform((value) =>
    Math.min(value, max),
  )

/** On or off. OpenAPI calls it a boolean, and generated clients send `true`; people write `1`. */
export const flag = z
  .enum(['0', '1', 'false', 'true'])
  .transform((value) => value === '1' || value === 'true')
  .meta({ type: 'boolean' })

export const plainName = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((value) => !/\p{Cc}/u.test(value), 'must not hold control characters')

/** Short: it stands in the schema of tools. */
export const COLOR_PATTERN = String.raw`^(#?([\da-fA-F]{3}){1,2}|${COLOR_NAMES.join('|')})$`
const COLOR = new RegExp(COLOR_PATTERN)

/** Hex, or a name: also as questions in words call it, navy is blue, and by the names of CSS: chartreuse is green. */
const colorSchema = z
  .string()
  .transform((value) => valuesCalled('color', value.slice(0, 40))[0] ?? calledInCss(value.slice(0, 40)) ?? value)
  .refine((value) => COLOR.test(value), `must be a hex colour such as 1a73e8, or one of ${COLOR_NAMES.join(', ')}`)
  .transform((value) => {
    if (isColorName(value)) return value
    const hex = value.replace('#', '').toLowerCase()
    return `#${hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex}`
  })
  .meta({ pattern: COLOR_PATTERN })

function calledInCss(value: string): string | undefined {
  const name = value.toLowerCase().replace(/[^a-z]+/g, '')
  if (!Object.hasOwn(cssColors, name)) return undefined
  const [red, green, blue] = cssColors[name as keyof typeof cssColors]
  return plainColor(toPolar(oklabOf(red, green, blue)))
}

const PUBLIC_ID = /^[a-z0-9-]{1,64}$/i

/**
 * Rejects an id in a path that cannot be ours, because the search cannot look up every text.
 * @throws AppError not_found
 */
export function requirePublicId(what: 'video' | 'frame', id: string): void {
  if (!PUBLIC_ID.test(id)) throw notFound(what)
}

/** The parameters of the wall: one table for the API, the tools, the pages and OpenAPI. */

export const PAGE_SIZE = 120
/** The length of the longest video address: people paste one to search for it. */
export const MAX_QUERY = 2_000

const closedList = <const T extends readonly string[]>(values: T, description: string) =>
  ({ schema: z.enum(values), many: true, commas: true, description }) as const satisfies Parameter

const open = {
  technique: {
    schema: plainName(64),
    many: true,
    commas: true,
    description: ATTRIBUTES.technique.description,
    example: 'title-card',
  },
  author: { schema: plainName(300), many: true, description: ATTRIBUTES.author.description },
} as const satisfies Record<Exclude<CountedName, ListedName>, Parameter>

type ListedParameters = { [N in ListedName]: ReturnType<typeof closedList<(typeof ATTRIBUTES)[N]['values']>> }

const toClosedList = ({ values, description }: { values: readonly string[]; description: string }) =>
  closedList(values, description)

const positive = {
  ...(byName(COUNTED, (name) =>
    isListed(name) ? toClosedList(ATTRIBUTES[name]) : open[name],
  ) as unknown as typeof open & Omit<ListedParameters, Derived>),
  video: { schema: plainName(64), many: true, description: 'Video id. Repeat it for several.' },
  color: {
    schema: colorSchema,
    many: true,
    commas: true,
    description: 'A colour by name, or hex: frames whose palette is near it in OKLab.',
    example: '9ed5f4',
  },
  ...(byName(DERIVED, (name) => toClosedList(ATTRIBUTES[name])) as unknown as Pick<ListedParameters, Derived>),
} as const satisfies Parameters

type Opposites = { [K in keyof typeof positive as `not_${K}`]: (typeof positive)[K] }
const opposites = Object.fromEntries(
  Object.entries(positive).map(([name, { example: _, ...parameter }]: [string, Parameter]) => [
    `not_${name}`,
    { ...parameter, description: `Leaves out the frames with one of these values of \`${name}\`.` },
  ]),
) as unknown as Opposites

/** What frames are filtered by. */
const FILTERS = Object.keys(positive) as (keyof typeof positive)[]
export const filterParameters = { ...positive, ...opposites }

export const frameParameters = {
  ...filterParameters,
  q: {
    schema: freeText(MAX_QUERY),
    description: [
      'Plain words: each is met by caption, composition, steal or on-screen text, or by the attribute that it names.',
      'Common words are ignored. Quotes ask for a text exactly. A minus or `without` leaves out.',
      'Where no frame meets every word, those that meet most.',
    ].join(' '),
    example: 'dark terminal',
    fallback: '',
  },
  page: {
    schema: wholeNumber('must be a whole number from 1, of 15 digits at most', 15),
    description: '1-based page of 120 frames.',
    example: '1',
    fallback: 1,
  },
  sort: {
    schema: z.enum(['relevance', 'newest', 'strength', 'meaning']),
    description:
      '`relevance` (only with `q`, then the default), `newest` (the video’s arrival, then its time order), ' +
      '`strength`, or with `q` `meaning`: the 24 frames nearest in meaning, and no other page.',
  },
  facets: {
    schema: flag,
    fallback: false,
    description:
      '`1` adds `facets` (counts per value, ignoring its own filter), `total` and, with `q`, `read_as` and `close`.',
  },
  variety: {
    schema: z.enum(['on', 'off']),
    fallback: 'off',
    description: '`on` keeps one frame of each group of near-duplicates across videos.',
  },
  provenance: {
    schema: flag,
    fallback: false,
    description: '`1` adds the full provenance of every attribute.',
  },
} as const satisfies Parameters

/** The order when `sort` is absent. */
export function impliedSort({ q = '' }: { q?: string }): 'relevance' | 'newest' {
  return q === '' ? 'newest' : 'relevance'
}

/** The query that the search takes, for a set of parameters. */
export function toFrameQuery(values: Values<typeof frameParameters>): FrameQuery {
  const q = values.q ?? ''
  if ((values.sort === 'relevance' || values.sort === 'meaning') && q === '')
    throw invalid('sort', `${values.sort} needs q; without it use newest or strength`, ['newest', 'strength'])
  return {
    filters: toFilters(values),
    q,
    sort: values.sort ?? impliedSort(values),
    page: values.page ?? 1,
    pageSize: PAGE_SIZE,
    facets: values.facets ?? false,
    variety: values.variety === 'on',
    provenance: values.provenance ?? false,
  }
}

export function toFilters(values: Values<typeof filterParameters>): FrameQuery['filters'] {
  const filters: Record<string, unknown> = {}
  for (const attribute of Object.keys(filterParameters) as (keyof typeof filterParameters)[]) {
    if (values[attribute] !== undefined) filters[attribute] = values[attribute]
  }
  for (const name of FILTERS) {
    const both = (values[`not_${name}`] as readonly string[] | undefined)?.find((value) =>
      (values[name] as readonly string[] | undefined)?.includes(value),
    )
    if (both !== undefined)
      throw invalid(`not_${name}`, `${name}: "${both}" is both asked for and left out. Send one of them.`)
  }
  return filters as FrameQuery['filters']
}

/**
 * How many frames that pass the filters nobody has described: words find them by their text alone. Undefined for more
 * than are counted.
 */
export async function countUndescribed(search: Pick<LibrarySearch, 'frames'>, filters: FrameFilters) {
  const undescribed = { ...filters, described: ['no'] }
  const query = { filters: undescribed, q: '', sort: 'newest', page: 1, pageSize: 1 } as const
  return (await search.frames({ ...query, facets: false, variety: false, loosen: true })).total
}
