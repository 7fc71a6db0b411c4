import { openRoutes, type Routes } from '../http/routes.ts'
import { type SimilarFilm, similarFilms } from '../library/films/comparison.ts'
import type { FrameDocument, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import { type PublicFilm, readFilm } from '../views/film.ts'
import { requirePublicId } from '../views/parameters.ts'
import { LANES, type Lane, lengthOf, type Share, type Stretch, sharesOf, stretchesOf } from '../views/rhythm.ts'
import {
  curves,
  exportList,
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
import { frameCard, openGraph } from './frame-card.ts'
import { capitalized, clock, counted, type Html, html, percent, safeUrl, valueLabel } from './html.ts'
import type { Viewer } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/videos/{id}` */
export function videoRouter(deps: PageDeps): Routes {
  const { search, films, pages, publicUrl } = deps
  const router = openRoutes()
  const check = (id: string) => requirePublicId('video', id)
  pages.add(router, '/videos/:id', { price: 'write', check }, async ({ name: id, viewer }) => {
    const film = await readFilm(deps, id)
    const { video, frames } = film
    const description = `${video.author ?? 'A video'}: ${counted(frames.length, 'frame')} on a time line.`
    const [first] = frames
    const image = first ? { ...first, image_path: video.image_path ?? first.image_path } : undefined
    const head = openGraph(publicUrl, { title: video.title, description, path: `/videos/${id}`, image })
    const library = await films.all()
    const own = library.find((one) => one.id === id)
    const similar = own ? similarFilms(own, library, { view: 'style', limit: 6 }) : []
    const ids = similar.map((near) => near.film.id)
    const [vocabulary, videos] = await Promise.all([search.techniques(), search.documents('videos', ids)])
    const body = videoPage({ ...film, vocabulary, similar, videos, viewer })
    return { title: video.title, description, head, body }
  })
  return router
}

interface VideoData extends Awaited<ReturnType<typeof readFilm>> {
  vocabulary: readonly TechniqueDocument[]
  /** Films that are built alike, the nearest first. */
  similar: readonly SimilarFilm[]
  /** Of the similar films. */
  videos: ReadonlyMap<string, VideoDocument>
  viewer: Viewer
}

/** What a video does over its time. */
function videoPage({ video, frames, vocabulary, build, film, similar, videos, viewer }: VideoData): Html {
  const length = lengthOf(frames, video.duration_sec)
  const source = safeUrl(video.source_url)
  const { author } = video
  const brand = author !== null && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a> · `
  return html`<header class="entity"><h1>${video.title}</h1>
<p class="lead">${brand}${valueLabel(video.platform)} · ${clock(length)} · ${counted(frames.length, 'frame')}
${source && html` · <a href="${source}" rel="noreferrer">Watch at the source ↗</a>`}
${viewer === 'operator' && html` · <a href="/operator/videos/${video.id}">Edit</a>`}</p></header>
${figures(film)}
${timeline(frames, length, { build, film })}
${techniquesUsed(frames, vocabulary)}
<section><h2>Storyboard</h2>${storyboard(frames)}</section>
${similarPanel(video.id, similar, videos)}
<section><h2>Take the shots along</h2><ul class="facts">${exportList(`/api/videos/${video.id}/timeline`)}</ul></section>
${standings(film)}`
}

function figures({ measures, shares, unusual, text }: PublicFilm): Html {
  const main = ['shots', 'shots_a_minute', 'shot_median_sec', 'held_share', 'loudness'] as const
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
  { build, film }: Pick<VideoData, 'build' | 'film'>,
): Html | false {
  if (frames.length === 0) return false
  return html`<section class="timeline"><h2>Time line</h2>
${filmStrip(frames, length)}
${shotStrip(build, length)}
${curves(film)}
${LANES.map((lane) => laneOf(lane, stretchesOf(frames, length, readLane(lane)), length))}
${shotTable(build)}
</section>`
}

/** Colours that stay apart on light and on dark paper, and for most who see colours otherwise (Paul Tol, 2021). */
const COLORS = ['#4477aa', '#ee6677', '#ccbb44', '#228833', '#66ccee', '#aa3377', '#ee8866', '#bbbbbb', '#44bb99']

/** Each lane begins elsewhere, so that equal colours of two lanes do not seem to be one thing. */
const hueOf = (lane: Lane, n: number) => COLORS[(n + 2 * LANES.indexOf(lane)) % COLORS.length]!

const readLane = (lane: Lane) => (frame: FrameDocument) => frame[lane]

/** Of values that are colours themselves. */
const OWN_COLORS: Record<string, string> = { dark: '#4a4a48', bright: '#d8d6d0' }

function laneOf(lane: Lane, stretches: readonly Stretch[], length: number): Html | false {
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

function legendEntry(lane: Lane, { value, share }: Share, color: string): Html {
  return html`<li><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="3"
fill="${color}"/></svg>
<a href="/?${lane}=${value}">${valueLabel(value)}</a> ${percent(share)}
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
  const cards = frames.map((frame, n) => frameCard(frame, n + PARTS, { storyboard: true }))
  return html`<div class="wall storyboard"><ol class="sheet">${cards}</ol></div>`
}
