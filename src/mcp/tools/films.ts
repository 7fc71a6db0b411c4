import { z } from 'zod'
import { clip, clock, plural, quote } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { differencesOf, similarFilms, VIEWS } from '../../library/films/comparison.ts'
import type { FilmRow } from '../../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, measureOf, measureText, shortNumber } from '../../library/films/measures.ts'
import type { FrameDocument, VideoDocument } from '../../search/library-search.ts'
import { Brief, filmBrief, filmLines } from '../../views/brief.ts'
import { Film, type PublicFilm, readFilm } from '../../views/film.ts'
import { boundSchema, findFilms, requireFilms } from '../../views/film-list.ts'
import { byName } from '../../vocabulary.ts'
import { moreWith, VideoNames } from '../present.ts'
import { defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, limitArgument, oneOrMany, severalOf } from '../values.ts'
import { withCursorNamed } from './collection.ts'
import { spellBrands, videoIdOf, videoReference } from './library.ts'

export function filmTools(deps: ToolApp): Tool[] {
  return [describeFilm(deps), filmBriefTool(deps), findFilmsTool(deps)]
}

const reads = { annotations: READS, price: 'search', scope: 'any', cacheable: true } as const
const measureName = z.enum(MEASURE_NAMES as [MeasureName, ...MeasureName[]])
const FilmRef = VideoNames.element.extend({ measures: z.record(z.string(), z.number().nullable()) })
/** With the measures that were asked for. */
const refOf = ({ id, title, author, measures }: FilmRow, names: readonly MeasureName[]): z.infer<typeof FilmRef> => ({
  ...{ id, title, author: author ?? undefined },
  measures: byName(names, (name) => measures[name]),
})

/** Lines of a film's structure: a longer one would fill a context window. */
const MOST_PARTS = 16

function describeFilm(deps: ToolApp): Tool {
  return defineTool({
    ...reads,
    name: 'describe_film',
    title: 'Describe a film, or compare some',
    description:
      'How one video is built: parts with times, pace, motion, text, what is unusual. ' +
      'Of two to six: what they differ in most.',
    input: z.strictObject({ video_id: severalOf(videoReference(), 6).describe('Ids or URLs'), format: formatArgument }),
    output: Film.omit({ curves: true, standing: true })
      .partial()
      .extend({
        films: z.array(FilmRef).optional(),
        differences: z.array(z.object({ measure: z.string(), apart: z.number() })).optional(),
      }),
    async run(args) {
      const ids = new Set(await Promise.all(args.video_id.map((given) => videoIdOf(deps, given))))
      if (ids.size > 1) return compare(deps, [...ids])
      const { video, frames, film } = await readFilm(deps, [...ids][0]!)
      const { curves: _, standing: __, ...told } = film
      const structured = { ...told, structure: told.structure.slice(0, MOST_PARTS) }
      return { text: describe(video, frames, film).join('\n'), structured }
    },
  })
}

const number = (value: number): string => String(shortNumber(value))

function describe(video: VideoDocument, frames: readonly FrameDocument[], film: PublicFilm) {
  const { title, author, source_url } = video
  const { measures } = film
  const by = author ? ` by ${quote(author, 80)}` : ''
  return [
    `${quote(title, 160)}${by}, ${clock(measures.duration_sec ?? 0)}, ${plural(measures.shots ?? 0, 'shot')}` +
      `${source_url ? ` ${clip(source_url, 200)}` : ''}`,
    ...filmLines(film),
    'Parts:',
    ...parts(film, frames),
  ]
}

function parts({ structure }: Pick<PublicFilm, 'structure'>, frames: readonly FrameDocument[]): string[] {
  const lines = structure.slice(0, MOST_PARTS).map(({ from_sec, to_sec, subject }) => {
    const shown = frames.find(({ t_sec }) => t_sec >= from_sec && t_sec < to_sec)
    const caption = shown?.caption ? ` ${quote(shown.caption, 60)}` : ''
    return `${clock(from_sec)}–${clock(to_sec)} ${subject ?? 'unknown'}${caption}`
  })
  const more = structure.length - lines.length
  return more > 0 ? [...lines, `and ${more} more: get_video_frames has all frames`] : lines
}

function filmBriefTool(deps: ToolApp): Tool {
  return defineTool({
    ...reads,
    price: 'write',
    name: 'film_brief',
    title: 'Brief of a film',
    description:
      'A page to build a film like this one from: beats with seconds, what is seen and said, ways in and out, ' +
      'colours, what to take, pictures.',
    input: z.strictObject({ video_id: videoReference().describe('Id or URL'), format: formatArgument }),
    output: Brief,
    async run(args) {
      const { brief, page } = await filmBrief(deps, await videoIdOf(deps, args.video_id))
      return { text: page, structured: brief }
    },
  })
}

async function compare(deps: ToolApp, ids: readonly string[]) {
  const films = await requireFilms(deps, ids)
  const differences = differencesOf(films, await deps.films.all()).map(({ name, apart }) => ({ measure: name, apart }))
  const line = (name: MeasureName) =>
    `${measureOf(name).label}: ${films.map((film) => shownValue(film, name)).join(' | ')}`
  const text = [
    films.map(titleOf).join('\n'),
    'Most different first, in this order of films:',
    ...differences.map(({ measure }) => line(measure)),
  ]
  return { text: text.join('\n'), structured: { films: films.map((film) => refOf(film, MEASURE_NAMES)), differences } }
}

function shownValue({ measures }: FilmRow, name: MeasureName): string {
  const value = measures[name]
  return value === null ? '?' : measureText(name, value)
}

function titleOf({ id, title, author, measures }: FilmRow): string {
  return `${id} ${quote(title, 100)}${author ? ` by ${quote(author, 60)}` : ''}, ${clock(measures.duration_sec ?? 0)}`
}

function findFilmsTool(deps: ToolApp): Tool {
  return defineTool({
    ...reads,
    name: 'find_films',
    title: 'Find films',
    description: 'Videos by how they are built: the stillest, loudest. Or like one.',
    input: z.strictObject({
      sort: measureName.optional().meta({ default: 'shots_a_minute' }),
      order: z.enum(['desc', 'asc']).optional().meta({ default: 'desc' }),
      min: oneOrMany(boundSchema).optional().describe('Such as luma:80'),
      max: oneOrMany(boundSchema).optional(),
      author: z.string().max(300).optional(),
      like: videoReference().optional(),
      by: z.enum(VIEWS).default('style'),
      limit: limitArgument(12, 60),
      cursor: z.string().max(200).optional(),
      format: formatArgument,
    }),
    output: z.object({
      films: z.array(FilmRef.extend({ distance: z.number().optional(), why: z.array(z.string()).optional() })),
      total: z.number(),
      next_cursor: z.string().nullable(),
    }),
    async run(args) {
      const { like, by: view, limit, format: _, ...others } = args
      if (like !== undefined) {
        const given = Object.keys(others).filter((name) => others[name as keyof typeof others] !== undefined)
        if (given.length === 0) return similarTo(deps, like, { view, limit })
        throw invalid('like', `like: takes by and limit alone. Leave out ${given.join(', ')}, or like.`)
      }
      const library = await deps.films.all()
      const { cursor: after, sort = 'shots_a_minute', order = 'desc', author, min, max } = others
      const brand = await spellBrands(deps.search, author === undefined ? [] : [author])
      const query = { sort, order, author: brand.names[0], min, max }
      const find = async () => findFilms(library, query, { after, limit })
      const { films, total, without, next } = await withCursorNamed(after, find())
      const asked = [sort, ...[...(min ?? []), ...(max ?? [])].map((bound) => bound.name as MeasureName)]
      const unknown = without > 0 ? `; ${plural(without, 'film')} without these measures left out` : ''
      const heading = `${films.length} of ${plural(total, 'film')}, ${measureOf(sort).label}, ${order}${unknown}`
      const notes = [...brand.notes, ...(total === 0 ? ['No film has these. Leave out the author or a bound.'] : [])]
      const lines = films.map((film) => `${titleOf(film)}: ${shownValue(film, sort)}`)
      return {
        text: [`${heading}${moreWith(next)}`, ...notes, ...lines].join('\n'),
        structured: { films: films.map((film) => refOf(film, asked)), total, next_cursor: next },
        notes,
      }
    },
  })
}

async function similarTo(deps: ToolApp, given: string, options: Parameters<typeof similarFilms>[2]) {
  const library = await deps.films.all()
  const [film] = await requireFilms(deps, [await videoIdOf(deps, given)])
  const near = similarFilms(film!, library, options)
  const lines = near.map((one) => {
    const why = one.why.map((name) => `${measureOf(name).label} ${shownValue(one.film, name)}`)
    return `${titleOf(one.film)}: ${number(one.distance)} away; ${why.join(', ')}`
  })
  const found = near.map((one) => ({ ...refOf(one.film, one.why), distance: one.distance, why: one.why }))
  const none = 'No film can be compared with it: it has too few measures, or it is alone.'
  const notes = near.length > 0 ? [] : [none]
  const heading = `Films like ${titleOf(film!)}, by ${options.view}, nearest first`
  return {
    text: [heading, ...notes, ...lines].join('\n'),
    structured: { films: found, total: found.length, next_cursor: null },
    notes,
  }
}
