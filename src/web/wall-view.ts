import type { UnderWay } from '../library/videos/video-status.ts'
import type { FramePage, Loosened, ReadAs, TechniqueDocument } from '../search/library-search.ts'
import { impliedSort, MAX_QUERY, PAGE_SIZE } from '../views/parameters.ts'
import { frameCard } from './frame-card.ts'
import { type Html, html, trusted } from './html.ts'
import type { Viewer } from './layout.ts'
import { FILTER_NAMES, hasFilter, isNarrowed, omit, type WallValues, wallUrl } from './wall-address.ts'
import { chosenFilters, countLine, type FiltersData, filterMenus, stateFields } from './wall-filters.ts'
import { capitalized, counted, valueLabel } from './words.ts'

export interface WallData {
  values: WallValues
  /** `undescribed`: frames that nobody has described, where few were found. */
  found: FramePage & { undescribed?: number | undefined }
  vocabulary: readonly TechniqueDocument[]
  /** Colours that stand for the palettes of the library. */
  colors: readonly string[]
  viewer: Viewer
  underWay: UnderWay
}

/** `/`: a search box, the filters and a page of frames. The address is the whole state; no script is needed. */
export function wallPage(data: WallData): Html {
  const { values, found } = data
  const { frames, facets, total = 0 } = found
  const { vocabulary, colors } = data
  const filters: FiltersData = { values, facets, total, frames, vocabulary, colors }
  const page = values.page ?? 1
  return html`<h1 class="visually-hidden">Wall</h1>
<div class="wall-tools">
<form class="search" action="/" method="get" role="search">
  <label class="visually-hidden" for="q">Search frames</label>
  <input id="q" name="q" type="search" value="${values.q ?? ''}" maxlength="${MAX_QUERY}" autocomplete="off"
    placeholder="Search what frames show, say and teach">
  <span id="search-state">${stateFields(omit(values, 'q', 'page'))}</span>
  <button class="primary">Search</button>
  ${countLine(filters)}
</form>
${filterMenus(filters)}
</div>
${chosenFilters(filters)}
<div class="about-wall">${underWayLine(data)}</div>
<div id="reading">${readingLine(found.readAs, (q) => wallUrl({ ...omit(values, 'page'), q }))}</div>
<div class="wall" id="wall" data-page="${page}" data-pages="${Math.ceil(total / PAGE_SIZE)}" data-total="${total}">
${frames.length > 0 ? sheet(data, page) : emptyWall(data)}
</div>
${pager(values, total, frames.length === PAGE_SIZE)}`
}

/** One page of the wall. Scripts put several below each other. */
function sheet({ found }: WallData, page: number): Html {
  const cards = found.frames.map(({ document }, n) => frameCard(document, n))
  const short = cards.length < PAGE_SIZE && trusted(' data-short')
  return html`<ol class="sheet" id="sheet-${page}" data-page="${page}"${short} aria-label="Page ${page}">${cards}</ol>`
}

function underWayLine({ underWay, found }: WallData): Html {
  const { videos, frames, described } = underWay
  if (videos === 0 || (found.total ?? 0) === 0) return html`<p id="under-way"></p>`
  const progress = frames > 0 && `: ${described} of ${counted(frames, 'frame')} described`
  return html`<p class="hint" id="under-way" data-live>${counted(videos, 'video')} on the way${progress}.</p>`
}

function emptyWall(data: WallData): Html {
  const { values, underWay, viewer } = data
  if (isNarrowed(values) || (values.page ?? 1) > 1) return nothingFound(data)
  if (underWay.videos > 0)
    return html`<div class="empty" data-live><h2>The first frames are on their way</h2>
<p>${counted(underWay.videos, 'video')} ${underWay.videos === 1 ? 'is' : 'are'} being read.
${underWay.frames > 0 && `${underWay.described} of ${counted(underWay.frames, 'frame')} described so far.`}
This page shows them as soon as a video is ready, usually within a minute.</p></div>`
  const how =
    viewer === 'operator'
      ? html`Add a video: paste an address or drop a file in the <a href="/operator">operator console</a>, or type:`
      : html`Nobody has added a video yet. An operator <a href="/sign-in">signs in</a> and adds one, or types:`
  return html`<div class="empty"><h2>The library is empty</h2>
<p>${how}</p>
<p><code>npm run -s frames -- add my-video.mp4 --wait</code></p></div>`
}

function nothingFound({ values, found, vocabulary }: WallData): Html {
  const ways = (found.loosened ?? []).flatMap((one) => loosenedLink(values, one))
  return html`<div class="empty"><h2>No frames match</h2>
<p>${whatToTry(values)}</p>
${ways.length > 0 && html`<ul class="ways">${ways}</ul>`}
${undescribed(values, found)}
${techniquesToTry(vocabulary)}
<p><a class="button" href="/">Show all frames</a></p></div>`
}

/** Words find a frame that nobody has described by its text alone. */
function undescribed(values: WallValues, { undescribed: count }: WallData['found']): Html | false {
  if (count === undefined || count === 0) return false
  const href = wallUrl({ ...omit(values, 'page', 'q', 'sort'), described: ['no'] })
  const are = count === 1 ? 'is' : 'are'
  return html`<p>${counted(count, 'frame')}${hasFilter(values) && ' with these filters'} ${are} not described yet:
<a href="${href}">look through them</a>.</p>`
}

function whatToTry(values: WallValues): string {
  if (hasFilter(values)) return values.q === undefined ? 'Remove a filter.' : 'Remove a filter or try another word.'
  if (values.q === undefined) return 'There are fewer pages than that.'
  return 'Check the spelling, or try another word: no text, film or brand has this one, or one like it.'
}

/** Where to begin instead: what many frames show. */
function techniquesToTry(vocabulary: readonly TechniqueDocument[]): Html | false {
  const most = vocabulary.filter((one) => one.frame_count > 0).sort((a, b) => b.frame_count - a.frame_count)
  const picks = most.slice(0, 6).map(({ slug, name, frame_count }) => {
    const href = wallUrl({ technique: [slug] })
    return html`<li><a class="choice" href="${href}">${capitalized(name)}
<span class="n">${frame_count}</span></a></li>`
  })
  return picks.length > 0 && html`<p>Or begin with what many frames show:</p><ul class="pick-list ways">${picks}</ul>`
}

function loosenedLink(values: WallValues, { dropped, frames }: Loosened): Html | [] {
  if (frames === 0) return []
  const rest = omit(values, 'page')
  const count = `${frames >= 20 ? '20 or more' : frames} ${frames === 1 ? 'frame' : 'frames'}`
  if (dropped === 'words') return html`<li><a href="${wallUrl(omit(rest, 'q'))}">Without the words</a>: ${count}</li>`
  if (dropped === 'filters')
    return html`<li><a href="${wallUrl(omit(rest, ...FILTER_NAMES))}">Without the filters</a>: ${count}</li>`
  return html`<li><a href="${wallUrl(omit(rest, dropped))}">Without ${dropped.replace('_', ' ')}</a>: ${count}</li>`
}

function pager(values: WallValues, total: number, more: boolean): Html {
  const page = values.page ?? 1
  const pages = Math.ceil(total / PAGE_SIZE)
  const sort = values.sort ?? impliedSort(values)
  const [back, on] = sort === 'newest' ? ['Newer', 'Older'] : ['Previous', 'Next']
  return html`<nav class="pager" id="pager" aria-label="Pages">
  ${page > 1 && html`<a class="button" rel="prev" href="${wallUrl({ ...values, page: page - 1 })}">← ${back}</a>`}
  ${pages > 1 && html`<span>Page ${page} of ${pages}</span>`}
  ${more && html`<a class="button" rel="next" href="${wallUrl({ ...values, page: page + 1 })}">${on} →</a>`}
</nav>`
}

/** Values of an attribute that are named in a line. */
const MAX_VALUES = 2

/** One line that says how a question was read; nothing for plain words that every frame meets. `exact`: its address. */
function readingLine(read: ReadAs | undefined, exact: (q: string) => string): Html | false {
  if (!read || isPlain(read)) return false
  const kept = read.words.filter(({ word }) => !read.let_go.includes(word))
  const guessed = kept.filter(({ as }) => as.some((one) => GUESS.test(one)))
  const named = read.words.filter(({ as }) => as.some((one) => one.includes('=')))
  const isClose = guessed.length > 0 || read.let_go.length > 0
  const meant = kept.length > 0 ? kept : read.words
  return html`<p class="reading">${
    isClose && html`No exact match. Close results for ${listed(meant.map(({ word, as }) => bold(guessOf(as) ?? word)))}`
  }${isClose && (read.let_go.length > 0 ? html`; some lack ${list(read.let_go)}.` : '.')}
${named.map(({ word, as }) => html`${bold(word)} also finds ${takenFor(as)}. `)}
${read.without.length > 0 && html`Without ${list(read.without)}.`}
${read.ignored.length > 0 && html`Not searched: ${list(read.ignored)}.`}
<a href="${exact(exactly(read))}">Only these exact words</a></p>`
}

/** How a search tells that it found another word for one that the library lacks. */
const GUESS = /^(?:typo|beginning|part) of (.+)$/

const guessOf = (as: readonly string[]) => as.map((one) => GUESS.exec(one)?.[1]).find((one) => one !== undefined)
const bold = (word: string) => html`<b>${word}</b>`
const listed = (parts: readonly Html[]) => parts.map((part, n) => html`${n > 0 && ', '}${part}`)

function isPlain({ words, without, ignored, let_go }: ReadAs): boolean {
  const isText = words.every(({ as }) => as.every((one) => one === 'text' || one === 'exact text'))
  return words.length === 0 || (isText && without.length === 0 && ignored.length === 0 && let_go.length === 0)
}

/** `tone: dark` for `tone=dark`; what words find by their text goes without saying. */
function takenFor(as: readonly string[]): string {
  const values = Map.groupBy(
    as.filter((one) => one.includes('=')),
    (one) => one.slice(0, one.indexOf('=')),
  )
  const attributes = [...values].map(([attribute, named]) => {
    const shown = named.slice(0, MAX_VALUES).map((one) => valueLabel(one.slice(attribute.length + 1)))
    return `${attribute === 'zone' ? 'face' : attribute} ${shown.join(', ')}${named.length > MAX_VALUES ? ' …' : ''}`
  })
  return attributes.join(' or ')
}

/** The same words as texts alone. */
function exactly({ words, without }: ReadAs): string {
  const quoted = (word: string) => (word.startsWith('"') ? word : `"${word}"`)
  return [...words.map(({ word }) => quoted(word)), ...without.map((word) => `-${quoted(word)}`)].join(' ')
}

const list = (words: readonly string[]): string => words.join(', ')
