import type { FilmRow } from './films.ts'
import { MEASURE_NAMES, type MeasureName, type Measures, measureOf, medianOf, round } from './measures.ts'

export interface Standing {
  /** Other films that have the measure. */
  n: number
  below: number
  same: number
  /** 0–1. Equal films count half. */
  percentile: number
}

/** Films shorter than this are not ranked by the measures of their shots. */
const LEAST_SEC = 10
export const TOO_SHORT = `Films under ${LEAST_SEC} seconds are not ranked by their shots.`

/** Whether a film is too short to be ranked by a measure. */
export function isTooShort(measures: Measures, name: MeasureName): boolean {
  return measureOf(name).pace === true && (measures.duration_sec ?? 0) < LEAST_SEC
}

/** A film's value among others; null where it has none, or is too short for it. */
function ranked(measures: Measures, name: MeasureName): number | null {
  return isTooShort(measures, name) ? null : measures[name]
}

/** The same as distances are measured in. */
function comparable(measures: Measures, name: MeasureName): number | null {
  const value = ranked(measures, name)
  return value !== null && measureOf(name).log ? Math.log(Math.max(value, 0) + 0.05) : value
}

/** Where a film stands by each measure that it has and at least one other film has. */
export function standingOf(film: FilmRow, library: readonly FilmRow[]): Partial<Record<MeasureName, Standing>> {
  const others = library.filter(({ id }) => id !== film.id)
  const standing: Partial<Record<MeasureName, Standing>> = {}
  for (const name of MEASURE_NAMES) {
    const own = ranked(film.measures, name)
    if (own === null) continue
    let [n, below, same] = [0, 0, 0]
    for (const { measures } of others) {
      const value = ranked(measures, name)
      if (value === null) continue
      n++
      if (value < own) below++
      else if (value === own) same++
    }
    if (n > 0) standing[name] = { n, below, same, percentile: round((below + same / 2) / n) }
  }
  return standing
}

/** Below this number of films nothing is called unusual. */
const LEAST_FILMS = 4
const UNUSUAL = 0.15
const MOST_UNUSUAL = 5

/** What is unusual about a film, most unusual first: "slower than 14 of 17". */
export function unusualOf(standing: Partial<Record<MeasureName, Standing>>): string[] {
  return Object.entries(standing)
    .filter(([name]) => !measureOf(name as MeasureName).echo)
    .filter(([, { n, percentile }]) => n >= LEAST_FILMS && Math.min(percentile, 1 - percentile) <= UNUSUAL)
    .sort(([, one], [, other]) => Math.abs(other.percentile - 0.5) - Math.abs(one.percentile - 0.5))
    .slice(0, MOST_UNUSUAL)
    .map(([name, one]) => standingText(name as MeasureName, one))
}

/** Counted from the nearer end: "brighter than 3 of 4", never "brighter than 1 of 4". */
export function standingText(name: MeasureName, { n, below, same, percentile }: Standing): string {
  const { less, more } = measureOf(name)
  return percentile >= 0.5 ? `${more} than ${below} of ${n}` : `${less} than ${n - below - same} of ${n}`
}

/** How films are told alike: by how they are cut and move, or by light and colour. */
export const VIEWS = ['style', 'look'] as const
export type View = (typeof VIEWS)[number]

type Scores = Partial<Record<MeasureName, number>>

/**
 * The distance of a film from the middle of the library in robust deviations: the median one times 1.4826, or the
 * floor. At most 3: one odd measure must not hide the others.
 */
function scorer(library: readonly FilmRow[], names: readonly MeasureName[]): (film: FilmRow) => Scores {
  const scales = names.map((name) => {
    const values = Float64Array.from(library.flatMap(({ measures }) => comparable(measures, name) ?? []))
    const center = medianOf(values)
    const spread = medianOf(values.map((value) => Math.abs(value - center)))
    return { name, center, deviation: Math.max(1.4826 * spread, measureOf(name).floor) }
  })
  return ({ measures }) => {
    const scores: Scores = {}
    for (const { name, center, deviation } of scales) {
      const value = comparable(measures, name)
      if (value !== null) scores[name] = Math.min(3, Math.max(-3, (value - center) / deviation))
    }
    return scores
  }
}

export interface SimilarFilm {
  film: FilmRow
  /** In robust deviations; 0 is the same. */
  distance: number
  /** The measures that say why: those that both have unlike the rest of the library, and alike. */
  why: MeasureName[]
}

/** Two films are compared by no fewer common measures. */
const LEAST_COMMON = 3

/** The films nearest to one, nearest first. */
export function similarFilms(
  film: FilmRow,
  library: readonly FilmRow[],
  { view, limit }: { view: View; limit: number },
): SimilarFilm[] {
  const ofView = MEASURE_NAMES.filter((name) => measureOf(name).view === view)
  const score = scorer(library, ofView)
  const own = score(film)
  const names = ofView.filter((name) => own[name] !== undefined)
  return library
    .flatMap((other) => {
      if (other.id === film.id) return []
      const theirs = score(other)
      const common = names.filter((name) => theirs[name] !== undefined)
      if (common.length < LEAST_COMMON) return []
      const gap = (name: MeasureName) => Math.abs(own[name]! - theirs[name]!)
      const distance = Math.sqrt(common.reduce((sum, name) => sum + gap(name) ** 2, 0) / common.length)
      const alike = (name: MeasureName) => Math.abs(own[name]! + theirs[name]!) / 2 - 2 * gap(name)
      const why = common.sort((one, next) => alike(next) - alike(one)).slice(0, 3)
      return { film: other, distance: round(distance), why }
    })
    .sort((one, next) => one.distance - next.distance || (one.film.id < next.film.id ? -1 : 1))
    .slice(0, limit)
}

/** The measures in which some films differ most, in robust deviations of the library. */
export function differencesOf(
  films: readonly FilmRow[],
  library: readonly FilmRow[],
): { name: MeasureName; apart: number }[] {
  const scores = films.map(scorer(library, MEASURE_NAMES))
  return MEASURE_NAMES.flatMap((name) => {
    const known = scores.flatMap((score) => score[name] ?? [])
    return known.length < 2 ? [] : { name, apart: round(Math.max(...known) - Math.min(...known)) }
  }).sort((one, other) => other.apart - one.apart)
}
