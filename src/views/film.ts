import { z } from 'zod'
import { notFound } from '../errors.ts'
import { type Standing, standingOf, unusualOf } from '../library/films/comparison.ts'
import type { FilmBuild, FilmReads, FilmRow } from '../library/films/films.ts'
import {
  MEASURE_NAMES,
  type MeasureName,
  medianOf,
  paceCurve,
  round,
  transitionsOf,
  whyMissing,
} from '../library/films/measures.ts'
import type { LibrarySearch, ShownFrame } from '../search/library-search.ts'
import { TRANSITIONS } from '../vocabulary.ts'
import { LANES, type Lane, lengthOf, sharesOf, stretchesOf } from './rhythm.ts'

/** How a film is built, as everyone reads it: the API, the tools and the pages. */

export interface FilmDeps {
  search: LibrarySearch
  films: FilmReads
}

const perMeasure = <T extends z.ZodType>(value: T) =>
  Object.fromEntries(MEASURE_NAMES.map((name) => [name, value])) as Record<MeasureName, T>
export const Measures = z
  .strictObject(perMeasure(z.number().nullable()))
  .meta({ id: 'FilmMeasures', description: 'docs/films.md has the unit and the method of each.' })
const Rank = z
  .strictObject({ n: z.int(), below: z.int(), same: z.int(), percentile: z.number() })
  .describe('Among the other films that have it: how many are below and equal. Equal ones count half.')
const missing = z.record(z.string(), z.string()).describe('Why a value is null, by its name.')
const curve = z.array(z.number()).nullable()
const seconds = z.number().min(0)
const stretch = { from_sec: seconds, to_sec: seconds }
const transition = z.enum(TRANSITIONS)
export const way = z.strictObject({
  kind: transition.or(z.literal('end')),
  length_sec: seconds,
  through: z.enum(['black', 'white']).nullable(),
})

const Shot = z
  .strictObject({
    n: z.int(),
    ...stretch,
    clean_from_sec: seconds,
    clean_to_sec: seconds,
    way_in: way,
    way_out: way,
    held_share: z.number().nullable(),
    motion: z.number().nullable(),
    frame_ids: z.array(z.string()),
  })
  .meta({ id: 'Shot' })
export const ShotsAnswer = z.strictObject({ shots: z.array(Shot), missing }).meta({ id: 'ShotsResponse' })

export const Film = z
  .strictObject({
    video_id: z.string(),
    measures: Measures,
    missing,
    standing: z.strictObject(perMeasure(Rank.optional())),
    unusual: z.array(z.string()),
    curves: z
      .strictObject({ pace: curve, motion: curve, light: curve, colors: z.array(z.string()).nullable() })
      .describe('32 equal parts of the time.'),
    transitions: z.array(z.strictObject({ kind: transition, count: z.int(), median_sec: seconds })),
    structure: z.array(z.strictObject({ ...stretch, subject: z.string().nullable() })),
    shares: z.strictObject(
      Object.fromEntries(
        LANES.map((lane) => [lane, z.array(z.strictObject({ value: z.string(), share: z.number() }))]),
      ) as Record<Lane, z.ZodArray<z.ZodObject<{ value: z.ZodString; share: z.ZodNumber }>>>,
    ),
    text: z
      .strictObject({
        share: z.number(),
        cards: z.int(),
        too_fast: z.array(
          z.strictObject({
            frame_id: z.string(),
            t_sec: seconds,
            seconds,
            characters: z.int(),
            per_second: z.number().describe('How fast the card would have to be read.'),
          }),
        ),
      })
      .describe('At least: text is read from the kept frames alone.'),
  })
  .meta({ id: 'Film' })
export type PublicFilm = z.infer<typeof Film>

/** What a film is compared with. */
export const WITHIN = ['library', 'author', 'platform'] as const
export type Within = (typeof WITHIN)[number]

/** @throws AppError not_found for a video that is not public */
export async function readFilm(deps: FilmDeps, id: string, within: Within = 'library') {
  const [video, frames, build, library] = await Promise.all([
    deps.search.video(id),
    deps.search.videoFrames(id),
    deps.films.build(id),
    deps.films.all(),
  ])
  if (!video || !frames || !build) throw notFound('video')
  const { author, platform, title } = video
  const own: FilmRow = { id, title, author, platform, measures: build.measures }
  const peers = within === 'library' ? library : library.filter((other) => other[within] === own[within])
  return { video, frames, build, film: toFilm(own, { frames, build, peers }) }
}

/** What of its frames a film is described by. */
export type FilmFrame = Pick<ShownFrame, 'id' | 't_sec' | 'kind' | 'shot_sec' | 'on_screen_text' | Lane>

function toFilm(
  own: FilmRow,
  { frames, build, peers }: { frames: readonly FilmFrame[]; build: FilmBuild; peers: readonly FilmRow[] },
): PublicFilm {
  const { measures, shots, picture } = build
  const standing = standingOf(own, peers)
  const length = lengthOf(frames, measures.duration_sec)
  const absent = MEASURE_NAMES.filter((name) => measures[name] === null)
  const shares = LANES.map((lane) => [lane, sharesOf(laneOf(frames, length, lane), length)] as const)
  return {
    video_id: own.id,
    measures,
    missing: Object.fromEntries(absent.map((name) => [name, whyMissing(name, shots.length, picture)])),
    standing: standing as Record<MeasureName, Standing | undefined>,
    unusual: unusualOf(standing),
    curves: {
      pace: shots.length > 0 ? paceCurve(shots, length) : null,
      motion: picture?.arcs.motion ?? null,
      light: picture?.arcs.luma ?? null,
      colors: picture && toColors(picture.arcs),
    },
    transitions: countTransitions(build),
    structure: laneOf(frames, length, 'subject').map(({ from, to, value }) => ({
      from_sec: round(from),
      to_sec: round(to),
      subject: value,
    })),
    shares: Object.fromEntries(
      shares.map(([lane, all]) => [lane, all.map(({ value, share }) => ({ value, share: round(share) }))]),
    ) as PublicFilm['shares'],
    text: readingOf(frames, length),
  }
}

const laneOf = (frames: readonly FilmFrame[], length: number, lane: Lane) =>
  stretchesOf(frames, length, (frame) => frame[lane])

function countTransitions({ shots }: FilmBuild): PublicFilm['transitions'] {
  const kinds = Map.groupBy(transitionsOf(shots), ({ kind }) => kind)
  return [...kinds]
    .map(([kind, all]) => {
      const lengths = all.map(({ sec }) => sec)
      return { kind, count: all.length, median_sec: round(medianOf(lengths)) }
    })
    .sort((one, other) => other.count - one.count || one.kind.localeCompare(other.kind))
}

/** Characters a second that grown-ups read in subtitles (Netflix, Timed Text Style Guide). */
const READ_A_SECOND = 20

/** How long text stands, and the cards that stand too briefly. A card stands from its beginning to its shot's end. */
function readingOf(frames: readonly FilmFrame[], length: number): PublicFilm['text'] {
  const stretches = stretchesOf(frames, length, ({ id }) => id)
  let lasts = 0
  const cards = frames.flatMap((frame, n) => {
    const { from, to } = stretches[n]!
    const text = frame.on_screen_text?.replace(/\s+/g, ' ').trim() ?? ''
    if (text === '') return []
    lasts += to - from
    if (frame.subject !== 'text-card') return []
    const end = frame.shot_sec && frame.shot_sec[1] > frame.t_sec ? Math.min(to, frame.shot_sec[1]) : to
    const stands = Math.max(0.001, end - from)
    return {
      frame_id: frame.id,
      t_sec: frame.t_sec,
      seconds: round(stands),
      characters: text.length,
      per_second: round(text.length / stands),
    }
  })
  const too_fast = cards.filter(({ per_second }) => per_second > READ_A_SECOND)
  return { share: round(Math.min(1, lasts / length)), cards: cards.length, too_fast }
}

export function toShots(
  { shots }: Pick<FilmBuild, 'shots'>,
  frames: readonly FilmFrame[],
): z.infer<typeof ShotsAnswer> {
  const wayInto = (n: number): z.infer<typeof way> => {
    const shot = shots[n]
    if (!shot) return { kind: 'end', length_sec: 0, through: null }
    const length = n === 0 ? 0 : Math.max(0, shot.cleanFromMs - shots[n - 1]!.cleanToMs) / 1000
    const { transition: kind, through } = shot
    return { kind, length_sec: kind === 'cut' ? 0 : length, through }
  }
  const framesOf = Map.groupBy(frames, ({ t_sec }) => shots.findLastIndex(({ fromMs }) => fromMs <= t_sec * 1000))
  return {
    shots: shots.map((shot, n) => ({
      n: n + 1,
      from_sec: shot.fromMs / 1000,
      to_sec: shot.toMs / 1000,
      clean_from_sec: shot.cleanFromMs / 1000,
      clean_to_sec: shot.cleanToMs / 1000,
      way_in: wayInto(n),
      way_out: wayInto(n + 1),
      held_share: shot.held,
      motion: shot.motion,
      frame_ids: (framesOf.get(n) ?? []).map(({ id }) => id),
    })),
    missing: missingOfShots(shots),
  }
}

function missingOfShots(shots: FilmBuild['shots']): Record<string, string> {
  if (shots.length === 0) return { shots: whyMissing('shots', 0, null) }
  if (!shots.some(({ held }) => held === null)) return {}
  const why = 'The clean part of the shot has no length.'
  return { held_share: why, motion: why }
}

/** Mean colours of the parts of a film: BT.709 in the usual range, as hex. */
function toColors({ luma, u, v }: NonNullable<FilmBuild['picture']>['arcs']): string[] {
  return luma.map((y, n) => {
    const [light, blue, red] = [1.164 * (y - 16), u[n]! - 128, v[n]! - 128]
    const rgb = [light + 1.793 * red, light - 0.213 * blue - 0.533 * red, light + 2.112 * blue]
    const hex = rgb.map((one) =>
      Math.min(255, Math.max(0, Math.round(one)))
        .toString(16)
        .padStart(2, '0'),
    )
    return `#${hex.join('')}`
  })
}
