import { z } from 'zod'
import { clock, percent } from '../clean-text.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { type SimilarFilm, similarFilms } from '../library/films/comparison.ts'
import type { FrameDocument, ShownFrame, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import { deepLink } from '../video/source/source.ts'
import { type PublicFilm, readFilm } from '../views/film.ts'
import { requirePublicId } from '../views/parameters.ts'
import { LANES, lengthOf } from '../views/rhythm.ts'
import { bars } from './chart.ts'
import { menu } from './collections/parts.ts'
import { coversOf } from './entity-pages.ts'
import { curves, exportList, filmLine, similarPanel, standings } from './film-panels.ts'
import { frameCard, openGraph } from './frame-card.ts'
import { capitalized, counted, type Html, html, safeUrl, valueLabel } from './html.ts'
import { type Viewer, WITH_FRAMES } from './layout.ts'
import { detailForm } from './operator/video-details.ts'
import type { PageDeps } from './page-deps.ts'
import { PLAYER_HOSTS, type Player, playerOf } from './player.ts'

const saved = { schema: z.literal('1'), description: 'Told: its details were saved.' }

/** `/videos/{id}` */
export function videoRouter(deps: PageDeps): Routes {
  const { search, films, pages, publicUrl } = deps
  const router = openRoutes()
  const check = (id: string) => requirePublicId('video', id)
  const { keepVideos } = deps.config
  const loads = [`frame-src ${PLAYER_HOSTS.join(' ')}`, ...(keepVideos ? ["media-src 'self'"] : [])]
  const route = { price: 'write', check, parameters: { saved }, loads } as const
  pages.add(router, '/videos/:id', route, async ({ name: id, viewer, query }) => {
    const film = await readFilm(deps, id)
    const { video, frames } = film
    const description = `${video.author ?? 'A video'}: ${counted(frames.length, 'frame')} in the order of the film.`
    const [first] = frames
    const image = first ? { ...first, image_path: video.image_path ?? first.image_path } : undefined
    const head = openGraph(publicUrl, { title: video.title, description, path: `/videos/${id}`, image })
    const library = await films.all()
    const own = library.find((one) => one.id === id)
    const similar = own ? similarFilms(own, library, { view: 'style', limit: 6 }) : []
    const ids = similar.map((near) => near.film.id)
    const [vocabulary, videos] = await Promise.all([search.techniques(), search.documents('videos', ids)])
    const covers = await coversOf(search, videos.values())
    const coverOf = (id: string) => covers.get(videos.get(id)?.image_path ?? null)
    const body = videoPage({
      ...film,
      vocabulary,
      similar,
      coverOf,
      viewer,
      keepVideos,
      saved: query.saved !== undefined,
    })
    const modules = [...WITH_FRAMES.modules, 'film.js', ...(viewer === 'operator' ? ['forms.js'] : [])]
    return { title: video.title, current: 'films', description, head, body, modules }
  })
  return router
}

interface VideoData extends Awaited<ReturnType<typeof readFilm>> {
  vocabulary: readonly TechniqueDocument[]
  /** Films that are built alike, the nearest first. */
  similar: readonly SimilarFilm[]
  /** The frame that stands for a similar film. */
  coverOf: (id: string) => ShownFrame | undefined
  viewer: Viewer
  keepVideos: boolean
  saved: boolean
}

/** A film as a storyboard. How it is built is folded below. */
function videoPage(data: VideoData): Html {
  const { video, frames, vocabulary, build, film, similar, coverOf, viewer } = data
  const length = lengthOf(frames, video.duration_sec)
  const source = safeUrl(video.source_url)
  const file = data.keepVideos && build.isKept ? `/media/videos/${video.id}` : undefined
  const player: Player = { ...(source === null ? {} : playerOf(source)), file }
  const hasPlayer = player.file !== undefined || player.embed !== undefined
  const playAt = (second: number) =>
    hasPlayer && (file === undefined ? (deepLink(video.platform, source, second) ?? source) : `${file}#t=${second}`)
  return html`<header class="entity"><h1>${video.title}</h1>
<p class="lead">${factsOf(data, source)}</p>
<div class="row tools">${hasPlayer && playButton(source, player)}
${viewer === 'operator' && editor(video)}</div></header>
${data.saved && html`<p class="notice done" role="status">Saved. Readers see it within moments.</p>`}
${hasPlayer && html`<div id="player" data-file="${player.file}" data-embed="${player.embed}" hidden></div>`}
${filmLine(build, frames, length)}
<section aria-label="Storyboard">${storyboard(frames, playAt)}</section>
<details class="build"><summary>How it is built</summary>
${reading(film)}
${techniquesUsed(frames, vocabulary)}
${curves(film, length)}
${shares(film)}
${standings(film)}
<section><h2>Take the shots along</h2>
<ul class="row tight facts">${exportList(`/api/videos/${video.id}/timeline`)}</ul></section>
</details>
${similarPanel(video.id, similar, coverOf)}`
}

function factsOf({ video, frames, build }: VideoData, source: string | null): Html {
  const { author, platform } = video
  const where = valueLabel(platform)
  const all = [
    author !== null && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a>`,
    source === null ? where : html`<a href="${source}" rel="noreferrer" title="Watch at the source">${where} ↗</a>`,
    clock(lengthOf(frames, video.duration_sec)),
    build.shots.length > 0 && counted(build.shots.length, 'shot'),
    counted(frames.length, 'frame'),
  ]
  return html`${all.filter((one) => one !== false).map((one, n) => html`${n > 0 && ' · '}${one}`)}`
}

/** The form is the console's, where the video stands. */
function editor(video: VideoDocument): Html {
  const form = detailForm(video, { back: `/videos/${video.id}?saved=1` })
  return menu('Edit', html`${form}<p><a href="/operator/videos/${video.id}">Stages and attempts</a></p>`)
}

/** Without script it leads to the file, or to the source. Whose player loads is said before the click. */
function playButton(source: string | null, { name, file }: Player): Html {
  const told = file === undefined && ` at ${name}`
  return html`<a class="button" href="${file ?? source}" data-play="0" data-host="${name}">Play${told}</a>`
}

/** Every frame with its second. `playAt`: where the film plays from a second on. */
function storyboard(frames: readonly FrameDocument[], playAt: (second: number) => string | null | false): Html {
  if (frames.length === 0) return html`<p class="empty">This video has no frames.</p>`
  const seconds = frames.map(({ t_sec }) => clock(t_sec))
  const cards = frames.map((frame, n) => {
    const second = frame.t_sec
    // Frames of one second are told apart by its tenths.
    const isShared = seconds[n] === seconds[n - 1] || seconds[n] === seconds[n + 1]
    const time = isShared ? `${seconds[n]}.${Math.floor((second * 10) % 10)}` : seconds[n]!
    const href = playAt(second)
    const extra =
      href && html`<a class="play-at" href="${href}" data-play="${second}" aria-label="Play from ${time}"></a>`
    return frameCard(frame, n, { time, extra: extra || false })
  })
  return html`<div class="wall storyboard"><ol class="sheet">${cards}</ol></div>`
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
  return html`<section><h2>Techniques</h2><ul class="row tight facts">${used.map(
    ({ slug, name, description }) =>
      html`<li><a href="/techniques/${slug}" title="${description}">${capitalized(name)} <span class="hint">${
        uses.get(slug)!.length
      }</span></a></li>`,
  )}</ul></section>`
}

function reading({ unusual, text: { too_fast } }: PublicFilm): Html {
  return html`${unusual.length > 0 && html`<p>Unusual here: ${unusual.join('; ')}.</p>`}
${too_fast.length > 0 && html`<p>Too fast to read: ${too_fast.map(cardLink)}</p>`}`
}

const cardLink = ({ frame_id, t_sec, per_second }: PublicFilm['text']['too_fast'][number]): Html =>
  html`<a href="/frames/${frame_id}">${clock(t_sec)}</a> (${Math.round(per_second)} characters a second) `

/** What stands how long, of the whole time. */
function shares({ shares: all }: PublicFilm): Html {
  const lists = LANES.filter((lane) => all[lane].length > 0).map((lane) => {
    const rows = all[lane].map(({ value, share }) => {
      const label = html`<a href="/?${lane}=${value}">${valueLabel(value)}</a>`
      return { label, told: percent(share), value: share }
    })
    return html`<section><h2>${valueLabel(lane)}</h2>${bars(rows, 1)}</section>`
  })
  return html`<div class="shares">${lists}</div>`
}
