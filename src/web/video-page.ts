import type { SimilarFilm } from '../library/films/comparison.ts'
import type { FilmGrammar } from '../library/films/films.ts'
import { cameraLabel } from '../library/films/measures.ts'
import type { FrameDocument, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import type { PublicFilm } from '../views/film.ts'
import { LANES, type Lane, lengthOf, type Share, type Stretch, sharesOf, stretchesOf } from '../views/rhythm.ts'
import {
  curves,
  exportsPanel,
  figure,
  figuresOf,
  filmStrip,
  PARTS,
  round,
  shotStrip,
  shotTable,
  similarPanel,
  standings,
  WIDE,
} from './film-panels.ts'
import { frameCard } from './frame-card.ts'
import { type Html, html, safeUrl } from './html.ts'
import { capitalized, clock, counted, percent, valueLabel } from './words.ts'

export interface VideoData {
  video: VideoDocument
  /** In time order. */
  frames: readonly FrameDocument[]
  vocabulary: readonly TechniqueDocument[]
  grammar: FilmGrammar
  film: PublicFilm
  /** Films that are built alike, the nearest first. */
  similar: readonly SimilarFilm[]
  /** Of the similar films. */
  videos: ReadonlyMap<string, VideoDocument>
}

/** `/videos/{id}`: what a video does over its time. */
export function videoPage({ video, frames, vocabulary, grammar, film, similar, videos }: VideoData): Html {
  const length = lengthOf(frames, video.duration_sec)
  const source = safeUrl(video.source_url)
  const { author } = video
  const brand = author !== null && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a> · `
  return html`<header class="entity"><h1>${video.title}</h1>
<p class="lead">${brand}${valueLabel(video.platform)} · ${clock(length)} · ${counted(frames.length, 'frame')}
${source && html` · <a href="${source}" rel="noreferrer">Watch at the source ↗</a>`}</p></header>
${figures(film)}
${timeline(frames, length, { grammar, film })}
${techniquesUsed(frames, vocabulary)}
<section><h2>Storyboard</h2>${storyboard(frames)}</section>
${similarPanel(video.id, similar, videos)}
${exportsPanel('Take the shots along', `/api/videos/${video.id}/timeline`)}
${standings(film)}`
}

function figures({ measures, shares, unusual, text }: PublicFilm): Html {
  const main = ['shots', 'shots_a_minute', 'shot_median_sec', 'held_share', 'loudness', 'tempo_bpm'] as const
  const { too_fast } = text
  return html`<dl class="figures">
${figuresOf(measures, main)}
${shares.subject.slice(0, 4).map(({ value, share }) => figure(percent(share), `of the time: ${valueLabel(value)}`))}
</dl>
${unusual.length > 0 && html`<p>Unusual here: ${unusual.join('; ')}.</p>`}
${too_fast.length > 0 && html`<p>Too fast to read: ${too_fast.map(cardLink)}</p>`}`
}

const cardLink = ({ frame_id, t_sec, per_second }: PublicFilm['text']['too_fast'][number]): Html =>
  html`<a href="/frames/${frame_id}">${clock(t_sec)}</a> (${Math.round(per_second)} characters a second) `

/** One picture for each part of the time, the shots, curves, and a lane for each attribute, all on one scale. */
function timeline(
  frames: readonly FrameDocument[],
  length: number,
  { grammar, film }: Pick<VideoData, 'grammar' | 'film'>,
): Html | false {
  if (frames.length === 0) return false
  return html`<section class="timeline"><h2>Time line</h2>
${filmStrip(frames, length)}
${shotStrip(grammar, length)}
${curves(film)}
${laneOf('camera', camerasOf(grammar), length)}
${LANES.map((lane) => laneOf(lane, stretchesOf(frames, length, readLane(lane)), length))}
${shotTable(grammar)}
</section>`
}

/** Colours that stay apart on light and on dark paper, and for most who see colours otherwise (Paul Tol, 2021). */
const COLORS = ['#4477aa', '#ee6677', '#ccbb44', '#228833', '#66ccee', '#aa3377', '#ee8866', '#bbbbbb', '#44bb99']

/** Each lane begins elsewhere, so that equal colours of two lanes do not seem to be one thing. */
const hueOf = (lane: AnyLane, n: number) => COLORS[(n + 2 * ANY_LANE.indexOf(lane)) % COLORS.length]!

const ANY_LANE = [...LANES, 'camera'] as const
type AnyLane = Lane | 'camera'

const readLane = (lane: Lane) => (frame: FrameDocument) => frame[lane]

/** How the camera moves, shot by shot. */
const camerasOf = ({ shots }: FilmGrammar): Stretch[] =>
  shots.map(({ fromMs, toMs, camera }) => ({
    from: fromMs / 1000,
    to: toMs / 1000,
    value: camera ? cameraLabel(camera) : null,
  }))

/** Of values that are colours themselves. */
const OWN_COLORS: Record<string, string> = { dark: '#4a4a48', bright: '#d8d6d0' }

function laneOf(lane: AnyLane, stretches: readonly Stretch[], length: number): Html | false {
  const shares = sharesOf(stretches, length)
  if (shares.length === 0) return false
  const colorOf = new Map(shares.map(({ value }, n) => [value, OWN_COLORS[value] ?? hueOf(lane, n)]))
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

function legendEntry(lane: AnyLane, { value, share }: Share, color: string): Html {
  return html`<li><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="3"
fill="${color}"/></svg>
${lane === 'camera' ? valueLabel(value) : html`<a href="/?${lane}=${value}">${valueLabel(value)}</a>`} ${percent(share)}
</li>`
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
