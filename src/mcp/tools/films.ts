import { z } from 'zod'
import { differencesOf, similarFilms, VIEWS } from '../../library/films/comparison.ts'
import type { FilmRow } from '../../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, measureOf, measureText, shortNumber } from '../../library/films/measures.ts'
import type { FrameDocument, VideoDocument } from '../../search/library-search.ts'
import { Film, Measures, type PublicFilm, readFilm } from '../../views/film.ts'
import { boundSchema, findFilms, requireFilms } from '../../views/film-list.ts'
import { clip, clock, moreWith, plural, quote } from '../present.ts'
import { defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { formatArgument, limitArgument, oneOrMany, severalOf } from '../values.ts'
import { withCursorNamed } from './collection.ts'
import { spellBrands, videoIdOf, videoReference } from './library.ts'

export function filmTools(deps: ToolApp): Tool[] {
  return [describeFilm(deps), compareFilms(deps), findFilmsTool(deps)]
}

const reads = { annotations: READS, price: 'search', scope: 'any', cacheable: true } as const
const FilmRef = z.object({ id: z.string(), title: z.string(), author: z.string().nullable(), measures: Measures })
const refOf = ({ id, title, author, measures }: FilmRow): z.infer<typeof FilmRef> => ({ id, title, author, measures })

/** Lines of a film's structure: a longer one would fill a context window. */
const MOST_PARTS = 16

function describeFilm(deps: ToolApp): Tool {
  return defineTool({
    ...reads,
    name: 'describe_film',
    title: 'Describe a film',
    description: 'How one video is built: parts with times, pace, motion, text, what is unusual.',
    input: z.strictObject({ video_id: videoReference().describe('Id or URL'), format: formatArgument }),
    output: Film.omit({ curves: true, standing: true }),
    async run(args) {
      const { video, frames, film } = await readFilm(deps, await videoIdOf(deps, args.video_id))
      const { curves, standing: _, ...told } = film
      const structured = { ...told, structure: told.structure.slice(0, MOST_PARTS) }
      return { text: describe(video, frames, { ...told, curves }).join('\n'), structured }
    },
  })
}

const number = (value: number): string => String(shortNumber(value))
const percent = (share: number): string => `${Math.round(share * 100)} %`

function describe(video: VideoDocument, frames: readonly FrameDocument[], film: Omit<PublicFilm, 'standing'>) {
  const { title, author, source_url } = video
  const { measures, transitions, shares, text, unusual, missing } = film
  const by = author ? ` by ${quote(author, 80)}` : ''
  const told = (name: MeasureName) => (measures[name] === null ? '?' : number(measures[name]))
  const share = (name: MeasureName) => (measures[name] === null ? '?' : percent(measures[name]))
  const reasons = [...new Set(Object.values(missing))]
  return [
    `${quote(title, 160)}${by}, ${clock(measures.duration_sec ?? 0)}, ${plural(measures.shots ?? 0, 'shot')}` +
      `${source_url ? ` ${clip(source_url, 200)}` : ''}`,
    `Pace: ${told('shots_a_minute')} shots a minute${thirds(film)}. Shot: median ${told('shot_median_sec')} s.`,
    `Ways from shot to shot: ${transitions.map(toWays).join(', ') || 'none'}.`,
    `Held picture ${share('held_share')} of the time. Motion ${told('motion')} levels a second.`,
    `Light ${told('luma')} of 255, contrast ${told('contrast')}, colour ${told('colour')}.`,
    `Sound ${told('loudness')} LUFS, silent ${share('silence_share')} of the time.`,
    `Of the time: ${shares.subject.map(({ value, share }) => `${value} ${percent(share)}`).join(', ') || '?'}.`,
    `Text at least ${percent(text.share)} of the time, ${plural(text.cards, 'card')}.${tooFast(text)}`,
    unusual.length > 0
      ? `Unusual here: ${unusual.join('; ')}.`
      : 'Nothing is unusual here, or too few films are known.',
    ...(reasons.length > 0 ? [`? is unknown: ${reasons.join(' ')}`] : []),
    'Parts:',
    ...parts(film, frames),
  ]
}

const toWays = ({ kind, count, median_sec }: PublicFilm['transitions'][number]): string =>
  `${plural(count, kind)}${median_sec > 0 ? ` of ${number(median_sec)} s` : ''}`

/** The pace of the thirds of a film, where it has some. */
function thirds({ curves, measures }: Pick<PublicFilm, 'curves' | 'measures'>): string {
  if (!curves.pace || (measures.shots ?? 0) < 6) return ''
  const { pace } = curves
  const third = (n: number) => pace.slice(Math.round((n * pace.length) / 3), Math.round(((n + 1) * pace.length) / 3))
  const aMinute = (part: readonly number[]) => number((60 * part.reduce((sum, one) => sum + one, 0)) / part.length)
  return ` (its thirds ${[0, 1, 2].map((n) => aMinute(third(n))).join(', ')})`
}

function tooFast({ too_fast }: PublicFilm['text']): string {
  if (too_fast.length === 0) return ''
  const cards = too_fast
    .slice(0, 4)
    .map(({ t_sec, per_second, frame_id }) => `${clock(t_sec)} ${number(per_second)}/s ${frame_id}`)
  return ` Too fast to read: ${cards.join(', ')}${too_fast.length > 4 ? `, and ${too_fast.length - 4} more` : ''}.`
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

function compareFilms(deps: ToolApp): Tool {
  return defineTool({
    ...reads,
    name: 'compare_films',
    title: 'Compare films',
    description: 'What two to six videos differ in most, and share.',
    input: z.strictObject({ video_id: severalOf(videoReference(), 6), format: formatArgument }),
    output: z.object({
      films: z.array(FilmRef),
      differences: z.array(z.object({ measure: z.string(), apart: z.number() })),
    }),
    async run(args) {
      const ids = new Set(await Promise.all(args.video_id.map((given) => videoIdOf(deps, given))))
      const films = await requireFilms(deps, [...ids])
      const differences = differencesOf(films, await deps.films.all()).map(({ name, apart }) => ({
        measure: name,
        apart,
      }))
      const line = (name: MeasureName) =>
        `${measureOf(name).label}: ${films.map((film) => shownValue(film, name)).join(' | ')}`
      const text = [
        films.map(titleOf).join('\n'),
        ...(films.length < 2 ? ['One film alone is compared with nothing: name two to six.'] : []),
        'Most different first, in this order of films:',
        ...differences.map(({ measure }) => line(measure)),
      ]
      return { text: text.join('\n'), structured: { films: films.map(refOf), differences } }
    },
  })
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
      sort: z.enum(MEASURE_NAMES as [MeasureName, ...MeasureName[]]).default('shots_a_minute'),
      order: z.enum(['desc', 'asc']).default('desc'),
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
      const library = await deps.films.all()
      const { limit, cursor: after, sort, order, author, min, max, like, by: view } = args
      if (like !== undefined) return similarTo(deps, like, { view, limit })
      const brand = await spellBrands(deps.search, author === undefined ? [] : [author])
      const query = { sort, order, author: brand.names[0], min, max }
      const find = async () => findFilms(library, query, { after, limit })
      const { films, total, without, next } = await withCursorNamed(after, find())
      const unknown = without > 0 ? `; ${plural(without, 'film')} without these measures left out` : ''
      const heading = `${films.length} of ${plural(total, 'film')}, ${measureOf(sort).label}, ${order}${unknown}`
      const notes = [...brand.notes, ...(total === 0 ? ['No film has these. Leave out the author or a bound.'] : [])]
      const lines = films.map((film) => `${titleOf(film)}: ${shownValue(film, sort)}`)
      return {
        text: [`${heading}${moreWith(next)}`, ...notes, ...lines].join('\n'),
        structured: { films: films.map(refOf), total, next_cursor: next },
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
  const found = near.map((one) => ({ ...refOf(one.film), distance: one.distance, why: one.why }))
  const none = 'No film can be compared with it: it has too few measures, or it is alone.'
  const heading = `Films like ${titleOf(film!)}, by ${options.view}, nearest first`
  return {
    text: [heading, ...(near.length > 0 ? lines : [none])].join('\n'),
    structured: { films: found, total: found.length, next_cursor: null },
  }
}
