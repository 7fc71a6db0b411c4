import type { FilmPicture, FilmShot, PictureMeasure, SoundMeasure, Transition } from '../../vocabulary.ts'

/** Units that are written behind a value. */
const SHOWN_UNITS = ['s', 'LUFS', 'LU', 'dBTP'] as const

interface Measure {
  unit: (typeof SHOWN_UNITS)[number] | 'per minute' | 'share' | 'count' | 'ln s' | 'levels' | 'levels per second'
  label: string
  /** "… than 14 of 17 films" */
  less: string
  more: string
  /** What two films are alike by: how they are cut and move, or how they look. Null: by neither. */
  view: 'style' | 'look' | null
  /** It follows another measure closely: it is not told as unusual. */
  echo?: true
  /** Of shots: films under ten seconds are not ranked by it. */
  pace?: true
  /** Films are compared by its logarithm. */
  log?: true
  /** The least deviation that is counted: measures of a small library may hardly differ. In logarithms where `log`. */
  floor: number
}

const pace = { pace: true, log: true, floor: 0.1 } as const
const echo = { ...pace, echo: true } as const

type Rules = Pick<Measure, 'floor'> & Partial<Pick<Measure, 'view' | 'echo' | 'pace' | 'log'>>
const measure = (unit: Measure['unit'], label: string, [less, more]: [string, string], rules: Rules): Measure => {
  return { view: null, ...rules, unit, label, less, more }
}

/** Every measure of a film. docs/films.md says how each is measured, and where the method is from. */
const MEASURES = {
  duration_sec: measure('s', 'length', ['shorter', 'longer'], { log: true, floor: 0.1 }),
  shots: measure('count', 'shots', ['fewer shots', 'more shots'], { echo: true, log: true, floor: 0.1 }),
  shots_a_minute: measure('per minute', 'shots a minute', ['slower', 'faster'], pace),
  shot_median_sec: measure('s', 'median shot', ['shorter shots', 'longer shots'], { ...echo, view: 'style' }),
  shot_mean_sec: measure('s', 'mean shot', ['a shorter mean shot', 'a longer mean shot'], echo),
  shot_q1_sec: measure('s', 'short shots (lower quartile)', ['shorter short shots', 'longer short shots'], echo),
  shot_q3_sec: measure('s', 'long shots (upper quartile)', ['shorter long shots', 'longer long shots'], {
    ...echo,
    view: 'style',
  }),
  longest_shot_sec: measure('s', 'longest shot', ['a shorter longest shot', 'a longer longest shot'], echo),
  shot_spread: measure('ln s', 'spread of shot lengths', ['more even', 'more varied in length of shot'], {
    pace: true,
    view: 'style',
    floor: 0.1,
  }),
  gradual_share: measure('share', 'gradual transitions', ['fewer gradual transitions', 'more gradual transitions'], {
    pace: true,
    view: 'style',
    floor: 0.05,
  }),
  transition_median_sec: measure('s', 'median gradual transition', ['quicker transitions', 'slower transitions'], pace),
  held_share: measure('share', 'held picture', ['less held picture', 'more held picture'], {
    view: 'style',
    floor: 0.05,
  }),
  longest_hold_sec: measure('s', 'longest hold', ['a shorter longest hold', 'a longer longest hold'], { floor: 0.3 }),
  motion: measure('levels per second', 'motion', ['calmer', 'more moving'], { log: true, view: 'style', floor: 0.1 }),
  motion_peak: measure('levels per second', 'motion at its peak', ['calmer at its peak', 'wilder at its peak'], {
    echo: true,
    log: true,
    view: 'style',
    floor: 0.1,
  }),
  luma: measure('levels', 'light', ['darker', 'brighter'], { view: 'look', floor: 5 }),
  luma_spread: measure('levels', 'change of light', ['more even in light', 'more varied in light'], {
    view: 'look',
    floor: 3,
  }),
  contrast: measure('levels', 'contrast', ['softer', 'harder in contrast'], { view: 'look', floor: 3 }),
  colour: measure('levels', 'colour', ['less colourful', 'more colourful'], { view: 'look', floor: 2 }),
  blue_cast: measure('levels', 'blue cast', ['more yellow', 'more blue'], { view: 'look', floor: 1 }),
  red_cast: measure('levels', 'red cast', ['more green', 'more red'], { view: 'look', floor: 1 }),
  loudness: measure('LUFS', 'loudness', ['quieter', 'louder'], { floor: 1 }),
  loudness_range: measure('LU', 'range of loudness', ['more even in loudness', 'more varied in loudness'], {
    floor: 1,
  }),
  true_peak: measure('dBTP', 'true peak', ['a lower peak', 'a higher peak'], { echo: true, floor: 0.5 }),
  silence_share: measure('share', 'silence', ['less silence', 'more silence'], { floor: 0.05 }),
}

export type MeasureName = keyof typeof MEASURES
export const MEASURE_NAMES = Object.keys(MEASURES) as MeasureName[]
export type Measures = Record<MeasureName, number | null>

export function measureOf(name: MeasureName): Measure {
  return MEASURES[name]
}

/** A value as people and models read it. */
export function measureText(name: MeasureName, value: number): string {
  const { unit } = measureOf(name)
  if (unit === 'share') return `${Math.round(100 * value)} %`
  const short = shortNumber(value)
  return SHOWN_UNITS.some((shown) => shown === unit) ? `${short} ${unit}` : String(short)
}

/** Two decimals below ten, one above. */
export function shortNumber(value: number): number {
  const digits = Math.abs(value) < 10 ? 100 : 10
  return Math.round(value * digits) / digits
}

/** The grammar of a film. `picture` is null where none was measured. */
export function measureFilm(shots: readonly FilmShot[], durationSec: number, picture: FilmPicture | null): Measures {
  const seconds = shots.map(({ fromMs, toMs }) => (toMs - fromMs) / 1000).filter((length) => length > 0)
  const some = seconds.length >= LEAST_SHOTS ? seconds : []
  const gradual = transitionsOf(shots).filter(({ sec }) => sec > 0)
  const spread = some.map(Math.log)
  const mean = average(spread)
  return {
    duration_sec: round(durationSec),
    shots: shots.length || null,
    shots_a_minute: shots.length > 0 && durationSec > 0 ? round((shots.length * 60) / durationSec) : null,
    shot_median_sec: quantile(some, 0.5),
    shot_mean_sec: some.length > 0 ? round(average(some)) : null,
    shot_q1_sec: quantile(some, 0.25),
    shot_q3_sec: quantile(some, 0.75),
    longest_shot_sec: some.length > 0 ? round(Math.max(...some)) : null,
    shot_spread: some.length > 0 ? round(Math.sqrt(average(spread.map((one) => (one - mean) ** 2)))) : null,
    gradual_share: shots.length >= LEAST_SHOTS ? round(gradual.length / (shots.length - 1)) : null,
    transition_median_sec: quantile(
      gradual.map(({ sec }) => sec),
      0.5,
    ),
    ...NOT_MEASURED,
    ...picture?.measures,
  }
}

const LEAST_SHOTS = 3
const SOUND = { loudness: null, loudness_range: null, true_peak: null, silence_share: null } as const
const NOT_MEASURED = {
  held_share: null,
  longest_hold_sec: null,
  motion: null,
  motion_peak: null,
  luma: null,
  luma_spread: null,
  contrast: null,
  colour: null,
  blue_cast: null,
  red_cast: null,
  ...SOUND,
} as const satisfies Record<PictureMeasure | SoundMeasure, null>

/** The ways from shot to shot, with their lengths: 0 for a cut. */
export function transitionsOf(shots: readonly FilmShot[]): { kind: Transition; sec: number }[] {
  return shots.slice(1).map(({ transition, cleanFromMs }, n) => ({
    kind: transition,
    sec: transition === 'cut' ? 0 : Math.max(0, cleanFromMs - shots[n]!.cleanToMs) / 1000,
  }))
}

const PACE_PARTS = 32

/** Boundaries a second over the film: a Gaussian kernel of a twentieth of its length, at least 1.5 seconds wide. */
export function paceCurve(shots: readonly FilmShot[], durationSec: number): number[] {
  const width = Math.max(1.5, durationSec / 20)
  const at = shots.slice(1).map(({ fromMs }) => fromMs / 1000)
  return Array.from({ length: PACE_PARTS }, (_, n) => {
    const here = ((n + 0.5) * durationSec) / PACE_PARTS
    const density = at.reduce((sum, each) => sum + Math.exp(-0.5 * ((here - each) / width) ** 2), 0)
    return round(density / (width * Math.sqrt(2 * Math.PI)))
  })
}

/** Why a measure of a film is null. */
export function whyMissing(name: MeasureName, shots: number, picture: FilmPicture | null): string {
  if (name in SOUND && picture?.noSound) return picture.noSound
  if (shots === 0) return 'The shots of this film are not known.'
  if (name in NOT_MEASURED) return 'It could not be measured.'
  if (name === 'transition_median_sec') return 'The film has no gradual transition.'
  return shots < LEAST_SHOTS ? `It needs ${LEAST_SHOTS} shots, and the film has ${shots}.` : 'Its length is not known.'
}

export function quantile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((one, other) => one - other)
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return round(below + (above - below) * (at - Math.floor(at)))
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
const round = (value: number): number => Math.round(value * 1000) / 1000
