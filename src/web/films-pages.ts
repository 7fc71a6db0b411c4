import { invalid } from '../errors.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { differencesOf } from '../library/films/comparison.ts'
import type { ShelfFilm } from '../library/films/films.ts'
import { MEASURE_NAMES, type MeasureName, measureOf, measureText } from '../library/films/measures.ts'
import type { VideoDocument } from '../search/library-search.ts'
import { type PublicFilm, readFilm } from '../views/film.ts'
import { compareParameters, filmParameters, findFilms, isComparable, requireCompared } from '../views/film-list.ts'
import { plainName } from '../views/parameters.ts'
import { lengthOf } from '../views/rhythm.ts'
import {
  readSequences,
  SEQUENCE_POINTS,
  SEQUENCE_STEPS,
  sequenceParameters,
  toSequenceQuery,
} from '../views/sequences.ts'
import { curves, exportsPanel, filmLink, filmStrip, measured, measureTable, shotStrip } from './film-panels.ts'
import { altOf } from './frame-card.ts'
import { clock, counted, type Html, hidden, html, nextPage, options, valueLabel } from './html.ts'
import { LIST_PARAMETERS } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

const FILMS = 60
const SEQUENCES = 24

const step = { schema: plainName(60), description: 'A filter and its value.' }
const { seq, author, platform } = sequenceParameters
const sequenceForm = { seq, author, platform, first: step, between: step, second: step, ...LIST_PARAMETERS }

/** What of an address names films by their brand and platform. */
function filmsOf({ author, platform }: { author?: string | undefined; platform?: string | undefined }) {
  return new URLSearchParams({ ...(author && { author }), ...(platform && { platform }) })
}

/** Films in a list, side by side, and by what follows what. */
export function filmsRouter(deps: PageDeps): Routes {
  const { search, films, pages, publicUrl } = deps
  const router = openRoutes()
  pages.add(router, '/films', { parameters: { ...filmParameters, ...LIST_PARAMETERS } }, async ({ query }) => {
    const { after, sort = 'shots_a_minute', order = 'desc' } = query
    const found = findFilms(await films.shelf(), { ...query, sort, order }, { after, limit: FILMS })
    const ids = found.films.map(({ id }) => id)
    const narrowed = filmsOf(query)
    for (const end of ['min', 'max'] as const)
      for (const { name, value } of query[end] ?? []) narrowed.append(end, `${name}:${value}`)
    const body = filmsPage({ ...found, sort, order, narrowed, videos: await search.documents('videos', ids) })
    return { title: 'Films', current: 'films', body }
  })

  // Reading a film costs what its own page does.
  const coldPoints = ({ videos = [] }: { videos?: readonly string[] }) => Math.min(videos.length, 6) * POINTS.search
  pages.add(router, '/compare', { parameters: compareParameters, coldPoints }, async ({ query: { videos = [] } }) => {
    if (!isComparable(videos))
      throw invalid('videos', `Choose two to six films to compare: you chose ${videos.length}. Go back to the films.`)
    const chosen = await requireCompared(deps, videos)
    // One after the other: a page of many films is still one search.
    const read: ReadFilm[] = []
    for (const { id } of chosen) read.push(await readFilm(deps, id))
    return { title: 'Films compared', current: 'films', body: comparePage(read, await films.shelf()) }
  })

  pages.add(router, '/sequences', { parameters: sequenceForm, points: SEQUENCE_POINTS }, async ({ query }) => {
    const { first = 'subject.text-card', between = '3s', second = 'surface.screen-recording', after, ...rest } = query
    const asked = { ...rest, seq: rest.seq ?? `${first}~${between}~${second}` }
    const found = await readSequences(search, publicUrl, toSequenceQuery(asked, { limit: SEQUENCES, after }))
    const where = new URLSearchParams({ ...(rest.seq === undefined && { first, between, second }), ...rest }).toString()
    const file = new URLSearchParams({ ...asked, limit: String(SEQUENCES), ...(after && { after }) }).toString()
    const body = sequencesPage({ seq: asked.seq, where, file, narrowed: filmsOf(rest), ...found })
    return { title: 'Sequences', current: 'films', body }
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
  const unmeasured = html`No film has this measure yet. <code>frames reextract</code> measures old ones.`
  const unfit = 'No film has these. Leave out a filter or a bound.'
  const none = html`<p class="empty">${without > 0 || narrowed.size === 0 ? unmeasured : unfit}</p>`
  return html`<header class="entity"><h1>Films</h1>
<p class="lead">${counted(total, 'film')} by how they are built.${
    without > 0 && ` ${counted(without, 'film')} without this measure left out.`
  }
<a href="/sequences">What follows what</a> · <a
href="/drafts">Score your draft</a></p></header>
${narrowed.size > 0 && html`<p>Only ${[...narrowed].map(tellBound).join(', ')}. <a href="/films">All films</a></p>`}
<form class="sorting" action="/films">${[...narrowed].map(([name, value]) => hidden(name, value))}
<label>Sort by <select name="sort">${options(measures, sort)}</select></label>
<label>Order <select name="order">${options(ORDERS, order)}</select></label> <button>Sort</button></form>
${films.length === 0 ? none : filmTable({ films, videos, sort })}
${nextPage(next && `/films?${new URLSearchParams([...narrowed, ['sort', sort], ['order', order], ['after', next]])}`)}`
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

/** Measures that are shown before the others are unfolded. */
const MOST_APART = 8

/** `/compare`: two to six films, one above the other over their time, then what differs most first. */
function comparePage(films: readonly ReadFilm[], shelf: readonly ShelfFilm[]): Html {
  const all = films.map(({ film }) => film)
  const own = films.map(({ film, video }) => ({ ...video, measures: film.measures }))
  const heads = own.map(({ id, title }) => html`<a href="/videos/${id}">${title}</a>`)
  const rows = differencesOf(own, shelf).map(
    ({ name, apart }) => html`<tr><th scope="row">${valueLabel(measureOf(name).label)}</th>
${own.map(({ measures }) => html`<td>${measured(name, measures)}</td>`)}<td class="hint">${apart.toFixed(1)}</td></tr>`,
  )
  const table = (some: readonly Html[]) => measureTable(['Measure', ...heads, 'Apart'], some)
  return html`<header class="entity"><h1>Films compared</h1>
<p class="lead">Each film is as wide as the page, whatever its length. Heights are on one scale.
<a href="/films">All films</a></p></header>
${films.map((one) => overTime(one, all))}
<section><h2>What differs most</h2><p class="hint">The last column counts in robust deviations of the library.</p>
${table(rows.slice(0, MOST_APART))}
${
  rows.length > MOST_APART &&
  html`<details><summary>All other measures</summary>${table(rows.slice(MOST_APART))}</details>`
}</section>`
}

type ReadFilm = Awaited<ReturnType<typeof readFilm>>

function overTime({ video, frames, grammar, film }: ReadFilm, all: readonly PublicFilm[]): Html {
  const length = lengthOf(frames, video.duration_sec)
  return html`<section class="timeline"><h2><a href="/videos/${video.id}">${video.title}</a> <span class="hint">${clock(
    length,
  )}</span></h2>
${filmStrip(frames, length)}${shotStrip(grammar, length)}${curves(film, all)}</section>`
}

type Page = Awaited<ReturnType<typeof readSequences>>
type Found = Page['sequences'][number]
interface SequencesData extends Page {
  /** What is asked for. */
  seq: string
  /** The query of this page, and of the same as a file. */
  where: string
  file: string
  /** The brand and the platform that the films are of. */
  narrowed: URLSearchParams
}

const BETWEEN = [
  ['next', 'Right after it'],
  ['3s', 'Within 3 seconds'],
  ['10s', 'Within 10 seconds'],
  ['any', 'Any time later'],
] as const

/** `/sequences`: one thing after another in a film. It works without script. */
function sequencesPage(given: SequencesData): Html {
  const { seq, where, file, narrowed, sequences, films, unknown, next } = given
  const [first = '', between = '', second = '', ...more] = seq.split('~')
  const isInForm = isStep(first) && isStep(second) && BETWEEN.some(([value]) => value === between) && more.length === 0
  const unsure = unknown > 0 && ` ${counted(unknown, 'frame')} without a value could hide more.`
  return html`<header class="entity"><h1>Sequences</h1>
<p class="lead">What follows what in a film: ${counted(sequences.length, 'place')} in ${counted(films, 'film')} that
${films === 1 ? 'has' : 'have'} ${isInForm ? 'both' : html`all of <code>${seq}</code>`}.${unsure}</p></header>
${
  narrowed.size > 0 &&
  html`<p>Only ${[...narrowed.values()].join(', ')}. <a href="/sequences?${new URLSearchParams({ seq }).toString()}">All
films</a></p>`
}
<form class="sorting" action="/sequences">${[...narrowed].map(([name, value]) => hidden(name, value))}
<label>First <select name="first">${choices(first)}</select></label>
<label>Between <select name="between">${options(BETWEEN, between)}</select></label>
<label>Then <select name="second">${choices(second)}</select></label> <button>Find</button></form>
${sequences.length === 0 && html`<p class="empty">No film has one after the other so. Allow more time between.</p>`}
<ol class="sequences">${sequences.map(found)}</ol>
${nextPage(next && `/sequences?${where}&after=${next}`)}
${sequences.length > 0 && exportsPanel('Take them along', '/api/sequences/timeline', file)}`
}

const isStep = (step: string): boolean =>
  Object.entries(SEQUENCE_STEPS).some(([name, values]) => values.some((value) => step === `${name}.${value}`))

function choices(chosen: string): Html[] {
  return Object.entries(SEQUENCE_STEPS).map(
    ([name, values]) =>
      html`<optgroup label="${valueLabel(name)}">${options(
        values.map((value) => [`${name}.${value}`, valueLabel(value)]),
        chosen,
      )}</optgroup>`,
  )
}

function found({ video_id, steps }: Found): Html {
  const [{ frame }] = steps as [Found['steps'][number]]
  const pictures = steps.map(
    ({ frame: shown, from_sec, to_sec }) => html`<li><a href="/frames/${shown.id}"><img src="${shown.thumb_url}"
alt="${altOf(shown)}" width="${shown.width}" height="${shown.height}" loading="lazy" decoding="async"></a>
<span class="hint">${clock(from_sec)} to ${clock(to_sec)}</span></li>`,
  )
  return html`<li><a href="/videos/${video_id}">${frame.video.title}</a><ol>${pictures}</ol></li>`
}
