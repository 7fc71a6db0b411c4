import { z } from 'zod'
import { invalid } from '../errors.ts'
import type { Parameter, Parameters, Values } from '../parameters.ts'
import type { FrameQuery } from '../search/library-search.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'

/** The parameters of the open reads: one table for reading them, for OpenAPI and for the pages. */

export const PAGE_SIZE = 120
/** As long as an address of a video may be: whoever pastes one searches for it. */
export const MAX_QUERY = 2_000
export const SEARCH_LIMIT = { default: 6, max: 20 } as const

const text = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .transform((value) => cleanText(value))

/** NFC, no control characters, no lone surrogates, one space between words: what the engines can hold. */
export function cleanText(value: string): string {
  return value
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

const wholeNumber = (message: string, digits = 15) =>
  z
    .string()
    .regex(new RegExp(`^[0-9]{1,${digits}}$`), message)
    .transform(Number)
    .refine((value) => value >= 1, message)
    .meta({ type: 'integer', minimum: 1 })

/** However large: what is above `max` is capped. */
const limitUpTo = (max: number) =>
  wholeNumber(`must be a whole number from 1 (values above ${max} are capped)`, 300).transform((value) =>
    Math.min(value, max),
  )

const name = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((value) => !/\p{Cc}/u.test(value), 'must not hold control characters')

export const colorSchema = z
  .string()
  .regex(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, 'must be a hex colour such as 1a73e8')
  .transform((value) => {
    const hex = value.replace('#', '').toLowerCase()
    return `#${hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex}`
  })

const closedList = <const T extends readonly string[]>(values: T, description: string) =>
  ({ schema: z.enum(values), many: true, commas: true, description }) as const satisfies Parameter

export const filterParameters = {
  subject: closedList(SUBJECTS, 'What the frame shows.'),
  surface: closedList(SURFACES, 'What it was made with.'),
  shot: closedList(SHOTS, 'How close the presenter is.'),
  technique: {
    schema: name(64),
    many: true,
    commas: true,
    description: 'Slug of a named technique; see /api/techniques.',
    example: 'text-card',
  },
  zone: closedList(ZONES, 'Where the largest face sits: `none`, or a cell of the 3×3 grid.'),
  tone: closedList(TONES, 'Dark or bright, measured from luminance.'),
  kind: closedList(KINDS, '`cut` a shot change, `beat` a time sample, `intro` an opening frame.'),
  author: {
    schema: name(300),
    many: true,
    description: 'Brand or channel name, exact. Repeat it for several (names may hold commas).',
  },
  platform: closedList(PLATFORMS, 'Where the video was published.'),
  video: { schema: name(64), many: true, description: 'Video id.' },
  color: {
    schema: colorSchema,
    many: true,
    commas: true,
    description: 'Hex colour; frames whose palette is near it in OKLab.',
    example: '1a73e8',
  },
} as const satisfies Parameters

export const frameParameters = {
  ...filterParameters,
  q: {
    schema: text(MAX_QUERY),
    description: 'Free text over caption, composition, steal and on-screen text.',
    example: 'dark terminal',
    fallback: '',
  },
  page: {
    schema: wholeNumber('must be a whole number from 1, of 15 digits at most'),
    description: '1-based page of 120 frames.',
    example: '1',
    fallback: 1,
  },
  sort: {
    schema: z.enum(['relevance', 'newest', 'strength']),
    description:
      '`relevance` (only with `q`, then the default), `newest` (the video’s arrival, then its time order) or `strength`.',
  },
  facets: {
    schema: z.enum(['0', '1']),
    fallback: '0',
    description: '`1` adds `facets` (counts per value, computed as if its own filter were off) and `total`.',
  },
  variety: {
    schema: z.enum(['on', 'off']),
    fallback: 'off',
    description: '`on` keeps one frame of each group of near-duplicates across videos.',
  },
  provenance: {
    schema: z.enum(['0', '1']),
    fallback: '0',
    description: '`1` adds the full provenance of every attribute.',
  },
  debug: {
    schema: z.enum(['0', '1']),
    fallback: '0',
    description: '`1` tells engine, time and age of the read model; such an answer is not cached.',
  },
} as const satisfies Parameters

export const searchParameters = {
  q: {
    schema: text(MAX_QUERY),
    description: 'The term, or the URL of a video. Blank: the strongest rows of each kind.',
    example: 'terminal',
    fallback: '',
  },
  limit: {
    schema: limitUpTo(SEARCH_LIMIT.max),
    description: 'Rows per group: 6 unless told, 20 at most (higher values are capped).',
    example: '6',
    fallback: SEARCH_LIMIT.default,
  },
  debug: frameParameters.debug,
} as const satisfies Parameters

export const videoFramesParameters = {
  provenance: frameParameters.provenance,
  debug: frameParameters.debug,
} as const satisfies Parameters
export const frameByIdParameters = { provenance: frameParameters.provenance } as const satisfies Parameters

const listLimit = (fallback: number, max: number) =>
  ({
    schema: limitUpTo(max),
    description: `Rows: ${fallback} unless told, ${max} at most.`,
    fallback,
  }) as const
const after = { schema: name(4_000), description: 'The `next` of the previous answer.' } as const

export const similarParameters = { ...filterParameters, limit: listLimit(24, 120) } as const satisfies Parameters
export const videosParameters = {
  after,
  limit: listLimit(60, 120),
  author: { schema: name(300), description: 'Brand or channel name, exact.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Where the video was published.' },
} as const satisfies Parameters
export const brandsParameters = { after, limit: listLimit(60, 120) } as const satisfies Parameters
export const techniquesParameters = {} as const satisfies Parameters

/** The order asked for by nothing else than the other parameters. */
export function impliedSort({ q = '' }: { q?: string }): 'relevance' | 'newest' {
  return q === '' ? 'newest' : 'relevance'
}

/** The read contract's query for a set of parameters; technique slugs are resolved by the caller. */
export function toFrameQuery(values: Values<typeof frameParameters>): FrameQuery {
  const q = values.q ?? ''
  if (values.sort === 'relevance' && q === '')
    throw invalid('sort', 'relevance needs q; without it use newest or strength', ['newest', 'strength'])
  return {
    filters: toFilters(values),
    q,
    sort: values.sort ?? impliedSort(values),
    page: values.page ?? 1,
    pageSize: PAGE_SIZE,
    facets: values.facets === '1',
    variety: values.variety === 'on',
    provenance: values.provenance === '1',
  }
}

export function toFilters(values: Values<typeof filterParameters>): FrameQuery['filters'] {
  const filters: Record<string, unknown> = {}
  for (const attribute of Object.keys(filterParameters) as (keyof typeof filterParameters)[]) {
    if (values[attribute] !== undefined) filters[attribute] = values[attribute]
  }
  return filters as FrameQuery['filters']
}
