import { z } from 'zod'
import { notFound } from '../errors.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { differencesOf, similarFilms, VIEWS } from '../library/films/comparison.ts'
import type { FilmRow } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName } from '../library/films/measures.ts'
import { Film, Measures, readFilm, ShotsAnswer, toShots, WITHIN } from '../views/film.ts'
import { compareParameters, filmParameters, findFilms, requireCompared } from '../views/film-list.ts'
import { toVideo, Video } from '../views/resources.ts'
import { readSequences, Sequence, sequenceParameters, toSequenceQuery } from '../views/sequences.ts'
import type { App } from './app.ts'
import { afterParameter, checkId, listLimit, nextCursor } from './reads.ts'

/** How films are built, how they compare, and what follows what in them. */

const ListedFilm = z.strictObject({ video: Video, measures: Measures }).meta({ id: 'ListedFilm' })
const measure = z.enum(MEASURE_NAMES as [MeasureName, ...MeasureName[]])

const ofOneVideo = [
  cachedRead(
    {
      id: 'listShots',
      path: '/api/videos/:id/shots',
      tag: 'Films',
      summary: 'The shots of a video, with the ways in and out',
      parameters: {},
      answer: ShotsAnswer,
      price: 'search',
      errors: [404],
    },
    async ({ films, search }: App, { params: { id } }) => {
      const [frames, build] = await Promise.all([search.videoFrames(id), films.build(id)])
      if (!frames || !build) throw notFound('video')
      return toShots(build, frames)
    },
    { check: checkId('video') },
  ),

  cachedRead(
    {
      id: 'getFilm',
      path: '/api/videos/:id/film',
      tag: 'Films',
      summary: 'How a video is built, and where it stands in the library',
      parameters: {
        within: {
          schema: z.enum(WITHIN),
          fallback: 'library',
          description: 'The films that it is ranked among: all, or those of its author or platform.',
        },
      },
      answer: z.strictObject({ film: Film }).meta({ id: 'FilmResponse' }),
      errors: [404],
      price: 'search',
    },
    async (deps: App, { params, query: { within } }) => ({ film: (await readFilm(deps, params.id, within)).film }),
    { check: checkId('video') },
  ),

  cachedRead(
    {
      id: 'listSimilarFilms',
      path: '/api/videos/:id/similar',
      tag: 'Films',
      summary: 'The videos that are built alike, with the measures that say why',
      parameters: {
        by: {
          schema: z.enum(VIEWS),
          fallback: 'style',
          description: '`style`: shots, transitions and motion. `look`: light, contrast and colour.',
        },
        limit: listLimit(8, 50),
      },
      answer: z
        .strictObject({
          similar: z.array(ListedFilm.extend({ distance: z.number(), why: z.array(measure) })),
          among: z.int().describe('Films that have measures.'),
        })
        .meta({ id: 'SimilarFilmsResponse' }),
      errors: [404],
      price: 'search',
    },
    async (deps: App, { params: { id }, query: { by = 'style', limit = 8 } }) => {
      const [library, video] = await Promise.all([deps.films.all(), deps.search.video(id)])
      if (!video) throw notFound('video')
      // A video whose shots are not known is like no other.
      const film = library.find((one) => one.id === id)
      const near = film ? similarFilms(film, library, { view: by, limit }) : []
      const listed = await withVideos(
        deps,
        near.map((one) => one.film),
      )
      const similar = listed.map((one) => {
        const { distance, why } = near.find(({ film: { id: other } }) => other === one.film.id)!
        return { ...one.listed, distance, why }
      })
      return { similar, among: library.length }
    },
    { check: checkId('video') },
  ),
]

const ofTheLibrary = [
  cachedRead(
    {
      id: 'listFilms',
      path: '/api/films',
      tag: 'Films',
      summary: 'Videos by how they are built: filtered and sorted by any measure',
      parameters: {
        ...filmParameters,
        limit: listLimit(60, 120),
        after: afterParameter,
      },
      answer: z
        .strictObject({
          films: z.array(ListedFilm),
          total: z.int(),
          without: z.int().describe('Films that are left out because they have no value of a measure asked for.'),
          next: nextCursor,
        })
        .meta({ id: 'FilmsResponse' }),
      price: 'search',
    },
    async (deps: App, { query }) => {
      const { limit = 60, after, sort = 'shots_a_minute', order = 'desc' } = query
      const { films, ...page } = findFilms(await deps.films.all(), { ...query, sort, order }, { after, limit })
      return { ...page, films: (await withVideos(deps, films)).map(({ listed }) => listed) }
    },
  ),

  cachedRead(
    {
      id: 'compareFilms',
      path: '/api/compare',
      tag: 'Films',
      summary: 'Two to six videos side by side, and what they differ in most',
      parameters: compareParameters,
      answer: z
        .strictObject({
          films: z.array(ListedFilm),
          differences: z
            .array(z.strictObject({ measure, apart: z.number(), values: z.array(z.number().nullable()) }))
            .describe('Most different first. `apart` counts in robust deviations of the library.'),
        })
        .meta({ id: 'CompareResponse' }),
      errors: [404],
      price: 'search',
    },
    async (deps: App, { query: { videos = [] } }) => {
      const library = await deps.films.all()
      const films = await requireCompared(deps, videos)
      const differences = differencesOf(films, library).map(({ name, apart }) => ({
        measure: name,
        apart,
        values: films.map(({ measures }) => measures[name]),
      }))
      return { films: (await withVideos(deps, films)).map(({ listed }) => listed), differences }
    },
  ),
]

export const filmEndpoints = [...ofOneVideo, ...ofTheLibrary]

async function withVideos({ search, publicUrl }: App, films: readonly FilmRow[]) {
  const videos = await search.documents(
    'videos',
    films.map(({ id }) => id),
  )
  return films.flatMap((film) => {
    const video = videos.get(film.id)
    return video ? [{ film, listed: { video: toVideo(video, publicUrl), measures: film.measures } }] : []
  })
}

export const sequenceEndpoint = cachedRead(
  {
    id: 'findSequences',
    path: '/api/sequences',
    tag: 'Films',
    summary: 'One thing after another in a film: a text card that leads into a screen',
    parameters: { ...sequenceParameters, limit: listLimit(20, 60), after: afterParameter },
    answer: z
      .strictObject({
        sequences: z.array(Sequence),
        films: z.int().describe('Films with every step somewhere, as far as they were looked at.'),
        next: nextCursor,
      })
      .meta({ id: 'SequencesResponse' }),
    price: 'write',
  },
  async ({ search, publicUrl }: App, { query: { limit = 20, after, ...query } }) =>
    readSequences(search, publicUrl, toSequenceQuery(query, { limit, after })),
)
