import { isTooShort, type SimilarFilm, standingText, TOO_SHORT } from '../library/films/comparison.ts'
import type { FilmBuild } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, type Measures, measureOf, measureText } from '../library/films/measures.ts'
import type { FrameDocument, VideoDocument } from '../search/library-search.ts'
import type { PublicFilm } from '../views/film.ts'
import { overview } from '../views/rhythm.ts'
import { altOf, placeholderClass, smallPicture, thumb } from './frame-card.ts'
import { clock, counted, type Html, html, percent, valueLabel } from './html.ts'

/** How a film is built, on pages. Every plot stretches with the page, and has its figures in words or in a table. */

/** The width of all drawings. */
export const WIDE = 1000

export const round = (value: number): number => Math.round(value * 100) / 100

/** A measure as people read it. */
export function measured(name: MeasureName, measures: Measures): string {
  const value = measures[name]
  return value === null ? '–' : measureText(name, value)
}

/** One figure of a list. */
export const figure = (value: string, label: string): Html => html`<div><dt>${label}</dt><dd>${value}</dd></div>`

/** Of the `names`, the measures that a film has. */
export function figuresOf(measures: Measures, names: readonly MeasureName[]): Html[] {
  const known = names.filter((name) => measures[name] !== null)
  return known.map((name) => {
    const { unit, label } = measureOf(name)
    return figure(measured(name, measures), unit === 'count' && measures[name] === 1 ? label.replace(/s$/, '') : label)
  })
}

/** Pictures of a film in a row. */
export const PARTS = 12

/** One picture for each part of the time. */
export function filmStrip(frames: readonly FrameDocument[], length: number): Html {
  const pictures = overview(frames, length, PARTS).map(
    (frame) =>
      html`<li><a class="${placeholderClass(frame.palette)}" href="/frames/${frame.id}">${thumb(frame, {
        n: 0,
        alt: `${clock(frame.t_sec)}: ${altOf(frame)}`,
      })}</a></li>`,
  )
  return html`<ol class="parts">${pictures}</ol>`
}

/** The shots with their true lengths: a gradual transition is the low part between two. */
export function shotStrip({ shots }: FilmBuild, length: number): Html | false {
  if (shots.length === 0) return false
  const x = (ms: number) => round((ms / 1000 / length) * WIDE)
  const rects = shots.map(({ fromMs, toMs, cleanFromMs, cleanToMs, transition }, n) => {
    const told = [`Shot ${n + 1}: ${sec(fromMs)} to ${sec(toMs)}`, `${sec(toMs - fromMs)} long`, wayOf(transition)]
    return html`<g class="shot-${n % 2 === 0 ? 'a' : 'b'}"><title>${told.join(', ')}</title>
<rect x="${x(fromMs)}" y="7" width="${round(x(toMs) - x(fromMs))}" height="4"/>
<rect x="${x(cleanFromMs)}" y="0" width="${Math.max(1, round(x(cleanToMs) - x(cleanFromMs)))}" height="18"/></g>`
  })
  const marks = Array.from({ length: 5 }, (_, n) => html`<span>${clock((length * n) / 4)}</span>`)
  return html`<div class="lane"><h3>Shots</h3><svg class="shots" viewBox="0 0 ${WIDE} 18" preserveAspectRatio="none"
role="img" aria-label="${counted(shots.length, 'shot')} over ${clock(length)}">${rects}</svg>
<p class="scale" aria-hidden="true">${marks}</p></div>`
}

const sec = (ms: number): string => `${Math.round(ms / 10) / 100} s`
const wayOf = (kind: string): string => (kind === 'start' ? 'the first' : `after a ${kind}`)

type WithCurves = Pick<PublicFilm, 'curves'>

/** Pace, motion and light over a film. `beside`: the films whose curves are on one scale with it. */
export function curves(film: WithCurves, beside: readonly WithCurves[] = [film]): Html[] {
  const { pace, motion, light, colors } = film.curves
  const most = (name: 'pace' | 'motion' | 'light') => Math.max(...beside.flatMap((one) => one.curves[name] ?? []))
  return [
    curve('Pace', pace, 'shots begin a second', most('pace')),
    curve('Motion', motion, 'levels of change a second', most('motion')),
    curve('Light', light, 'levels of 255', most('light')),
    colors && colorStrip(colors),
  ].flatMap((drawn) => drawn || [])
}

const HIGH = 60

function curve(label: string, values: readonly number[] | null, unit: string, most: number): Html | null {
  if (values === null) return null
  const top = most || 1
  const points = values.map((value, n) => {
    const [x, y] = [((n + 0.5) * WIDE) / values.length, HIGH - (value / top) * (HIGH - 2)]
    return `${round(x)} ${round(y)}`
  })
  const ends = [points[0]!.split(' ')[1]!, points.at(-1)!.split(' ')[1]!]
  const area = `M0 ${HIGH}V${ends[0]}L${points.join('L')}L${WIDE} ${ends[1]}V${HIGH}Z`
  const told = `${label}: at most ${round(Math.max(...values))}, at least ${round(Math.min(...values))} ${unit}`
  return html`<div class="lane curve"><h3>${label}</h3><svg viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none"
role="img" aria-label="${told}"><title>${told}</title><path d="${area}" fill="currentColor"/></svg></div>`
}

function colorStrip(colors: readonly string[]): Html {
  const wide = WIDE / colors.length
  const rects = colors.map(
    (color, n) => html`<rect x="${round(n * wide)}" y="0" width="${round(wide + 0.5)}" height="18" fill="${color}"/>`,
  )
  return html`<div class="lane"><h3>Colours</h3><svg viewBox="0 0 ${WIDE} 18" preserveAspectRatio="none" role="img"
aria-label="The mean colour of each part of the film">${rects}</svg></div>`
}

/** Every measure with its place among the other films. What is not known is told by its reason. */
export function standings({
  measures,
  missing,
  standing,
}: Pick<PublicFilm, 'measures' | 'missing' | 'standing'>): Html {
  const rowOf = (name: MeasureName) => {
    const rank = standing[name]
    const place =
      rank &&
      html`<svg class="rank" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect
x="${Math.round(rank.percentile * 96)}" y="0" width="4" height="6" fill="currentColor"/></svg>`
    const unranked = isTooShort(measures, name) ? TOO_SHORT : 'No other film is ranked by it.'
    const why = missing[name] ?? unranked
    return html`<tr><th scope="row"><a href="/films?sort=${name}">${valueLabel(measureOf(name).label)}</a></th>
<td>${measured(name, measures)}</td><td>${place}</td>
<td class="hint">${rank ? standingText(name, rank) : why}</td></tr>`
  }
  const table = measureTable(['Measure', 'Here', 'Place', 'Stands'], MEASURE_NAMES.map(rowOf))
  return html`<section class="standing"><h2>Among the films of the library</h2>${table}</section>`
}

export const measureTable = (heads: readonly (string | Html)[], rows: readonly Html[]): Html =>
  html`<div class="table"><table class="measures"><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}
</tr></thead><tbody>${rows}</tbody></table></div>`

/** All shots as a table, folded. */
export function shotTable({ shots }: FilmBuild): Html | false {
  if (shots.length === 0) return false
  const share = (value: number | null) => (value === null ? '–' : percent(value))
  const rows = shots.map(
    ({ fromMs, toMs, transition, held, motion }, n) => html`<tr><th scope="row">${n + 1}</th><td>${sec(fromMs)}</td>
<td>${sec(toMs - fromMs)}</td><td>${valueLabel(transition)}</td><td>${share(held)}</td><td>${
      motion === null ? '–' : round(motion)
    }</td></tr>`,
  )
  const heads = ['Shot', 'From', 'Length', 'Way in', 'Held picture', 'Motion']
  return html`<details><summary>The shots as a table</summary>${measureTable(heads, rows)}</details>`
}

/** A film with its picture, where it has one. */
export const filmLink = ({ id, title }: { id: string; title: string }, image: string | null | undefined): Html =>
  html`<a href="/videos/${id}">${
    image && html`<img src="${smallPicture(image)}" alt="" width="96" height="54" loading="lazy" decoding="async">`
  }${title}</a>`

/** Films that are built alike, each with the reasons. */
export function similarPanel(
  id: string,
  similar: readonly SimilarFilm[],
  videos: ReadonlyMap<string, VideoDocument>,
): Html | false {
  if (similar.length === 0) return false
  const items = similar.map(({ film, why }) => {
    const reasons = why.map((name) => `${measureOf(name).label} ${measured(name, film.measures)}`).join(', ')
    return html`<li>${filmLink(film, videos.get(film.id)?.image_path)} <span class="hint">${reasons} · <a
href="/compare?videos=${id}&amp;videos=${film.id}">Compare</a></span></li>`
  })
  return html`<section><h2>Built like it</h2><ol class="films">${items}</ol></section>`
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
