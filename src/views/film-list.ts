import { z } from 'zod'
import { AppError, invalid } from '../errors.ts'
import type { FilmRow } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName } from '../library/films/measures.ts'
import type { Parameter, Parameters } from '../parameters.ts'
import { readCursor, toCursor } from '../search/postgres/documents.ts'
import { PLATFORMS } from '../vocabulary.ts'
import type { FilmDeps } from './film.ts'
import { plainName } from './parameters.ts'

/** Films by their measures: filtered, sorted and paged. */

const BOUND = /^\w+:-?\d+(\.\d+)?$/

/** `shot_median_sec:2` */
export const boundSchema = z
  .string()
  .regex(BOUND, 'must be a measure and a number, such as shot_median_sec:2')
  .transform((value) => {
    const [name, number] = value.split(':') as [string, string]
    return { name, value: Number(number) }
  })
type Bound = z.output<typeof boundSchema>

const boundParameter = (what: string, example: string) =>
  ({
    schema: boundSchema,
    many: true,
    commas: true,
    description: `A measure and the ${what} that it may be. Repeat it for several.`,
    example,
  }) as const satisfies Parameter

/** What films are filtered and sorted by, for the API and the page. */
export const filmParameters = {
  sort: {
    schema: z.enum(MEASURE_NAMES as [MeasureName, ...MeasureName[]]),
    fallback: 'shots_a_minute',
    description: 'The measure that they are sorted by. Films without it are left out.',
  },
  order: { schema: z.enum(['desc', 'asc']), fallback: 'desc', description: 'The greatest first, or the least.' },
  min: boundParameter('least', 'shots:10'),
  max: boundParameter('most', 'shot_median_sec:2'),
  author: { schema: plainName(300), description: 'Brand or channel name, exact.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Where the video was published.' },
} as const satisfies Parameters

export const compareParameters = {
  videos: {
    schema: plainName(64),
    many: true,
    commas: true,
    description: 'Ids of two to six videos.',
    example: 'vqn577r3fb0w,5a6zkwpn1hy7',
  },
} as const satisfies Parameters

export interface FilmQuery {
  sort: MeasureName
  order: 'asc' | 'desc'
  min?: readonly Bound[] | undefined
  max?: readonly Bound[] | undefined
  author?: string | undefined
  platform?: string | undefined
}

/** The last film of a page: its value and its id. */
type Place = [number, string]

interface FilmPage {
  films: FilmRow[]
  total: number
  /** Films that have no value of a measure asked for. */
  without: number
  next: string | null
}

/** @throws AppError invalid_request for a cursor of another list, and for a bound of no measure */
export function findFilms(
  library: readonly FilmRow[],
  query: FilmQuery,
  { after, limit }: { after?: string | undefined; limit: number },
): FilmPage {
  const { sort, order, author, platform } = query
  const [min, max] = [toBounds('min', query.min), toBounds('max', query.max)]
  const asked = [sort, ...min.map(({ name }) => name), ...max.map(({ name }) => name)]
  const ours = library.filter(
    (film) => (author === undefined || film.author === author) && (platform ?? film.platform) === film.platform,
  )
  const known = ours.filter(({ measures }) => asked.every((name) => measures[name] !== null))
  const direction = order === 'asc' ? 1 : -1
  const compare = ([one, oneId]: Place, [other, otherId]: Place) =>
    direction * (one - other) || Number(oneId > otherId) - Number(oneId < otherId)
  const placeOf = ({ measures, id }: FilmRow): Place => [measures[sort]!, id]
  const found = known
    .filter(({ measures }) => min.every(({ name, value }) => measures[name]! >= value))
    .filter(({ measures }) => max.every(({ name, value }) => measures[name]! <= value))
    .sort((one, other) => compare(placeOf(one), placeOf(other)))
  const last = after === undefined ? undefined : (readCursor(after, 'number') as Place)
  const rest = last ? found.filter((film) => compare(placeOf(film), last) > 0) : found
  const films = rest.slice(0, limit)
  return {
    films,
    total: found.length,
    without: ours.length - known.length,
    next: rest.length > limit ? toCursor(placeOf(films.at(-1)!)) : null,
  }
}

function toBounds(parameter: string, given: readonly Bound[] = []): { name: MeasureName; value: number }[] {
  return given.map(({ name, value }) => {
    if (!isMeasure(name))
      throw invalid(
        parameter,
        `${parameter}: no measure ${name}; measures are ${MEASURE_NAMES.join(', ')}`,
        MEASURE_NAMES,
      )
    return { name, value }
  })
}

const isMeasure = (name: string): name is MeasureName => MEASURE_NAMES.includes(name as MeasureName)

/** The films of these ids, in their order. @throws AppError not_found for one that is not there */
export async function requireFilms({ films }: Pick<FilmDeps, 'films'>, ids: readonly string[]): Promise<FilmRow[]> {
  const byId = new Map((await films.all()).map((film) => [film.id, film]))
  const unknown = ids.find((id) => !byId.has(id))
  if (unknown !== undefined) throw new AppError('not_found', `No video ${unknown} whose shots are known.`)
  return ids.map((id) => byId.get(id)!)
}

export const isComparable = (ids: readonly string[]): boolean => ids.length >= 2 && ids.length <= 6

/** In the order of their ids, so that equal questions share an answer. @throws AppError unless two to six are named */
export async function requireCompared(deps: Pick<FilmDeps, 'films'>, ids: readonly string[]): Promise<FilmRow[]> {
  if (!isComparable(ids)) throw invalid('videos', `videos: must name two to six videos, and names ${ids.length}`)
  return requireFilms(deps, [...ids].sort())
}
