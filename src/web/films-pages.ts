import { invalid } from '../errors.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { differencesOf } from '../library/films/comparison.ts'
import type { FilmRow } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, measureOf, measureText } from '../library/films/measures.ts'
import type { VideoDocument } from '../search/library-search.ts'
import { type PublicFilm, readFilm } from '../views/film.ts'
import { compareParameters, filmParameters, findFilms, isComparable, requireCompared } from '../views/film-list.ts'
import { lengthOf } from '../views/rhythm.ts'
import { curves, filmLink, filmStrip, measured, measureTable, shotStrip } from './film-panels.ts'
import { clock, counted, type Html, hidden, html, listPages, options, valueLabel } from './html.ts'
import { LIST_PARAMETERS } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

const FILMS = 60
/** What of an address names films by their brand and platform. */
function filmsOf({ author, platform }: { author?: string | undefined; platform?: string | undefined }) {
  return new URLSearchParams({ ...(author && { author }), ...(platform && { platform }) })
}

/** Films in a list, and side by side. */
export function filmsRouter(deps: PageDeps): Routes {
  const { search, films, pages } = deps
  const router = openRoutes()
  pages.add(router, '/films', { parameters: { ...filmParameters, ...LIST_PARAMETERS } }, async ({ query }) => {
    const { after, sort = 'shots_a_minute', order = 'desc' } = query
    const found = findFilms(await films.all(), { ...query, sort, order }, { after, limit: FILMS })
    const ids = found.films.map(({ id }) => id)
    const narrowed = filmsOf(query)
    for (const end of ['min', 'max'] as const)
      for (const { name, value } of query[end] ?? []) narrowed.append(end, `${name}:${value}`)
    const body = filmsPage({ ...found, sort, order, narrowed, videos: await search.documents('videos', ids) })
    return { title: 'Films', current: 'films', body }
  })

  const comparing = { parameters: compareParameters, price: 'write' } as const
  pages.add(router, '/compare', comparing, async ({ query: { videos = [] } }) => {
    if (!isComparable(videos))
      throw invalid('videos', `Choose two to six films to compare: you chose ${videos.length}. Go back to the films.`)
    const chosen = await requireCompared(deps, videos)
    // One after the other: a page of many films is still one search.
    const read: ReadFilm[] = []
    for (const { id } of chosen) read.push(await readFilm(deps, id))
    return { title: 'Films compared', current: 'films', body: comparePage(read, await films.all()) }
  })
  return router
}

interface FilmsData extends ReturnType<typeof findFilms> {
  videos: ReadonlyMap<string, VideoDocument>
  sort: MeasureName
  order: 'asc' | 'desc'
  /** What else of the address narrows the list. */
  narrowed: URLSearchParams
}

/** `/films`: films by a measure, with some to compare. It works without script. */
function filmsPage({ films, videos, total, without, sort, order, narrowed, next }: FilmsData): Html {
  const measures = MEASURE_NAMES.map((name) => [name, valueLabel(measureOf(name).label)] as const)
  const unmeasured = 'No film has this measure yet.'
  const unfit = 'No film has these. Leave out a filter or a bound.'
  const following = new URLSearchParams([...narrowed, ['sort', sort], ['order', order], ['after', next ?? '']])
  const none = html`<p class="empty">${without > 0 || narrowed.size === 0 ? unmeasured : unfit}</p>`
  return html`<header class="entity"><h1>Films</h1>
<p class="lead">${counted(total, 'film')} by how they are built.${
    without > 0 && ` ${counted(without, 'film')} without this measure left out.`
  }</p></header>
${narrowed.size > 0 && html`<p>Only ${[...narrowed].map(tellBound).join(', ')}. <a href="/films">All films</a></p>`}
<form class="sorting" action="/films">${[...narrowed].map(([name, value]) => hidden(name, value))}
<label>Sort by <select name="sort">${options(measures, sort)}</select></label>
<label>Order <select name="order">${options(ORDERS, order)}</select></label> <button>Sort</button></form>
${films.length === 0 ? none : filmTable({ films, videos, sort })}
${listPages({ next: next && `/films?${following}` })}`
}

/** A part of the address that narrows the list, as people read it. */
function tellBound([name, value]: [string, string]): string {
  if (name !== 'min' && name !== 'max') return value
  const [measure, number] = value.split(':') as [MeasureName, string]
  return `${measureOf(measure).label} at ${name === 'min' ? 'least' : 'most'} ${measureText(measure, Number(number))}`
}

const ORDERS = [
  ['desc', 'Most first'],
  ['asc', 'Least first'],
] as const
const SHOWN = ['duration_sec', 'shots_a_minute', 'shot_median_sec', 'held_share', 'motion'] as const

function filmTable({ films, videos, sort }: Pick<FilmsData, 'films' | 'videos' | 'sort'>): Html {
  const names = [sort, ...SHOWN.filter((name) => name !== sort)]
  const heads = names.map((name) => html`<th scope="col">${valueLabel(measureOf(name).label)}</th>`)
  const rows = films.map(({ id, title, author, measures }) => {
    const image = videos.get(id)?.image_path
    return html`<tr><td><input type="checkbox" name="videos" value="${id}" aria-label="Compare ${title}"></td>
<th scope="row">${filmLink({ id, title }, image)}${
      author !== null &&
      html` <span
class="hint">${author}</span>`
    }</th>${names.map((name) => html`<td>${measured(name, measures)}</td>`)}</tr>`
  })
  return html`<form action="/compare"><div class="table"><table class="measures"><thead><tr><th scope="col">Compare</th>
<th scope="col">Film</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div>
<p class="actions"><button>Compare the chosen films</button></p></form>`
}

/** `/compare`: two to six films, one above the other over their time, then what differs most first. */
function comparePage(films: readonly ReadFilm[], library: readonly FilmRow[]): Html {
  const all = films.map(({ film }) => film)
  const own = films.map(({ film, video }) => ({ ...video, measures: film.measures }))
  const heads = own.map(({ id, title }) => html`<a href="/videos/${id}">${title}</a>`)
  const rows = differencesOf(own, library).map(
    ({ name, apart }) => html`<tr><th scope="row">${valueLabel(measureOf(name).label)}</th>
${own.map(({ measures }) => html`<td>${measured(name, measures)}</td>`)}<td class="hint">${apart.toFixed(1)}</td></tr>`,
  )
  return html`<header class="entity"><h1>Films compared</h1>
<p class="lead">Each film is as wide as the page, whatever its length. Heights are on one scale.
<a href="/films">All films</a></p></header>
${films.map((one) => overTime(one, all))}
<section><h2>What differs most</h2><p class="hint">The last column counts in robust deviations of the library.</p>
${measureTable(['Measure', ...heads, 'Apart'], rows)}</section>`
}

type ReadFilm = Awaited<ReturnType<typeof readFilm>>

function overTime({ video, frames, build, film }: ReadFilm, all: readonly PublicFilm[]): Html {
  const length = lengthOf(frames, video.duration_sec)
  return html`<section class="timeline"><h2><a href="/videos/${video.id}">${video.title}</a> <span class="hint">${clock(
    length,
  )}</span></h2>
${filmStrip(frames, length)}${shotStrip(build, length)}${curves(film, all)}</section>`
}
