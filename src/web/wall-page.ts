import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { samplePalettes } from '../library/frames/frames.ts'
import { findUnderWay, type UnderWay } from '../library/videos/video-status.ts'
import { canonicalKey, readPageParameters } from '../parameters.ts'
import { distance } from '../search/color.ts'
import {
  type FrameHit,
  type FramePage,
  type Loosened,
  MOST_CLOSE,
  type TechniqueDocument,
} from '../search/library-search.ts'
import { isSamePicture } from '../search/likeness.ts'
import { hasMeaning } from '../search/meaning.ts'
import { ttlCached } from '../turns.ts'
import { sourceKeyOf } from '../video/source/source.ts'
import { MAX_QUERY, PAGE_SIZE, toFrameQuery } from '../views/parameters.ts'
import { ATTRIBUTES, toOklab } from '../vocabulary.ts'
import { alikeGrid, frameCard } from './frame-card.ts'
import { capitalized, counted, emptyState, type Html, html, numberedPages, trusted } from './html.ts'
import type { Viewer } from './layout.ts'
import type { PageDeps } from './page-deps.ts'
import {
  askedLine,
  chosenFilters,
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
import { findNamed, namedLine, readingLine, WORDS_ALONE } from './wall-words.ts'

/** `/`: the wall. */
export function wallRouter(deps: PageDeps): Routes {
  const { db, pages, search, limits, assets } = deps
  const router = openRoutes()
  const head = html`<script src="${assets.url('wall-look.js')}"></script>\n`
  const underWayNow = ttlCached(() => findUnderWay(db))

  router.get('/', priced(limits, { price: 'write' }), async (req, res) => {
    const given = readPageParameters(req.originalUrl, wallParameters)
    const values = given.sort === 'meaning' && !hasMeaning(given.q) ? omit(given, 'sort') : given
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
        const [found, vocabulary, colors, named] = await Promise.all([
          loadFrames(deps, values),
          search.techniques(),
          loadColors(deps),
          findNamed(search, values.q ?? ''),
        ])
        return {
          title: values.q ?? 'Wall',
          current: 'wall',
          wide: true,
          lean: true,
          modules: ['wall.js'],
          head,
          isPassing: found.readAs?.meaning === 'unavailable',
          description: values.q === undefined ? describeLibrary(found) : undefined,
          body: wallPage({ values, found, vocabulary, colors, named, viewer, underWay }),
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

type WallFrames = Omit<FramePage, 'engine'>

/** Pages of frames. All pages of one set of filters share their counts, which cost more than the frames. */
async function loadFrames({ search, kept }: PageDeps, values: WallValues): Promise<WallFrames> {
  const query = { ...toFrameQuery(values), close: MOST_CLOSE, asker: 'people' } as const
  let first: FramePage | undefined
  const { value: counts } = await kept.getOrLoad(`counts ${canonicalKey(omit(values, 'page', 'sort'))}`, async () => {
    const found = await search.frames({ ...query, page: 1, facets: true, loosen: true })
    if (query.page === 1) first = found
    const { facets, total, loosened } = found
    return { facets, total, loosened }
  })
  const { frames, readAs, close } = first ?? (await search.frames({ ...query, facets: false }))
  return { frames, readAs, close, ...counts }
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
  named: Awaited<ReturnType<typeof findNamed>>
  viewer: Viewer
  underWay: UnderWay
}

/** `/`: a search box, the filters and a page of frames. The address is the whole state; no script is needed. */
function wallPage(data: WallData): Html {
  const { values, found, vocabulary, colors, named } = data
  const { frames, facets, total = 0 } = found
  const byMeaning = found.readAs?.meaning !== undefined
  const filters: FiltersData = { values, facets, total, frames, vocabulary, colors, byMeaning }
  const page = values.page ?? 1
  const isByMeaning = values.sort === 'meaning' && found.frames[0]?.matched.meaning !== undefined
  const pages = isByMeaning ? 1 : Math.ceil(total / PAGE_SIZE)
  return html`<h1 class="visually-hidden">Wall</h1>
<div class="wall-tools">
<form class="search" action="/" method="get" role="search">
  <label class="visually-hidden" for="q">Search frames</label>
  <input id="q" name="q" type="search" value="${values.q ?? ''}" maxlength="${MAX_QUERY}" autocomplete="off"
    placeholder="Try “dark terminal”">
  <span id="search-state">${stateFields(omit(values, 'q', 'page'))}</span>
  <button class="primary">Search</button>
  ${askedLine(filters)}
</form>
${filterMenus(filters)}
</div>
${chosenFilters(filters)}
${aboutLine(data)}
${namedLine(named)}
<div id="reading">${
    found.readAs &&
    !isByMeaning &&
    total > 0 &&
    readingLine(found.readAs, (q) => wallUrl({ ...omit(values, 'page'), q }))
  }</div>
<div class="wall" id="wall" data-page="${page}" data-pages="${pages}" data-total="${total}">
${frames.length > 0 ? sheet(data, page) : emptyWall(data)}
</div>
<div id="close">${closeSheet(found)}</div>
<div id="pager">${numberedPages(page, pages, (page) => wallUrl({ ...values, page }))}</div>`
}

/** One page of the wall. Scripts put several below each other. */
function sheet({ values, found }: WallData, page: number): Html {
  const frames = found.frames.map(({ document }) => document)
  const groups = values.variety === undefined ? groupAlike(frames) : frames.map((frame) => [frame])
  const cells = groups.map(([first, ...alike], n) => {
    return frameCard(first!, n, { extra: alike.length > 0 && alikeGrid(first!.id, alike) })
  })
  return html`<ol class="sheet" id="sheet-${page}" data-page="${page}" aria-label="Page ${page}">${cells}</ol>`
}

/** What the words do not find, and the question means. */
function closeSheet({ close = [], readAs }: WallFrames): Html | undefined {
  if (close.length === 0) return WORDS_ALONE[readAs?.meaning ?? '']
  return html`<h2>Close in meaning</h2>
<ol class="sheet" aria-label="Close in meaning">${close.map(({ document }, n) => frameCard(document, n))}</ol>`
}

/** The frames of a page; those of one film that show the same picture stand behind the first of them. */
function groupAlike(frames: readonly FrameHit['document'][]) {
  const groups: (typeof frames)[number][][] = []
  for (const frame of frames) {
    const group = groups.find(([first]) => first!.video_id === frame.video_id && isSamePicture(first!, frame))
    if (group) group.push(frame)
    else groups.push([frame])
  }
  return groups
}

/** Beside no question: to newcomers what this is, to operators what is on the way. */
function aboutLine({ underWay: { videos, frames, described }, found, viewer, values }: WallData): Html {
  const isLive = videos > 0 && (found.total ?? 0) > 0
  const progress = frames > 0 ? `: ${described} of ${counted(frames, 'frame')} described` : ''
  const told = {
    anyone: 'Frames of product and launch films, to search and collect.',
    member: '',
    operator: isLive && `${counted(videos, 'video')} on the way${progress}.`,
  }
  const shown = !isNarrowed(values) && told[viewer]
  return html`<p class="reading" id="under-way"${isLive && trusted(' data-live')}>${shown}</p>`
}

function emptyWall(data: WallData): Html {
  const { values, underWay, viewer } = data
  if (isNarrowed(values) || (values.page ?? 1) > 1) return nothingFound(data)
  if (underWay.videos > 0)
    return emptyState(
      'The first frames are on their way',
      html`${counted(underWay.videos, 'video')} ${underWay.videos === 1 ? 'is' : 'are'} being read.
${underWay.frames > 0 && `${underWay.described} of ${counted(underWay.frames, 'frame')} described so far.`}
This page shows them as soon as a video is ready, usually within a minute.`,
      { live: true },
    )
  const how =
    viewer === 'operator'
      ? html`Paste the address of a video or drop a file in the <a href="/operator">operator console</a>.`
      : html`Nobody has added a video yet. An operator <a href="/sign-in">signs in</a> and adds one.`
  return emptyState('The library is empty', how)
}

function nothingFound({ values, found, vocabulary }: WallData): Html {
  const ways = (found.loosened ?? []).flatMap((one) => loosenedLink(values, one))
  const more = html`${ways.length > 0 && html`<ul class="row loose">${ways}</ul>`}
${techniquesToTry(vocabulary)}
<p><a class="button" href="/">Show all frames</a></p>`
  const words = values.q !== undefined && !hasFilter(values) && 'No text, film or brand has these words. '
  const far = found.readAs?.meaning === 'nothing close' && 'Nothing is close in meaning either. '
  return emptyState('No frames match', [words, far, whatToTry(values)], { more })
}

function whatToTry(values: WallValues): string {
  if (hasFilter(values)) return values.q === undefined ? 'Remove a filter.' : 'Remove a filter or try another word.'
  if (values.q === undefined) return 'There are fewer pages than that.'
  return 'Check the spelling, or try another word.'
}

/** Where to begin instead: what many frames show. */
function techniquesToTry(vocabulary: readonly TechniqueDocument[]): Html | false {
  const most = vocabulary.filter((one) => one.frame_count > 0).sort((a, b) => b.frame_count - a.frame_count)
  const picks = most.slice(0, 6).map(({ slug, name, frame_count }) => {
    const href = wallUrl({ technique: [slug] })
    return html`<li><a class="choice" href="${href}">${capitalized(name)}
<span class="n">${frame_count}</span></a></li>`
  })
  return picks.length > 0 && html`<p>Or begin with what many frames show:</p><ul class="row tight ways">${picks}</ul>`
}

function loosenedLink(values: WallValues, { dropped, frames }: Loosened): Html | [] {
  if (frames === 0) return []
  const rest = omit(values, 'page')
  const count = `${frames >= 20 ? '20 or more' : frames} ${frames === 1 ? 'frame' : 'frames'}`
  if (dropped === 'words') return html`<li><a href="${wallUrl(omit(rest, 'q'))}">Without the words</a>: ${count}</li>`
  if (dropped === 'filters')
    return html`<li><a href="${wallUrl(omit(rest, ...FILTER_NAMES))}">Without the filters</a>: ${count}</li>`
  const name = dropped.replace('not_', '')
  const known = Object.entries(ATTRIBUTES).find(([one]) => one === name)?.[1]
  const label = known?.label.toLowerCase() ?? name.replace('_', ' ')
  const what = name === dropped ? label : `“not ${label}”`
  return html`<li><a href="${wallUrl(omit(rest, dropped))}">Without ${what}</a>: ${count}</li>`
}
