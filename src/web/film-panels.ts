import { clock } from '../clean-text.ts'
import { isTooShort, type SimilarFilm, standingText, TOO_SHORT } from '../library/films/comparison.ts'
import type { FilmBuild, FilmRow } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, type Measures, measureOf, measureText } from '../library/films/measures.ts'
import type { FrameDocument, ShownFrame } from '../search/library-search.ts'
import type { PublicFilm } from '../views/film.ts'
import { overview } from '../views/rhythm.ts'
import { area, fixed, plot, WIDE } from './chart.ts'
import { altOf, smallThumb, tile } from './frame-card.ts'
import { counted, type Html, html, table, thousands, valueLabel } from './html.ts'

/** How a film is built, on pages. Every plot stretches with the page, and has its figures in words or in a table. */

/** A measure as people read it. */
export function measured(name: MeasureName, measures: Measures): string {
  const value = measures[name]
  return value === null ? '–' : measureText(name, value).replace(' ', '\u00a0')
}

/** Pictures of a film in a row. */
export const PARTS = 12

/** One picture for each part of the time. `from`: the place of the first on the page. */
export function filmStrip(frames: readonly FrameDocument[], length: number, from = 0): Html | false {
  if (frames.length === 0) return false
  const pictures = overview(frames, length, PARTS).map(
    (frame, n) =>
      html`<li><a href="/frames/${frame.id}">${smallThumb(frame, {
        n: from + n,
        alt: `${clock(frame.t_sec)}: ${altOf(frame)}`,
      })}</a></li>`,
  )
  return html`<ol class="parts">${pictures}</ol>`
}

/** The shots with their true lengths, each in the largest colour of its first frame. A script marks a second of it. */
export function filmLine({ shots }: FilmBuild, frames: readonly FrameDocument[], length: number): Html | false {
  if (shots.length === 0) return false
  const x = (ms: number) => (ms / 1000 / length) * WIDE
  const rects = shots.map(({ fromMs, toMs, transition }, n) => {
    const told = [`Shot ${n + 1}: ${sec(fromMs)} to ${sec(toMs)}`, `${sec(toMs - fromMs)} long`, wayOf(transition)]
    const own = frames.find(({ t_sec }) => t_sec * 1000 >= fromMs && t_sec * 1000 < toMs)
    return html`<rect x="${fixed(x(fromMs))}" width="${fixed(Math.max(1, x(toMs) - x(fromMs) - 2))}" height="10"
fill="${own?.palette[0] ?? 'currentColor'}"><title>${told.join(', ')}</title></rect>`
  })
  return html`<div class="film-line" data-length="${length}"><svg viewBox="0 0 ${WIDE} 10" preserveAspectRatio="none"
role="img" aria-label="${counted(shots.length, 'shot')} over ${clock(length)}">${rects}</svg>
<p class="axis" aria-hidden="true"><span>0:00</span><span>${clock(length)}</span></p></div>`
}

const sec = (ms: number): string => `${Math.round(ms / 10) / 100} s`
const wayOf = (kind: string): string => (kind === 'start' ? 'the first' : `after a ${kind}`)

type WithCurves = Pick<PublicFilm, 'curves'>

const CURVES = [
  ['pace', 'Pace', 'shots begin a second'],
  ['motion', 'Movement', 'levels of change a second'],
  ['light', 'Brightness', 'levels of 255'],
] as const

/** Pace, motion and light over a film. `beside`: the films whose curves are on one scale with it. */
export function curves(film: WithCurves, length: number, beside: readonly WithCurves[] = [film]): Html[] {
  return CURVES.flatMap(([name, label, unit]) => {
    const values = film.curves[name]
    if (values === null) return []
    const most = Math.max(...beside.flatMap((one) => one.curves[name] ?? []))
    const told = `${label}: at most ${fixed(Math.max(...values))}, at least ${fixed(Math.min(...values))} ${unit}`
    return plot(
      { label, unit, top: most < 10 ? fixed(most) : thousands(Math.round(most)), ends: ['0:00', clock(length)], told },
      area(values, most),
    )
  })
}

/** Every measure with its place among the other films. What is not known is told by its reason. */
export function standings({
  measures,
  missing,
  standing,
}: Pick<PublicFilm, 'measures' | 'missing' | 'standing'>): Html {
  const rowOf = (name: MeasureName) => {
    const rank = standing[name]
    const unranked = isTooShort(measures, name) ? TOO_SHORT : 'No other film is ranked by it.'
    return html`<tr><th scope="row"><a href="/films?sort=${name}">${valueLabel(measureOf(name).label)}</a></th>
<td>${measured(name, measures)}</td>
<td class="hint">${rank ? standingText(name, rank) : (missing[name] ?? unranked)}</td></tr>`
  }
  const stands = table(['Measure', 'Here', 'Stands'], MEASURE_NAMES.map(rowOf))
  return html`<section><h2>Among the films of the library</h2>${stands}</section>`
}

/** A film with its length and its name, its brand, and what is told of it. `n`: its place on the page. */
export function poster(
  { id, title, author, measures }: Pick<FilmRow, 'id' | 'title' | 'author' | 'measures'>,
  { cover, told, n }: { cover: ShownFrame | undefined; told: Html | string; n: number },
): Html {
  const parts = [author, told].filter((one) => one !== null && one !== '')
  const hint = html`${parts.map((one, at) => html`${at > 0 && ' · '}${one}`)}`
  return tile({ href: `/videos/${id}`, label: title, hint, cover, n, length: measures.duration_sec })
}

/** Films that are built alike, each with the reasons. `coverOf`: the frame that stands for a film. */
export function similarPanel(
  id: string,
  similar: readonly SimilarFilm[],
  coverOf: (id: string) => ShownFrame | undefined,
): Html | false {
  if (similar.length === 0) return false
  const items = similar.map(({ film, why }) => {
    const reasons = why.map((name) => measureOf(name).label).join(' and ')
    const told = html`alike in ${reasons} · <a href="/compare?videos=${id}&amp;videos=${film.id}"
aria-label="Compare with ${film.title}">Compare</a>`
    return html`<li>${poster(film, { cover: coverOf(film.id), told, n: Number.POSITIVE_INFINITY })}</li>`
  })
  return html`<section><h2>Built like it</h2><ol class="tiles">${items}</ol></section>`
}

const EXPORTS = [
  ['otio', 'DaVinci Resolve', 'OpenTimelineIO'],
  ['xml', 'Premiere Pro', 'XML'],
  ['fcpxml', 'Final Cut Pro', 'FCPXML'],
  ['csv', 'a spreadsheet', 'shot list'],
] as const

/**
 * Links to a timeline for each editing program. Without `download`, with which a browser would not show why a file is
 * refused.
 */
export function exportList(path: string): Html[] {
  return EXPORTS.map(
    ([ending, program, name]) => html`<li><a href="${path}.${ending}">For ${program}
<span class="hint">${name}</span></a></li>`,
  )
}
