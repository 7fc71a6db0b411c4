import { omit } from '../omit.ts'
import type { Values } from '../parameters.ts'
import type { FacetCounts, FramePage, TechniqueDocument } from '../search/library-search.ts'
import { filterParameters, frameParameters, impliedSort, MAX_QUERY, PAGE_SIZE } from '../views/frame-query.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'
import { frameCard, swatch } from './frame-card.ts'
import { type Html, html, trusted } from './html.ts'
import { readingLine } from './wall-reading.ts'

/** The parameters of `/api/frames` that make sense on a page. */
export const wallParameters = omit(frameParameters, 'facets', 'debug', 'provenance')
export type WallValues = Values<typeof wallParameters>

export interface WallData {
  values: WallValues
  found: FramePage
  vocabulary: readonly TechniqueDocument[]
}

/** `/`: a search box, the filters and a page of frames. The address is the whole state; no script is needed. */
export function wallPage(data: WallData): Html {
  const { values, found } = data
  const page = values.page ?? 1
  return html`<h1 class="visually-hidden">Library</h1>
${searchForm(data)}
<p class="count" role="status">${counted(found)}${page > 1 && `, page ${page}`}</p>
${readingLine(found.readAs, (q) => wallUrl({ ...values, q }, 1))}
${found.frames.length > 0 ? frameList(found) : emptyWall(values)}
${pager(values, found.frames.length === PAGE_SIZE)}`
}

function searchForm(data: WallData): Html {
  const { values, found, vocabulary } = data
  const techniqueNames = new Map(vocabulary.map(({ slug, name }) => [slug, name]))
  return html`<form class="search" action="/" method="get" role="search">
  <div class="search-line">
    <label class="visually-hidden" for="q">Search frames</label>
    <input id="q" name="q" type="search" value="${values.q ?? ''}" maxlength="${MAX_QUERY}" autocomplete="off"
      placeholder="Search captions, composition, on-screen text">
    <button class="primary">Search</button>
  </div>
  <div class="filters" role="group" aria-label="Filters">
    ${choices(data, techniqueNames)}
    ${values.video?.map((id) => hidden('video', id))}
    ${values.color?.map((color) => hidden('color', color))}
    ${isNarrowed(values) && html`<a class="clear" href="/">Clear</a>`}
  </div>
  ${alsoChosen(values, found, techniqueNames)}
</form>`
}

function isNarrowed(values: WallValues): boolean {
  return values.q !== undefined || Object.keys(values).some((name) => name in filterParameters)
}

function counted({ frames, total = frames.length }: FramePage): string {
  if (total === 0) return ''
  return `${total.toLocaleString('en')} ${total === 1 ? 'frame' : 'frames'}`
}

function frameList({ frames }: FramePage): Html {
  return html`<ul class="wall">${frames.map(({ document }, n) => frameCard(document, n))}</ul>`
}

function emptyWall(values: WallValues): Html {
  if (isNarrowed(values) || (values.page ?? 1) > 1)
    return html`<p class="empty">No frames match. ${whatToTry(values)} <a href="/">Show all frames</a></p>`
  return html`<div class="empty">
  <p>There are no frames yet. Add a video; its frames appear here about a minute later:</p>
  <p><code>npm run -s frames -- add my-video.mp4 --wait</code></p>
</div>`
}

function whatToTry(values: WallValues): string {
  const hasFilter = Object.keys(values).some((name) => name !== 'q' && name in filterParameters)
  if (hasFilter) return values.q === undefined ? 'Remove a filter.' : 'Remove a filter or try another word.'
  return values.q === undefined ? 'There are fewer pages than that.' : 'Try another word.'
}

function pager(values: WallValues, more: boolean): Html {
  const page = values.page ?? 1
  const sort = values.sort ?? impliedSort(values)
  const [back, on] = sort === 'newest' ? ['Newer', 'Older'] : ['Previous', 'Next']
  return html`<nav class="pager" aria-label="Pages">
  ${page > 1 && html`<a rel="prev" href="${wallUrl(values, page - 1)}">← ${back}</a>`}
  ${more && html`<a rel="next" href="${wallUrl(values, page + 1)}">${on} →</a>`}
</nav>`
}

/** The attributes with closed lists, in the order of the form. */
const LISTS = [
  ['subject', 'Subject', SUBJECTS],
  ['surface', 'Surface', SURFACES],
  ['shot', 'Shot', SHOTS],
  ['zone', 'Face zone', ZONES],
  ['tone', 'Tone', TONES],
  ['kind', 'Kind', KINDS],
  ['platform', 'Platform', PLATFORMS],
] as const
const MAX_BRANDS = 200

type Names = ReadonlyMap<string, string>

function choices({ values, found: { facets }, vocabulary }: WallData, techniqueNames: Names): Html[] {
  const brands = Object.keys(facets?.author ?? {}).sort((a, b) => a.localeCompare(b))
  const slugs = vocabulary.map(({ slug }) => slug)
  return [
    ...LISTS.map(([name, label, options]) => choice({ name, label, options }, values, facets)),
    choice({ name: 'technique', label: 'Technique', options: slugs, names: techniqueNames }, values, facets),
    choice({ name: 'author', label: 'Brand', options: brands.slice(0, MAX_BRANDS) }, values, facets),
  ]
}

interface Choice {
  name: keyof FacetCounts & keyof WallValues
  label: string
  options: readonly string[]
  names?: Names
}

/** A list to choose one value from. Further values that stand in the address go along hidden. */
function choice({ name, label, options, names }: Choice, values: WallValues, facets: FacetCounts | undefined): Html {
  const chosen: readonly string[] = values[name] ?? []
  const counts: Record<string, number> | undefined = facets?.[name]
  const [first, ...rest] = chosen
  const unlisted = chosen.filter((value) => !options.includes(value))
  const shown = [...unlisted, ...options].filter(
    (value) => chosen.includes(value) || counts === undefined || (counts[value] ?? 0) > 0,
  )
  const option = (value: string) => {
    const count = counts?.[value] !== undefined && ` (${counts[value]})`
    const selected = value === first && trusted(' selected')
    return html`<option value="${value}"${selected}>${names?.get(value) ?? value}${count}</option>`
  }
  return html`<label class="choice${first !== undefined && ' on'}">
  <span class="visually-hidden">${label}</span>
  <select name="${name}"><option value="">${label}</option>${shown.map(option)}</select>
</label>${rest.map((value) => hidden(name, value))}`
}

function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** Filters that no list shows, each with a link that removes it: videos, colours and further values. */
function alsoChosen(values: WallValues, { frames }: FramePage, techniqueNames: Names): Html | false {
  const titleOf = (id: string) => frames.find(({ document }) => document.video_id === id)?.document.video.title ?? id
  const further = [...LISTS.map(([name]) => name), 'technique', 'author'] as const
  const links = [
    ...(values.video ?? []).map((id) => removal(values, 'video', id, titleOf(id))),
    ...(values.color ?? []).map((color) => removal(values, 'color', color, html`${swatch(color, 18, 14)} ${color}`)),
    ...further.flatMap((name) =>
      (values[name] ?? []).slice(1).map((value) => removal(values, name, value, techniqueNames.get(value) ?? value)),
    ),
  ]
  return links.length > 0 && html`<ul class="also">${links}</ul>`
}

function removal(values: WallValues, name: keyof WallValues, value: string, shown: Html | string): Html {
  const left = (values[name] as readonly string[]).filter((one) => one !== value)
  const without = html`<span class="visually-hidden">Without </span>${shown} <span aria-hidden="true">×</span>`
  return html`<li><a href="${wallUrl({ ...values, [name]: left }, 1)}">${without}</a></li>`
}

function wallUrl(values: WallValues, page: number): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(omit(values, 'page'))) {
    for (const item of [value].flat()) if (item !== undefined) query.append(name, String(item))
  }
  if (page > 1) query.append('page', String(page))
  return `/?${query}`
}
