import { notFound } from '../errors.ts'
import { endpoint } from '../http/endpoint.ts'
import { findBoard, loadBoard, loadFoundBoard } from '../library/collections/boards.ts'
import { loadFilms } from '../library/films/films.ts'
import { boardBrief, filmBrief, MOST_PANELS } from '../views/brief.ts'
import { toFrame } from '../views/frame.ts'
import { requirePublicId } from '../views/parameters.ts'
import {
  boardTimeline,
  filmTimeline,
  parseForm,
  sendTimeline,
  TIMELINE_TYPES,
  timelineParameters,
} from '../views/timelines.ts'
import type { App } from './app.ts'
import { boardOf } from './boards.ts'

const [answer, ...alternatives] = TIMELINE_TYPES as [string, ...string[]]
const aTimeline = {
  method: 'get',
  description:
    'The last part of the address names the form: `otio` (OpenTimelineIO, Resolve), `xml` (Premiere, Resolve), ' +
    '`fcpxml` (Final Cut Pro), `csv` (a shot list).',
  parameters: timelineParameters,
  answer,
  alternatives,
} as const

/** A film for an editing program. */
export const filmTimelineEndpoint = endpoint(
  {
    ...aTimeline,
    id: 'getVideoTimeline',
    path: '/api/videos/:id/timeline.:format',
    tag: 'Library',
    summary: 'A video’s shots as a timeline for an editing program',
    errors: [404, 409],
    price: 'search',
  },
  async ({ db, search, publicUrl }: App, { params: { id, format }, query, res, sendPieces }) => {
    const form = parseForm(format)
    requirePublicId('video', id)
    const [documents, films] = await Promise.all([search.videoFrames(id), loadFilms(db, [id])])
    const film = films.get(id)
    if (!documents || !film) throw notFound('video')
    const frames = documents.map((document) => toFrame(document, publicUrl))
    const make = async () => filmTimeline(film, frames, query)
    return sendTimeline({ res, sendPieces }, make, { name: id, form, options: query })
  },
)

/** A board for an editing program. */
export const boardTimelineEndpoint = endpoint(
  {
    ...aTimeline,
    id: 'getBoardTimeline',
    path: '/api/boards/:id/timeline.:format',
    tag: 'Account',
    summary: 'The shots of a board’s frames as a timeline for an editing program',
    scope: 'boards:read',
    price: 'heavy',
    allowLapsedPlan: true,
    errors: [404, 409],
  },
  async (deps: App, input) => {
    const { params, query } = input
    const form = parseForm(params.format)
    const found = await findBoard(deps.db, boardOf(input))
    const make = async () => boardTimeline(deps, await loadFoundBoard(deps.db, found), query)
    return sendTimeline(input, make, { name: found.id, form, options: query })
  },
)

const aBrief = {
  method: 'get',
  description: 'Markdown to build from: beats with seconds, ways in and out, words, colours, and what to take.',
  parameters: {},
  answer: 'text/markdown',
} as const
const BRIEF_TYPE = 'text/markdown; charset=utf-8'

export const filmBriefEndpoint = endpoint(
  {
    ...aBrief,
    id: 'getVideoBrief',
    path: '/api/videos/:id/brief.md',
    tag: 'Films',
    summary: 'A video as a brief',
    errors: [404, 409],
    price: 'write',
  },
  async (deps: App, { params: { id }, res }) => {
    requirePublicId('video', id)
    res.type(BRIEF_TYPE).send((await filmBrief(deps, id)).page)
    return undefined
  },
)

export const boardBriefEndpoint = endpoint(
  {
    ...aBrief,
    id: 'getBoardBrief',
    path: '/api/boards/:id/brief.md',
    tag: 'Account',
    summary: 'A board as a storyboard',
    scope: 'boards:read',
    price: 'heavy',
    allowLapsedPlan: true,
    errors: [404],
  },
  async (deps: App, input) => {
    const loaded = await loadBoard(deps.db, boardOf(input), { limit: MOST_PANELS })
    input.res.type(BRIEF_TYPE).send((await boardBrief(deps, loaded)).page)
    return undefined
  },
)
