import type { FrameDocument, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import {
  cutsOf,
  LANES,
  type Lane,
  lengthOf,
  overview,
  pace,
  type Share,
  sharesOf,
  stretchesOf,
} from '../views/rhythm.ts'
import { altOf, frameCard, placeholderClass, thumb } from './frame-card.ts'
import { type Html, html, safeUrl } from './html.ts'
import { capitalized, clock, counted, percent, valueLabel } from './words.ts'

export interface VideoData {
  video: VideoDocument
  /** In time order. */
  frames: readonly FrameDocument[]
  vocabulary: readonly TechniqueDocument[]
}

const PARTS = 12

/** `/videos/{id}`: what a video does over its time. */
export function videoPage({ video, frames, vocabulary }: VideoData): Html {
  const length = lengthOf(frames, video.duration_sec)
  const source = safeUrl(video.source_url)
  const { author } = video
  const brand = author !== null && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a> · `
  return html`<header class="entity"><h1>${video.title}</h1>
<p class="lead">${brand}${valueLabel(video.platform)} · ${clock(length)} · ${counted(frames.length, 'frame')}
${source && html` · <a href="${source}" rel="noreferrer">Watch at the source ↗</a>`}</p></header>
${figures(frames, length)}
${timeline(frames, length)}
${techniquesUsed(frames, vocabulary)}
<section><h2>Storyboard</h2>${storyboard(frames)}</section>`
}

function figures(frames: readonly FrameDocument[], length: number): Html {
  const cuts = cutsOf(frames).length
  const subjects = sharesOf(
    stretchesOf(frames, length, ({ subject }) => subject),
    length,
  )
  const figure = (value: string, label: string) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`
  return html`<dl class="figures">
${figure(String(pace(frames, length)), 'shots a minute')}
${figure(String(cuts), cuts === 1 ? 'cut' : 'cuts')}
${figure(`${Math.round((length / (cuts + 1)) * 10) / 10} s`, 'mean shot')}
${subjects.slice(0, 4).map(({ value, share }) => figure(percent(share), `of the time: ${valueLabel(value)}`))}
</dl>`
}

/** One picture for each part of the time, the cuts, and a lane for each attribute, all on one scale. */
function timeline(frames: readonly FrameDocument[], length: number): Html | false {
  if (frames.length === 0) return false
  const pictures = overview(frames, length, PARTS).map(
    (frame) =>
      html`<li><a class="${placeholderClass(frame.palette)}" href="/frames/${frame.id}">${thumb(frame, {
        n: 0,
        alt: `${clock(frame.t_sec)}: ${altOf(frame)}`,
      })}</a></li>`,
  )
  return html`<section class="timeline"><h2>Time line</h2>
<ol class="parts">${pictures}</ol>
${cutTicks(frames, length)}
${LANES.map((lane) => laneOf(frames, length, lane))}
</section>`
}

/** The width of all drawings: they stretch with the page. */
const WIDE = 1000

const round = (value: number): number => Math.round(value * 100) / 100

function cutTicks(frames: readonly FrameDocument[], length: number): Html {
  const cuts = cutsOf(frames)
  const ticks = cuts.map(
    (t) => html`<rect x="${round((t / length) * WIDE)}" y="0" width="1.6" height="14" fill="currentColor"/>`,
  )
  const marks = Array.from({ length: 5 }, (_, n) => html`<span>${clock((length * n) / 4)}</span>`)
  return html`<div class="lane"><svg viewBox="0 0 ${WIDE} 14" preserveAspectRatio="none" role="img"
aria-label="${counted(cuts.length, 'cut')} over ${clock(length)}">${ticks}</svg>
<p class="scale" aria-hidden="true">${marks}</p></div>`
}

/** Colours that stay apart on light and on dark paper, and for most who see colours otherwise (Paul Tol, 2021). */
const COLORS = ['#4477aa', '#ee6677', '#ccbb44', '#228833', '#66ccee', '#aa3377', '#ee8866', '#bbbbbb', '#44bb99']

/** Of values that are colours themselves. */
const OWN_COLORS: Record<string, string> = { dark: '#4a4a48', bright: '#d8d6d0' }

function laneOf(frames: readonly FrameDocument[], length: number, lane: Lane): Html | false {
  const stretches = stretchesOf(frames, length, (frame) => frame[lane])
  const shares = sharesOf(stretches, length)
  if (shares.length === 0) return false
  const colorOf = new Map(shares.map(({ value }, n) => [value, OWN_COLORS[value] ?? COLORS[n % COLORS.length]!]))
  const rects = stretches.flatMap(({ from, to, value }) =>
    value === null
      ? []
      : html`<rect x="${round((from / length) * WIDE)}" y="0" width="${round(((to - from) / length) * WIDE)}"
height="18" fill="${colorOf.get(value)}"><title>${valueLabel(value)}, ${clock(from)} to ${clock(to)}</title></rect>`,
  )
  const told = shares.map(({ value, share }) => `${valueLabel(value)} ${percent(share)}`).join(', ')
  return html`<div class="lane"><h3>${valueLabel(lane)}</h3>
<svg viewBox="0 0 ${WIDE} 18" preserveAspectRatio="none" role="img"
aria-label="${valueLabel(lane)}: ${told}">${rects}</svg>
<ul class="legend">${shares.map((share) => legendEntry(lane, share, colorOf.get(share.value)!))}</ul></div>`
}

function legendEntry(lane: Lane, { value, share }: Share, color: string): Html {
  return html`<li><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="3"
fill="${color}"/></svg>
<a href="/?${lane}=${value}">${valueLabel(value)}</a> ${percent(share)}</li>`
}

function techniquesUsed(frames: readonly FrameDocument[], vocabulary: readonly TechniqueDocument[]): Html | false {
  const uses = Map.groupBy(
    frames.filter(({ technique }) => technique !== null),
    ({ technique }) => technique!,
  )
  const used = vocabulary
    .filter(({ slug }) => uses.has(slug))
    .sort((one, other) => uses.get(other.slug)!.length - uses.get(one.slug)!.length)
  if (used.length === 0) return false
  return html`<section><h2>Techniques</h2><ul class="facts">${used.map(
    ({ slug, name, description }) =>
      html`<li><a href="/techniques/${slug}" title="${description}">${capitalized(name)} <span class="hint">${
        uses.get(slug)!.length
      }</span></a></li>`,
  )}</ul></section>`
}

/** Every frame with its second, and a bar before each cut. */
function storyboard(frames: readonly FrameDocument[]): Html {
  if (frames.length === 0) return html`<p class="empty">This video has no frames.</p>`
  return html`<div class="wall storyboard">${frameSheet(frames)}</div>`
}

function frameSheet(frames: readonly FrameDocument[]): Html {
  return html`<ol class="sheet">${frames.map((frame, n) => frameCard(frame, n + PARTS, { storyboard: true }))}</ol>`
}
