import { z } from 'zod'
import {
  farthestOf,
  LEAST_FILMS,
  similarFilms,
  standingText,
  TOO_SHORT,
  usualRange,
} from '../library/films/comparison.ts'
import type { Draft, WholeDraft } from '../library/films/drafts.ts'
import type { FilmGrammar, ShelfFilm } from '../library/films/films.ts'
import {
  MEASURE_NAMES,
  type MeasureName,
  measureFilm,
  measureOf,
  measureText,
  SOUND_NAMES,
} from '../library/films/measures.ts'
import { DRAFT_STATES, type SoundMeasure } from '../vocabulary.ts'
import { card, Film, type FilmDeps, Measures, perMeasure, Rank, tellCamera, toFilm } from './film.ts'
import { toVideo, Video } from './resources.ts'

/** A draft against the library, as its owner reads it: by the API, the tool and the page. */

const about = {
  id: z.string(),
  title: z.string(),
  source_url: z.string().nullable(),
  state: z.enum(DRAFT_STATES),
  failure: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().describe('It is gone then.'),
}
export const DraftAbout = z.strictObject(about).meta({ id: 'DraftAbout' })

const measure = z.enum(MEASURE_NAMES as [MeasureName, ...MeasureName[]])
const Score = Film.omit({ video_id: true, text: true })
  .extend({
    among: z.int().describe('Films of the library that it is compared with.'),
    standing: z.strictObject(perMeasure(Rank.nullable())),
    nearest: z
      .array(z.strictObject({ video: Video, measures: Measures, distance: z.number(), why: z.array(measure) }))
      .nullable()
      .describe('By style, as of similar films.'),
    differs: z
      .array(
        z.strictObject({
          measure,
          value: z.number(),
          usual: z.number(),
          apart: z.number(),
          stands: z.string().nullable(),
        }),
      )
      .nullable()
      .describe('The three measures farthest from the middle of the library, in robust deviations.'),
    sound: z
      .array(
        z.strictObject({
          measure: z.enum(SOUND_NAMES as [SoundMeasure, ...SoundMeasure[]]),
          value: z.number().nullable(),
          usual: z.array(z.number()).length(2).nullable().describe('Where four in five films lie.'),
          unusual: z.boolean().nullable(),
        }),
      )
      .describe('Sound beside what is usual in the library.'),
    text: z.strictObject({
      share: z.number(),
      cards: z.int(),
      too_fast: z.array(card.extend({ text: z.string() })),
    }),
  })
  .meta({ id: 'DraftScore' })
export type DraftScore = z.infer<typeof Score>
export const DraftAnswer = z.strictObject({ ...about, score: Score.nullable() }).meta({ id: 'Draft' })
type DraftFilm = NonNullable<WholeDraft['film']>
export type DraftReport = z.infer<typeof DraftAnswer>

export function toDraftAbout(draft: Draft): z.infer<typeof DraftAbout> {
  const { id, title, sourceUrl, state, failureCode: code, failureMessage: message, createdAt, expiresAt } = draft
  return {
    ...{ id, title, source_url: sourceUrl, state },
    failure: code === null ? null : { code, message: message ?? code },
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}

/** A look at a draft compares it with every film: its ranks, its likeness, its distance from the middle. */
export const DRAFT_POINTS = 6

/** A draft with its score, once it is measured. */
export async function readDraft(
  deps: FilmDeps & { publicUrl: string },
  { film, ...draft }: WholeDraft,
): Promise<DraftReport> {
  return { ...toDraftAbout(draft), score: film && (await scoreDraft(deps, draft, film)) }
}

const NEAREST = 5
const MOST_DIFFERENT = 3

/** What was measured of a draft, as films have it. */
export function grammarOf({ shots, picture, durationSec }: DraftFilm): FilmGrammar {
  return { shots, picture, measures: measureFilm(shots, durationSec, picture) }
}

/** How a draft is built, where it stands among the films of the library, and what is unusual about it. */
async function scoreDraft(
  deps: FilmDeps & { publicUrl: string },
  { id, title }: Draft,
  measured: DraftFilm,
): Promise<DraftScore> {
  const shelf = await deps.films.shelf()
  const grammar = grammarOf(measured)
  const own: ShelfFilm = { id, title, author: null, platform: 'web', measures: grammar.measures }
  const { frames } = measured
  const { video_id: _, standing, text, missing, ...film } = toFilm(own, { frames, grammar, peers: shelf })
  const near = similarFilms(own, shelf, { view: 'style', limit: NEAREST })
  const ids = near.map((one) => one.film.id)
  const videos = await deps.search.documents('videos', ids)
  const nearest = near.flatMap(({ film: { id, measures }, distance, why }) => {
    const video = videos.get(id)
    return video ? [{ video: toVideo(video, deps.publicUrl), measures, distance, why }] : []
  })
  const differs = farthestOf(own, shelf, MOST_DIFFERENT).map(({ name, ...far }) => {
    const rank = standing[name]
    return { measure: name, ...far, stands: rank ? standingText(name, rank) : null }
  })
  const ranks = MEASURE_NAMES.map((name) => [name, standing[name] ?? null] as const)
  return {
    ...film,
    among: shelf.length,
    standing: Object.fromEntries(ranks) as DraftScore['standing'],
    nearest: nearest.length > 0 ? nearest : null,
    differs: differs.length > 0 ? differs : null,
    sound: SOUND_NAMES.map((name) => soundOf(name, own, shelf)),
    text: {
      ...text,
      too_fast: text.too_fast.map(({ frame_id, ...one }) => ({ ...one, text: wordsOf(frames, frame_id) })),
    },
    missing: { ...missing, ...whyUnranked(own, shelf, ranks), ...whyNone(shelf, nearest.length) },
  }
}

function soundOf(measure: SoundMeasure, { measures }: ShelfFilm, shelf: readonly ShelfFilm[]) {
  const [value, range] = [measures[measure], usualRange(measure, shelf)]
  const unusual = value === null || range === null ? null : value < range.low || value > range.high
  return { measure, value, usual: range && [range.low, range.high], unusual }
}

const MOST_WORDS = 80

function wordsOf(frames: DraftFilm['frames'], id: string): string {
  const text = frames.find((frame) => frame.id === id)?.on_screen_text ?? ''
  return text.replace(/\s+/g, ' ').trim().slice(0, MOST_WORDS)
}

/** Why a measure has no place, by `standing.<measure>`; a measure without a value says why itself. */
function whyUnranked(
  { measures }: ShelfFilm,
  shelf: readonly ShelfFilm[],
  ranks: readonly (readonly [MeasureName, unknown])[],
): Record<string, string> {
  const unranked = ranks.filter(([name, rank]) => rank === null && measures[name] !== null)
  return Object.fromEntries(
    unranked.map(([name]) => {
      const known = shelf.some((film) => film.measures[name] !== null)
      return [`standing.${name}`, known ? TOO_SHORT : 'No film of the library has this measure.']
    }),
  )
}

function whyNone(shelf: readonly ShelfFilm[], nearest: number): Record<string, string> {
  const few = (what: string, films: number) =>
    `It needs ${LEAST_FILMS} films with ${what} in the library, and there are ${films}.`
  const heard = Math.min(...SOUND_NAMES.map((name) => shelf.filter(({ measures }) => measures[name] !== null).length))
  return {
    ...(nearest === 0 ? { nearest: 'No film of the library has enough measures in common with it.' } : {}),
    // Every film has a length, so only their number can be too small.
    ...(shelf.length < LEAST_FILMS ? { differs: few('measures', shelf.length) } : {}),
    ...(heard < LEAST_FILMS ? { sound: few('sound', heard) } : {}),
  }
}

/** What of its sound is out of the usual. */
export function oddSounds({ sound }: DraftScore) {
  return sound.flatMap(({ measure, value, usual, unusual }) =>
    unusual && value !== null && usual ? [{ measure, value, usual }] : [],
  )
}

/** Why its sound is not compared. */
export const whySilent = ({ missing }: DraftScore): string | undefined => missing.loudness ?? missing.sound

/** A score in words, for agents and terminals. `quoted` marks text that comes from films. */
export function tellScore(score: DraftScore, quoted: (text: string, most: number) => string): string[] {
  const { measures, missing, among, unusual, differs, nearest, text } = score
  const told = (name: MeasureName, value: number) => `${measureOf(name).label} ${measureText(name, value)}`
  const figures = SHOWN.flatMap((name) => (measures[name] === null ? [] : told(name, measures[name])))
  const far = differs?.map(({ measure: name, value, usual, stands }) => {
    return `${told(name, value)}, usually ${measureText(name, usual)}${stands === null ? '' : `, ${stands}`}`
  })
  const near = nearest?.map(({ video, distance, why }) => {
    const reasons = why.map((name) => measureOf(name).label).join(', ')
    return `${video.id} ${quoted(video.title, 80)}, ${distance} away: ${reasons}`
  })
  const cards = text.too_fast.map((one) => `${one.t_sec} s ${quoted(one.text, 60)} ${one.per_second} characters/s`)
  const odd = oddSounds(score).map(({ measure: name, value, usual }) => {
    return `${told(name, value)}, usually ${usual.join(' to ')}`
  })
  return [
    `${figures.join(', ')}. Films to compare with: ${among}.`,
    ...(unusual.length > 0 ? [`Unusual: ${unusual.join('; ')}.`] : []),
    tellCamera(score),
    `Differs most: ${far?.join('; ') ?? missing.differs}`,
    `Too fast to read: ${cards.slice(0, 8).join(', ') || `none of ${text.cards} cards`}.`,
    `Sound out of the usual: ${odd.join('; ') || (whySilent(score) ?? 'nothing')}`,
    ...(near ? ['Nearest by style:', ...near] : [`Nearest: ${missing.nearest}`]),
  ]
}

const SHOWN = ['duration_sec', 'shots', 'shots_a_minute', 'shot_median_sec', 'held_share', 'motion'] as const
