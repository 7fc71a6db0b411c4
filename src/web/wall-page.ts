import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { samplePalettes } from '../library/frames/frames.ts'
import { findUnderWay, type UnderWay } from '../library/videos/video-status.ts'
import { canonicalKey, readPageParameters } from '../parameters.ts'
import { distance } from '../search/color.ts'
import type { FramePage, Loosened, ReadAs, TechniqueDocument } from '../search/library-search.ts'
import { ttlCached } from '../search/ttl-cache.ts'
import { sourceKeyOf } from '../video/source/source.ts'
import { countUndescribed, impliedSort, MAX_QUERY, PAGE_SIZE, toFrameQuery } from '../views/parameters.ts'
import { toOklab } from '../vocabulary.ts'
import { frameCard } from './frame-card.ts'
import { capitalized, counted, type Html, html, trusted, valueLabel } from './html.ts'
import type { Viewer } from './layout.ts'
import type { PageDeps } from './page-deps.ts'
import {
  chosenFilters,
  countLine,
  FILTER_NAMES,
  type FiltersData,
  filterMenus,
  hasFilter,
  isNarrowed,
  omit,
  stateFields,
  type WallValues,
  wallParameters,
  wallUrl,
} from './wall-filters.ts'

/** `/`: the wall. */
export function wallRouter(deps: PageDeps): Routes {
  const { db, pages, search, limits, assets } = deps
  const router = openRoutes()
  const head = html`<script src="${assets.url('wall-look.js')}"></script>\n`
  const underWayNow = ttlCached(() => findUnderWay(db))

  router.get('/', priced(limits, { price: 'write' }), async (req, res) => {
    const values = readPageParameters(req.originalUrl, wallParameters)
    const videoId = await findPastedVideo(deps, values)
    if (videoId !== undefined) {
      res.set('Cache-Control', 'no-store').redirect(302, `/videos/${videoId}`)
      return
    }
    const underWay = await underWayNow()
    const state = Object.values(underWay).join('.')
    return pages.send(req, res, {
      key: `wall ${state} ${canonicalKey(values)}`,
      async render(viewer) {
        const [found, vocabulary, colors] = await Promise.all([
          loadFrames(deps, values),
          search.techniques(),
          loadColors(deps),
        ])
        const { q } = values
        return {
          title: q ?? 'Wall',
          current: 'wall',
          wide: true,
          modules: ['wall.js'],
          head,
          description: q === undefined ? describeLibrary(found) : undefined,
          body: wallPage({ values, found, vocabulary, colors, viewer, underWay }),
        }
      },
    })
  })
  return router
}

function describeLibrary({ total = 0 }: WallFrames): string {
  return `${counted(total, 'frame')} of product and launch videos, each described: subject, technique, what to steal.`
}

/** The colours of the library, once for each version of the read model. */
async function loadColors({ db, kept }: PageDeps): Promise<string[]> {
  return (await kept.getOrLoad('colours of the library', async () => colorsOf(await samplePalettes(db)))).value
}

/** `undescribed`: frames that nobody has described, where few were found. */
type WallFrames = Omit<FramePage, 'engine'> & { undescribed: number | undefined }

/** With fewer frames the wall also tells how many are not described. */
const FEW = 3

/** Pages of frames. All pages of one set of filters share their counts, which cost more than the frames. */
async function loadFrames({ search, kept }: PageDeps, values: WallValues): Promise<WallFrames> {
  const query = { ...toFrameQuery(values), asker: 'people' } as const
  let first: FramePage | undefined
  const { value: counts } = await kept.getOrLoad(`counts ${canonicalKey(omit(values, 'page', 'sort'))}`, async () => {
    const found = await search.frames({ ...query, page: 1, facets: true, loosen: true })
    if (query.page === 1) first = found
    const { facets, total, readAs, loosened } = found
    const few = query.q !== '' && (total ?? 0) < FEW
    const undescribed = few ? await countUndescribed(search, query.filters) : 0
    return { facets, total, readAs, loosened, undescribed }
  })
  const { frames } = first ?? (await search.frames({ ...query, facets: false }))
  return { frames, ...counts }
}

/** The id of the video whose address was pasted into the search box. */
async function findPastedVideo({ search }: PageDeps, { q = '' }: WallValues): Promise<string | undefined> {
  const sourceKey = q === '' ? undefined : sourceKeyOf(q)
  if (sourceKey === undefined) return undefined
  const { videos } = await search.search({ q, limit: 1, sourceKey, asker: 'people' })
  return videos[0]?.document.id
}

/** Colours closer than this in OKLab look like one in a row of swatches. */
const APART = 0.11
const MOST_COLORS = 21

/**
 * The colours that stand for many palettes. The most frequent are chosen, none near another. They are in the order of
 * the rainbow, with greys at the end. Larger areas of a picture count more.
 */
function colorsOf(palettes: readonly (readonly string[])[]): string[] {
  const weights = new Map<string, number>()
  for (const palette of palettes)
    palette.forEach((hex, n) => {
      weights.set(hex, (weights.get(hex) ?? 0) + 1 / (n + 1))
    })
  const chosen: { hex: string; lab: ReturnType<typeof toOklab> }[] = []
  for (const [hex] of [...weights].sort(([, a], [, b]) => b - a)) {
    if (chosen.length === MOST_COLORS) break
    const lab = toOklab(hex)
    if (chosen.every((one) => distance(one.lab, lab) >= APART)) chosen.push({ hex, lab })
  }
  const order = ({ lab: { l, a, b } }: (typeof chosen)[number]) =>
    Math.hypot(a, b) < 0.03 ? 10 + l : Math.atan2(b, a) + (Math.atan2(b, a) < 0 ? 2 * Math.PI : 0)
  return chosen.sort((one, other) => order(one) - order(other)).map(({ hex }) => hex)
}

interface WallData {
  values: WallValues
  found: WallFrames
  vocabulary: readonly TechniqueDocument[]
  /** Colours that stand for the palettes of the library. */
  colors: readonly string[]
  viewer: Viewer
  underWay: UnderWay
}

/** `/`: a search box, the filters and a page of frames. The address is the whole state; no script is needed. */
function wallPage(data: WallData): Html {
  const { values, found, vocabulary, colors } = data
  const { frames, facets, total = 0 } = found
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
function undescribed(values: WallValues, { undescribed: count }: WallFrames): Html | false {
  if (!count) return false
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
  const isGuessed = ({ as }: ReadAs['words'][number]) => guessOf(as) !== undefined
  const guessed = read.words.filter(isGuessed)
  const kept = read.words.filter((one) => isGuessed(one) || !read.let_go.includes(one.word))
  const lacking = read.let_go.filter((word) => !guessed.some((one) => one.word === word))
  const named = read.words.filter(({ as }) => as.some((one) => one.includes('=')))
  const isClose = read.let_go.length > 0
  const meant = kept.length > 0 ? kept : read.words
  return html`<p class="reading">${
    isClose && html`No exact match. Close results for ${listed(meant.map(({ word, as }) => bold(guessOf(as) ?? word)))}`
  }${isClose && (lacking.length > 0 ? html`; some lack ${list(lacking)}.` : '.')}
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
