import { invalid } from '../errors.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { differencesOf } from '../library/films/comparison.ts'
import type { FilmRow } from '../library/films/films.ts'
import { type MeasureName, type Measures, measureOf, measureText } from '../library/films/measures.ts'
import type { ShownFrame } from '../search/library-search.ts'
import { readFilm } from '../views/film.ts'
import { compareParameters, filmParameters, findFilms, isComparable, requireCompared } from '../views/film-list.ts'
import { lengthOf } from '../views/rhythm.ts'
import { ownCovers } from './entity-pages.ts'
import { curves, filmLine, filmStrip, measured, PARTS, poster } from './film-panels.ts'
import { counted, emptyState, type Html, html, listPages, table, trusted, valueLabel } from './html.ts'
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
    const videos = await search.documents(
      'videos',
      found.films.map(({ id }) => id),
    )
    const listed = found.films.flatMap(({ id }) => videos.get(id) ?? [])
    const own = await ownCovers(search, listed, { framesOf: ({ id }) => ({ video: [id] }), areFilms: true })
    const coverOf = (id: string) => own.get(videos.get(id)?.image_path ?? null)
    const narrowed = filmsOf(query)
    for (const end of ['min', 'max'] as const)
      for (const { name, value } of query[end] ?? []) narrowed.append(end, `${name}:${value}`)
    const body = filmsPage({ ...found, sort, order, narrowed, coverOf })
    return { title: 'Films', current: 'films', modules: ['films.js'], body }
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
  /** The frame that stands for a film. */
  coverOf: (id: string) => ShownFrame | undefined
  sort: MeasureName
  order: 'asc' | 'desc'
  /** What else of the address narrows the list. */
  narrowed: URLSearchParams
}

/** Posters by a measure. Two to six can be chosen and compared, also without script. */
function filmsPage({ films, coverOf, total, without, sort, order, narrowed, next }: FilmsData): Html {
  const following = new URLSearchParams([...narrowed, ['sort', sort], ['order', order], ['after', next ?? '']])
  const posters = films.map((film, n) => {
    const told = figureIn(film.measures, sort)
    return html`<li>${poster(film, { cover: coverOf(film.id), told, n })}<label
class="tick"><input type="checkbox" name="videos" value="${film.id}" aria-label="Choose ${film.title}"></label></li>`
  })
  return html`<form action="/compare" id="films"><header class="entity"><h1>Films</h1>
<p class="lead">${counted(total, 'film')}${
    without > 0 && `, ${counted(without, 'film')} without this measure left out`
  }.
${narrowed.size > 0 && html`Only ${[...narrowed].map(tellBound).join(', ')}. <a href="/films">All films</a>`}</p>
${
  films.length > 0 &&
  html`<div class="row tools">${sorting({ sort, order, narrowed })}
<label class="value"><input type="checkbox" id="choosing"><span class="quiet-button">Compare</span></label></div>`
}</header>
${films.length === 0 && noFilms(without > 0, narrowed.size > 0)}
<ul class="tiles">${posters}</ul>
<p class="row loose acting"><output data-count>Choose two to six.</output>
<button class="primary">Compare</button></p></form>
${listPages({ next: next && `/films?${following}` })}`
}

function noFilms(isUnmeasured: boolean, isNarrowed: boolean): Html {
  if (isUnmeasured) return html`<p class="empty">No film has this measure yet.</p>`
  if (isNarrowed) return html`<p class="empty">No film has these. Leave out a filter or a bound.</p>`
  return emptyState('Films will be here', 'Each video stands here with its length and its pace once it is read.')
}

/** A part of the address that narrows the list, as people read it. */
function tellBound([name, value]: [string, string]): string {
  if (name !== 'min' && name !== 'max') return value
  const [measure, number] = value.split(':') as [MeasureName, string]
  return `${measureOf(measure).label} at ${name === 'min' ? 'least' : 'most'} ${measureText(measure, Number(number))}`
}

const SORTS = [
  ['shots_a_minute', 'desc', 'Fastest cut'],
  ['shots_a_minute', 'asc', 'Slowest cut'],
  ['duration_sec', 'desc', 'Longest'],
  ['duration_sec', 'asc', 'Shortest'],
  ['held_share', 'desc', 'Stillest'],
  ['motion', 'desc', 'Most moving'],
] as const

function sorting({ sort, order, narrowed }: Pick<FilmsData, 'sort' | 'order' | 'narrowed'>): Html {
  const isNamed = SORTS.some(([name, way]) => name === sort && way === order)
  const other = [sort, order, `${order === 'desc' ? 'Most' : 'Least'} ${measureOf(sort).label}`] as const
  const all = isNamed ? SORTS : [...SORTS, other]
  const links = all.map(([name, way, label]) => {
    const query = new URLSearchParams([...narrowed, ['sort', name], ['order', way]])
    const here = name === sort && way === order && trusted(' aria-current="true"')
    return html`<a href="/films?${String(query)}"${here}>${label}</a>`
  })
  const [, , label] = all.find(([name, way]) => name === sort && way === order)!
  return html`<details class="fold"><summary>Sort: ${label.toLowerCase()}</summary>
<div class="panel items">${links}</div></details>`
}

/** What films are sorted by, in words. Their length stands on the picture. */
function figureIn(measures: Measures, sort: MeasureName): string {
  const pace = measures.shots_a_minute
  if (sort === 'held_share') return `${measured(sort, measures)} still`
  if (sort !== 'shots_a_minute' && sort !== 'duration_sec')
    return `${measureOf(sort).label} ${measured(sort, measures)}`
  if (measures.shots === 1) return 'one shot'
  return pace === null ? '' : `${(60 / pace).toFixed(1)}\u00a0s a shot`
}

/** `/compare`: two to six films, one above the other, then what differs most first, then their curves. */
function comparePage(films: readonly ReadFilm[], library: readonly FilmRow[]): Html {
  const all = films.map(({ film }) => film)
  const own = films.map(({ film, video }) => ({ ...video, measures: film.measures }))
  const heads = own.map(({ id, title }) => html`<a href="/videos/${id}">${title}</a>`)
  const rows = differencesOf(own, library).map(
    ({ name, apart }) => html`<tr><th scope="row">${valueLabel(measureOf(name).label)}</th>
${own.map(({ measures }) => html`<td>${measured(name, measures)}</td>`)}<td class="hint">${apart.toFixed(1)}</td></tr>`,
  )
  return html`<header class="entity"><h1>Films compared</h1>
<p class="lead">Each film is as wide as the page, whatever its length. <a href="/films">All films</a></p></header>
${films.map(({ video, frames, build }, n) => {
  const length = lengthOf(frames, video.duration_sec)
  return html`<section><h2><a href="/videos/${video.id}">${video.title}</a></h2>
${filmStrip(frames, length, n * PARTS)}${filmLine(build, frames, length)}</section>`
})}
<section><h2>What differs most</h2>
${table(['Measure', ...heads, html`Apart <span class="hint">1: as far as films usually are</span>`], rows)}</section>
<section><h2>Over their time, on one scale</h2>
${films.map(({ video, frames, film }) => {
  return html`<h3>${video.title}</h3>${curves(film, lengthOf(frames, video.duration_sec), all)}`
})}</section>`
}

type ReadFilm = Awaited<ReturnType<typeof readFilm>>
