import type { FilmPicture, FilmShot, PictureMeasure, SoundMeasure, Transition } from '../../vocabulary.ts'

interface Measure {
  unit: 's' | 'LUFS' | 'per minute' | 'share' | 'count' | 'levels' | 'levels per second'
  label: string
  /** "… than 14 of 17 films" */
  less: string
  more: string
  /** What two films are alike by: how they are cut and move, or how they look. */
  view?: 'style' | 'look'
  /** It follows another measure closely: it is not told as unusual. */
  echo?: true
  /** Of shots: films under ten seconds are not ranked by it. */
  pace?: true
  /** Films are compared by its logarithm. */
  log?: true
  /** The least deviation that is counted: measures of a small library may hardly differ. In logarithms where `log`. */
  floor: number
}

const measure = (
  unit: Measure['unit'],
  label: string,
  [less, more]: [string, string],
  rules: Omit<Measure, 'unit' | 'label' | 'less' | 'more'>,
): Measure => ({ unit, label, less, more, ...rules })

const still = { view: 'style', floor: 0.05 } as const
const moves = { view: 'style', log: true, floor: 0.1 } as const
const looks = { view: 'look', floor: 3 } as const

/** Every measure of a film. docs/films.md says how each is measured, and where the method is from. */
const MEASURES = {
  duration_sec: measure('s', 'length', ['shorter', 'longer'], { log: true, floor: 0.1 }),
  shots: measure('count', 'shots', ['fewer shots', 'more shots'], { echo: true, log: true, floor: 0.1 }),
  shots_a_minute: measure('per minute', 'shots a minute', ['slower', 'faster'], { pace: true, log: true, floor: 0.1 }),
  shot_median_sec: measure('s', 'typical shot', ['shorter shots', 'longer shots'], {
    ...moves,
    pace: true,
    echo: true,
  }),
  gradual_share: measure('share', 'soft transitions', ['fewer soft transitions', 'more soft transitions'], {
    ...still,
    pace: true,
  }),
  held_share: measure('share', 'still picture', ['less still picture', 'more still picture'], still),
  motion: measure('levels per second', 'movement', ['calmer', 'more moving'], moves),
  luma: measure('levels', 'brightness', ['darker', 'brighter'], { ...looks, floor: 5 }),
  contrast: measure('levels', 'contrast', ['softer', 'harder in contrast'], looks),
  colour: measure('levels', 'colourfulness', ['less colourful', 'more colourful'], { ...looks, floor: 2 }),
  loudness: measure('LUFS', 'loudness', ['quieter', 'louder'], { floor: 1 }),
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
  return unit === 's' || unit === 'LUFS' ? `${short} ${unit}` : String(short)
}

/** Two decimals below ten, one above. */
export function shortNumber(value: number): number {
  const digits = Math.abs(value) < 10 ? 100 : 10
  return Math.round(value * digits) / digits
}

/** What is measured of a film. `picture` is null where none was measured. */
export function measureFilm(shots: readonly FilmShot[], durationSec: number, picture: FilmPicture | null): Measures {
  const seconds = shots.map(({ fromMs, toMs }) => (toMs - fromMs) / 1000).filter((length) => length > 0)
  const gradual = transitionsOf(shots).filter(({ sec }) => sec > 0)
  return {
    duration_sec: round(durationSec),
    shots: shots.length || null,
    shots_a_minute: shots.length > 0 && durationSec > 0 ? round((shots.length * 60) / durationSec) : null,
    shot_median_sec: seconds.length >= LEAST_SHOTS ? round(medianOf(seconds)) : null,
    gradual_share: shots.length >= LEAST_SHOTS ? round(gradual.length / (shots.length - 1)) : null,
    ...NOT_MEASURED,
    ...picture?.measures,
  }
}

const LEAST_SHOTS = 3
const SOUND = { loudness: null, silence_share: null } as const
const NOT_MEASURED = {
  ...{ held_share: null, motion: null, luma: null, contrast: null, colour: null },
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

export function whyMissing(name: MeasureName, shots: number, picture: FilmPicture | null): string {
  if (name in SOUND && picture?.noSound) return picture.noSound
  if (shots === 0) return 'The shots of this film are not known.'
  if (name in NOT_MEASURED) return 'It could not be measured.'
  return shots < LEAST_SHOTS ? `It needs ${LEAST_SHOTS} shots, and the film has ${shots}.` : 'Its length is not known.'
}

/** Zero for none. */
export function medianOf(values: Iterable<number>): number {
  const sorted = Float64Array.from(values).sort()
  return sorted.length === 0 ? 0 : (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
}

/** To three decimals. */
export const round = (value: number): number => Math.round(value * 1000) / 1000
