import { differencesOf } from '../library/films/comparison.ts'
import type { ShelfFilm } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, measureOf } from '../library/films/measures.ts'
import type { VideoDocument } from '../search/library-search.ts'
import { smallPicture } from './entity-pages.ts'
import { measured } from './film-panels.ts'
import { type Html, html, nextPage, options } from './html.ts'
import { counted, valueLabel } from './words.ts'

export interface FilmsData {
  films: readonly ShelfFilm[]
  videos: ReadonlyMap<string, VideoDocument>
  total: number
  sort: MeasureName
  order: 'asc' | 'desc'
  next: string | null
}

/** `/films`: films by a measure, with some to compare. It works without script. */
export function filmsPage({ films, videos, total, sort, order, next }: FilmsData): Html {
  const measures = MEASURE_NAMES.map((name) => [name, valueLabel(measureOf(name).label)] as const)
  const none = html`<p class="empty">No film has this measure yet. <code>frames reextract</code> measures old ones.</p>`
  return html`<header class="entity"><h1>Films</h1>
<p class="lead">${counted(total, 'film')} by how they are built.
<a href="/openings">How they open</a> · <a href="/sequences">What follows what</a> · <a
href="/drafts">Score your draft</a></p></header>
<form class="sorting" action="/films"><label>Sort by <select name="sort">${options(measures, sort)}</select></label>
<label>Order <select name="order">${options(ORDERS, order)}</select></label> <button>Sort</button></form>
${films.length === 0 ? none : filmTable({ films, videos, sort })}
${nextPage(next && `/films?sort=${sort}&order=${order}&after=${next}`)}`
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
<th scope="row"><a href="/videos/${id}">${
      image &&
      html`<img src="${smallPicture(image)}" alt=""
width="96" height="54" loading="lazy" decoding="async">`
    }${title}</a>${
      author !== null &&
      html` <span
class="hint">${author}</span>`
    }</th>${names.map((name) => html`<td>${measured(name, measures)}</td>`)}</tr>`
  })
  return html`<form action="/compare"><div class="table"><table class="measures"><thead><tr><th scope="col">Compare</th>
<th scope="col">Film</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div>
<p class="actions"><button>Compare the chosen films</button></p></form>`
}

/** `/compare`: two to six films side by side, what differs most first. */
export function comparePage(films: readonly ShelfFilm[], shelf: readonly ShelfFilm[]): Html {
  const heads = films.map(({ id, title }) => html`<th scope="col"><a href="/videos/${id}">${title}</a></th>`)
  const rows = differencesOf(films, shelf).map(
    ({ name, apart }) => html`<tr><th scope="row">${valueLabel(measureOf(name).label)}</th>
${films.map(({ measures }) => html`<td>${measured(name, measures)}</td>`)}<td class="hint">${apart}</td></tr>`,
  )
  return html`<header class="entity"><h1>Films compared</h1>
<p class="lead">What differs most comes first. The last column counts in usual deviations of the library.</p></header>
<div class="table"><table class="measures"><thead><tr><th scope="col">Measure</th>${heads}
<th scope="col">Apart</th></tr></thead><tbody>${rows}</tbody></table></div>
<p><a class="button" href="/films">All films</a></p>`
}
