import { z } from 'zod'
import { AppError, invalid } from '../errors.ts'
import type { LoadedBoard } from '../library/collections/boards.ts'
import { type Film, loadFilms } from '../library/films/films.ts'
import type { Parameters as ParameterTable, Values } from '../parameters.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { toFcpxml, toXmeml } from '../timeline/final-cut.ts'
import { toOtio } from '../timeline/otio.ts'
import { canDrop, parseTimecode, type Rate, TIMECODE, toFrame, toRate } from '../timeline/rate.ts'
import { toShotList } from '../timeline/shot-list.ts'
import {
  type Clip,
  checkTimeline,
  type Marker,
  type Media,
  oneLine,
  type Timeline,
  TimelineRefused,
} from '../timeline/timeline.ts'
import { toBoardWithItems } from './collections.ts'
import { type Exchange, toCsv } from './export.ts'
import type { PublicFrame } from './frame.ts'
import { plainName } from './parameters.ts'

/** Films and boards as files for editing programs. */

const RATES: Readonly<Record<string, Rate>> = {
  '23.976': { num: 24_000, den: 1001 },
  '24': { num: 24, den: 1 },
  '25': { num: 25, den: 1 },
  '29.97': { num: 30_000, den: 1001 },
  '30': { num: 30, den: 1 },
  '50': { num: 50, den: 1 },
  '59.94': { num: 60_000, den: 1001 },
  '60': { num: 60, den: 1 },
}

export const timelineParameters = {
  start: {
    schema: z.string().regex(TIMECODE, 'must be a timecode such as 01:00:00:00; `;` before the frames drops labels'),
    description: 'The timecode at which the list begins, `01:00:00:00` if absent. `;` before the frames drops labels.',
    example: '01:00:00:00',
  },
  media_root: {
    schema: plainName(500),
    description: 'The folder that holds the films on the editor’s machine. Absent: the editor links them by name.',
    example: '/Volumes/films',
  },
  rate: {
    schema: z.enum(Object.keys(RATES) as [string, ...string[]]),
    description: 'One frame rate for the list and all its films. Absent: each film keeps its own.',
  },
} as const satisfies ParameterTable

export type TimelineOptions = Values<typeof timelineParameters>

/** The endings of the address, each with the media type of its file and how it is written. */
const FORMS = {
  otio: { type: 'application/json', write: toOtio },
  xml: { type: 'application/xml', write: toXmeml },
  fcpxml: { type: 'application/xml', write: toFcpxml },
  csv: { type: 'text/csv', write: (timeline: Timeline) => toCsv(toShotList(timeline)) },
} as const
type Form = keyof typeof FORMS

export const TIMELINE_TYPES = [...new Set(Object.values(FORMS).map(({ type }) => type))]

/** @throws AppError invalid_request for another ending */
export function parseForm(ending: string): Form {
  const allowed = Object.keys(FORMS)
  if (!Object.hasOwn(FORMS, ending))
    throw invalid('format', `There is no form "${ending.slice(0, 20)}". Use ${allowed.join(', ')}.`, allowed)
  return ending as Form
}

/** Answers with a file, streamed. @throws AppError conflict where this timeline has no such form: it says why */
export async function sendTimeline(
  { res, sendPieces }: Exchange,
  make: () => Promise<Timeline>,
  { name, form, options }: { name: string; form: Form; options: TimelineOptions },
): Promise<undefined> {
  const { type, write } = FORMS[form]
  async function* pieces() {
    try {
      const timeline = await make()
      // A shot list may be empty; an editing program opens no empty timeline.
      if (form !== 'csv') checkTimeline(timeline)
      yield write(timeline, { mediaRoot: options.media_root })
    } catch (error) {
      throw error instanceof TimelineRefused ? new AppError('conflict', error.message) : error
    }
  }
  res.set('Content-Disposition', `attachment; filename="${name}.${form}"`)
  await sendPieces(pieces(), `${type}; charset=utf-8`)
}

/** A whole film: its shots one after the other, gradual transitions between them, its frames as markers. */
export function filmTimeline(film: Film, frames: readonly PublicFrame[], options: TimelineOptions): Timeline {
  const media = toMedia(film, options)
  const clips: Clip[] = []
  film.shots.forEach((shot, n) => {
    const before = film.shots[n - 1]
    const behind = film.shots[n + 1]
    const from = before ? middle(before, shot, media) : 0
    const to = behind ? middle(shot, behind, media) : media.length
    if (to <= from) return
    const mix = before && clips.length > 0 ? mixOf(before, shot, { media, from }) : undefined
    const name = `Shot ${n + 1}`
    clips.push({ name, media, from, to, ...(mix ? { mix } : {}), markers: markersOf(frames, media, { from, to }) })
  })
  return { name: film.title, clips, ...beginning(media.rate, options) }
}

interface TimelineDeps {
  db: Parameters<typeof loadFilms>[0]
  search: Pick<LibrarySearch, 'framesByIds'>
  publicUrl: string
}

/** A board: for each frame, in the owner's order, the shot it stands for. */
export async function boardTimeline(
  deps: TimelineDeps,
  loaded: Pick<LoadedBoard, 'board' | 'pins'>,
  options: TimelineOptions,
): Promise<Timeline> {
  const { name, items } = await toBoardWithItems(deps, loaded)
  const films = await loadFilms(deps.db, [...new Set(items.map(({ video_id }) => video_id))])
  refuseUnknown(items, films)
  const known = new Map([...films].map(([id, film]) => [id, { film, media: toMedia(film, options) }]))
  const clips = items.map((frame) => {
    const { film, media } = known.get(frame.video_id)!
    const { startMs, endMs } = around(frame.t_sec * 1000, film)
    const from = Math.min(Math.max(0, toFrame(startMs, media.rate)), media.length - 1)
    const to = Math.max(from + 1, Math.min(media.length, toFrame(endMs, media.rate)))
    return { name: nameOf(frame), media, from, to, markers: markersOf([frame], media, { from, to }) }
  })
  return { name, clips, ...beginning(clips[0]?.media.rate ?? RATES['25']!, options) }
}

/** @throws AppError conflict with the titles of the films that no clip can be cut from */
function refuseUnknown(frames: readonly PublicFrame[], films: ReadonlyMap<string, Film>): void {
  const missing = frames.filter(({ video_id }) => !films.has(video_id))
  if (missing.length === 0) return
  const titles = [...new Map(missing.map(({ video_id, video }) => [video_id, oneLine(video.title)])).values()]
  const more = titles.length > MOST_TITLES ? ` and ${titles.length - MOST_TITLES} more` : ''
  const which = `${titles.slice(0, MOST_TITLES).join(', ')}${more}`
  const toDo = 'Leave these films out, or ask an operator to run `frames reextract`.'
  throw new AppError('conflict', `The rate, size or length is unknown, or the film is gone: ${which}. ${toDo}`)
}
const MOST_TITLES = 5

/** The clean part of the shot at this instant; within a transition, a second on both sides. */
function around(ms: number, { shots }: Film): Pick<Shot, 'startMs' | 'endMs'> {
  const shot = shots.find(({ startMs, endMs }) => startMs <= ms && ms < endMs)
  return shot ?? { startMs: ms - 1000, endMs: ms + 1000 }
}

type Shot = Film['shots'][number]

/** The frame in the middle of a transition, and the earlier of two: readers of xmeml count a centred one so. */
function middle(before: Shot, behind: Shot, { rate, length }: Media): number {
  const end = toFrame(before.endMs, rate)
  return Math.min(length, end + Math.floor((toFrame(behind.startMs, rate) - end) / 2))
}

function mixOf(before: Shot, shot: Shot, { media, from }: { media: Media; from: number }): Clip['mix'] {
  const mix = { before: from - toFrame(before.endMs, media.rate), behind: toFrame(shot.startMs, media.rate) - from }
  return mix.before + mix.behind > 0 ? mix : undefined
}

function markersOf(
  frames: readonly (PublicFrame & { note?: string | null })[],
  media: Media,
  { from, to }: { from: number; to: number },
): Marker[] {
  return frames.flatMap((frame) => {
    const place = Math.min(toFrame(frame.t_sec * 1000, media.rate), media.length - 1)
    if (place < from || place >= to) return []
    return [{ frame: place, name: nameOf(frame), note: oneLine(frame.note ?? frame.steal ?? '') }]
  })
}

function nameOf({ caption, technique, subject }: PublicFrame): string {
  return oneLine(caption ?? technique ?? subject ?? 'Frame').slice(0, 120) || 'Frame'
}

function toMedia(film: Film, { rate: wanted }: TimelineOptions): Media {
  const rate = wanted === undefined ? exactRate(film) : RATES[wanted]!
  const start = film.startTimecode === null ? undefined : parseTimecode(film.startTimecode, rate)
  const title = oneLine(film.title).replaceAll('/', '-')
  return {
    id: film.id,
    fileName: /\.(mp4|mov|mkv|webm|m4v|mxf|avi)$/i.test(title) ? title : `${title || film.id}.mp4`,
    title,
    url: film.sourceUrl,
    rate,
    width: film.width,
    height: film.height,
    length: Math.max(1, toFrame(Math.max(film.durationMs, film.shots.at(-1)!.endMs), rate)),
    start: start?.frame ?? 0,
    drop: start?.drop ?? false,
  }
}

function exactRate({ frameRate, fps }: Film): Rate {
  const [num = 0, den = 1] = (frameRate ?? '').split('/').map(Number)
  return toRate(num > 0 && den > 0 ? num / den : fps)
}

/** @throws AppError invalid_request for a timecode that this rate does not have */
function beginning(own: Rate, { start = '01:00:00:00', rate: wanted }: TimelineOptions) {
  const rate = wanted === undefined ? own : RATES[wanted]!
  const parsed = parseTimecode(start, rate)
  if (!parsed) {
    const why = canDrop(rate) ? 'there is no such label at this rate' : 'this rate has no such label, and drops none'
    throw invalid('start', why, ['01:00:00:00'])
  }
  return { rate, start: parsed.frame, drop: parsed.drop }
}
