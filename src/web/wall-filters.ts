import type { Values } from '../parameters.ts'
import type { FacetCounts, FrameHit, TechniqueDocument } from '../search/library-search.ts'
import { filterParameters, frameParameters, impliedSort, PAGE_SIZE } from '../views/parameters.ts'
import { ATTRIBUTES, COUNTED, type CountedName, DERIVED } from '../vocabulary.ts'
import { swatch } from './frame-card.ts'
import { capitalized, counted, type Html, hidden, html, thousands, trusted, valueLabel } from './html.ts'

/**
 * The parameters of `/api/frames` that make sense on a page. Without `variety` a page shows all its frames, those that
 * show the same picture of a film together; with `off` each has a place of its own.
 */
export const wallParameters = {
  ...omit(frameParameters, 'facets', 'provenance', 'variety'),
  variety: omit(frameParameters.variety, 'fallback'),
}
export type WallValues = Values<typeof wallParameters>

/** A copy of values without some of their names. */
export function omit<T extends object, K extends keyof T>(values: T, ...names: K[]): Omit<T, K> {
  const rest = { ...values }
  for (const name of names) delete rest[name]
  return rest
}

/** Filters, in their order in an address. */
type FilterName = keyof typeof filterParameters
export const FILTER_NAMES = Object.keys(filterParameters) as FilterName[]

/** The address of a wall. It is the whole state. */
export function wallUrl(values: WallValues): string {
  const query = stateOf(values).toString()
  return query === '' ? '/' : `/?${query}`
}

/** The query without its `?`. */
function stateOf(values: WallValues): URLSearchParams {
  const query = new URLSearchParams()
  const { page = 1, ...rest } = values
  for (const name of ['q', ...FILTER_NAMES, 'sort', 'variety'] as const)
    for (const item of [rest[name] ?? []].flat()) query.append(name, item.replace(/^#(?=[0-9a-f]{6}$)/, ''))
  if (page > 1) query.append('page', String(page))
  return query
}

/** The same wall from its first page, with a value of a filter added, or taken away where it is there. */
function toggled(values: WallValues, name: FilterName, value: string): WallValues {
  const chosen: readonly string[] = values[name] ?? []
  const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]
  return { ...omit(values, 'page', name), ...(next.length > 0 ? { [name]: next } : {}) }
}

export function hasFilter(values: WallValues): boolean {
  return FILTER_NAMES.some((name) => values[name] !== undefined)
}

export function isNarrowed(values: WallValues): boolean {
  return values.q !== undefined || hasFilter(values)
}

/** The filters of the wall: a menu for each attribute, every value a link that adds or removes it. */

export interface FiltersData {
  /** Questions can be answered by meaning too. */
  byMeaning: boolean
  values: WallValues
  facets: FacetCounts | undefined
  total: number
  frames: readonly FrameHit[]
  vocabulary: readonly TechniqueDocument[]
  /** Colours that stand for the palettes of the whole library. */
  colors: readonly string[]
}

/** Of long lists, the most frequent values; beside other lists, fewer. */
const MOST_SHOWN = 40
const MOST_BESIDE = 12

/** Of an attribute whose values are many: where all of them are. */
const ALL_VALUES: Partial<Record<CountedName, { href: string; label: string }>> = {
  technique: { href: '/techniques', label: 'All techniques' },
  author: { href: '/brands', label: 'All brands' },
}
/** What is asked for first. Everything else that is counted stands in one menu, brands at its top. */
const FRONT: readonly CountedName[] = ['subject', 'technique']
const MORE = [...new Set<CountedName>(['author', ...COUNTED])].filter((name) => !FRONT.includes(name))

export function filterMenus(data: FiltersData): Html {
  return html`<div class="row tight filters" id="filters" role="group" aria-label="Filters">
${FRONT.map((name) => attributeMenu(data, name))}${colorMenu(data)}${moreMenu(data)}${viewMenu(data)}
</div>`
}

/** A choice of one value is none. */
function moreMenu(data: FiltersData): Html | false {
  const lists = MORE.flatMap((name) => {
    const picks = picksOf(data, name, MOST_BESIDE)
    const isShown = picks.length > 1 || data.values[name] !== undefined
    return isShown ? html`<h2>${ATTRIBUTES[name].label}</h2>${pickList(name, picks)}` : []
  })
  const chosen = MORE.reduce((sum, name) => sum + (data.values[name]?.length ?? 0), 0)
  if (lists.length === 0 && !isNarrowed(data.values)) return false
  return fold('more', 'More', chosen, html`${lists.length > 0 ? lists : NONE}`)
}

function pickList(name: CountedName, picks: readonly Html[]): Html {
  const all = ALL_VALUES[name]
  return html`<ul class="row tight">${picks}</ul>${all && html`<p><a href="${all.href}">${all.label}</a></p>`}`
}

/** A part that folds out. `name` makes the browser close the others. */
function fold(id: string, label: string, chosen: number, panel: Html): Html {
  const count = chosen > 0 && html` <span class="n">${chosen}<span class="visually-hidden"> chosen</span></span>`
  return html`<details class="fold${chosen > 0 && ' on'}" name="menu" id="menu-${id}">
<summary>${label}${count}</summary><div class="panel">${panel}</div></details>`
}

/** Stays in its place among frames that have none. A library that has one value of it has no menu. */
function attributeMenu(data: FiltersData, name: CountedName): Html | false {
  const { values } = data
  const picks = picksOf(data, name, MOST_SHOWN)
  if (picks.length < 2 && !isNarrowed(values)) return false
  const chosen = values[name]?.length ?? 0
  return fold(name, ATTRIBUTES[name].label, chosen, html`${picks.length === 0 && NONE}${pickList(name, picks)}`)
}

const NONE = html`<p class="hint">These frames leave no choice.</p>`

function picksOf({ values, facets, vocabulary }: FiltersData, name: CountedName, most: number): Html[] {
  const chosen: readonly string[] = values[name] ?? []
  const counts = new Map(Object.entries(facets?.[name] ?? {}))
  // A closed list stands in its order; of others what was counted, the most frequent first.
  const listed = ATTRIBUTES[name].values
  const candidates = listed ?? mostFrequent(counts, most)
  const shown = [...new Set<string>([...(listed ? [] : chosen), ...candidates])].filter(
    (value) => chosen.includes(value) || (counts.get(value) ?? 0) > 0,
  )
  const labelOf = namer(name, vocabulary)
  return shown.map((value) => pick(values, name, value, labelOf(value), counts.get(value) ?? 0))
}

function mostFrequent(counts: ReadonlyMap<string, number>, most: number): string[] {
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
  return sorted.slice(0, most).map(([value]) => value)
}

/** What a filter's value is called. */
function namer(name: FilterName, vocabulary: readonly TechniqueDocument[]): (value: string) => string {
  const filter = name.replace('not_', '')
  if (filter === 'author' || filter === 'video' || filter === 'color') return (value) => value
  if (DERIVED.some((derived) => derived === filter)) return (value) => `${valueLabel(filter)}: ${valueLabel(value)}`
  if (filter !== 'technique') return valueLabel
  const names = new Map(vocabulary.map((technique) => [technique.slug, technique.name]))
  return (slug) => capitalized(names.get(slug) ?? valueLabel(slug))
}

function pick(values: WallValues, name: FilterName, value: string, label: string, count: number): Html {
  const on = (values[name] as readonly string[] | undefined)?.includes(value)
  const current = on && trusted(' aria-current="true"')
  const counted = html` <span class="n">${thousands(count)}</span>`
  return html`<li><a class="choice" id="pick-${name}-${encodeURIComponent(
    value,
  )}" href="${wallUrl(toggled(values, name, value))}"${current}>${label}${counted}</a></li>`
}

/** What the library holds, not a wheel of everything. The same colours on every page: a choice never moves them. */
function colorMenu({ values, colors }: FiltersData): Html | false {
  const chosen: readonly string[] = values.color ?? []
  const shown = [...chosen.filter((color) => !colors.includes(color)), ...colors]
  if (shown.length === 0) return false
  const picks = shown.map((color) => {
    const on = chosen.includes(color) && trusted(' aria-current="true"')
    return html`<li><a class="swatch" id="pick-color-${color.slice(1)}" aria-label="Near ${color}" title="${color}"
href="${wallUrl(toggled(values, 'color', color))}"${on}>${swatch(color, 36, 36)}</a></li>`
  })
  const other = html`<form class="row wall-form" action="/" method="get">${stateFields(omit(values, 'page'))}
<label for="any-color">Another colour</label><input id="any-color" type="color" name="color" value="${
    chosen[0] ?? '#f2aa4c'
  }"><button>Find</button></form>`
  return fold('color', 'Colour', chosen.length, html`<ul class="swatches">${picks}</ul>${other}`)
}

function viewMenu({ values, total, byMeaning }: FiltersData): Html {
  const implied = impliedSort(values)
  const sorts = [
    ...(values.q === undefined ? [] : [['relevance', 'Best match'] as const]),
    ...(byMeaning ? [['meaning', 'Closest in meaning'] as const] : []),
    ['newest', 'Newest'] as const,
    ['strength', 'Most saved and strongest'] as const,
  ]
  const current = values.sort ?? implied
  const link = (id: string, label: string, next: WallValues, on: boolean) =>
    html`<li><a class="choice" id="pick-${id}" href="${wallUrl(omit(next, 'page'))}"${
      on && trusted(' aria-current="true"')
    }>${label}</a></li>`
  const { variety } = values
  const changed = Number(current !== implied) + Number(variety !== undefined)
  return fold(
    'view',
    'View',
    changed,
    html`<h2>Order</h2><ul class="row tight">${sorts.map(([sort, label]) =>
      link(sort, label, sort === implied ? omit(values, 'sort') : { ...values, sort }, sort === current),
    )}</ul>
<h2>Look-alikes</h2><ul class="row tight">
${link('alike', 'Together', omit(values, 'variety'), variety === undefined)}
${link('all', 'Each by itself', { ...values, variety: 'off' }, variety === 'off')}</ul>
<fieldset class="look needs-script"><legend>Size</legend>${SIZES}</fieldset>
${jump(values, total)}`,
  )
}

/** Remembered by the browser alone. The first paint has it already (wall-look.js). */
const SIZES = ['small', 'medium', 'large'].map(
  (size) => html`<label><input type="radio" name="size" value="${size}"> ${capitalized(size)}</label>\n`,
)

function jump(values: WallValues, total: number): Html | false {
  const pages = Math.ceil(total / PAGE_SIZE)
  if (pages < 2) return false
  return html`<form class="row wall-form" action="/" method="get">${stateFields(omit(values, 'page'))}
<label for="jump">Page</label><input id="jump" name="page" type="number" min="1" max="${pages}"
value="${values.page ?? 1}" required> of ${thousands(pages)} <button>Go</button></form>`
}

/** The state of the wall as fields of a form. */
export function stateFields(values: WallValues): Html[] {
  return [...stateOf(values)].map(([name, value]) => hidden(name, value))
}

/** What narrows the wall, each with a link that takes it back. A name leads to the page of what it names. */
export function chosenFilters({ values, frames, vocabulary }: FiltersData): Html {
  const chips = FILTER_NAMES.flatMap((name) => {
    const labelOf = name === 'video' ? titleIn(frames) : namer(name, vocabulary)
    return (values[name] ?? []).map((value: string) => {
      const isColor = name === 'color' || name === 'not_color'
      const label = labelOf(value)
      const shown = isColor ? html`${swatch(value, 14, 14)} ${value}` : label
      const page = PAGES[name]
      const word = page ? html`<a href="${page}${encodeURIComponent(value)}">${shown}</a>` : html`<span>${shown}</span>`
      const not = name.startsWith('not_') && 'not '
      return html`<li class="choice chosen">${not}${word}<a href="${wallUrl(toggled(values, name, value))}"><span
class="visually-hidden">Without ${not}${label}</span><span aria-hidden="true">×</span></a></li>`
    })
  })
  const clear = chips.length > 1 && html`<li><a href="${wallUrl(values.q ? { q: values.q } : {})}">Clear all</a></li>`
  return html`<ul class="row also" id="chosen">${chips}${clear}</ul>`
}

/** Where what a filter names has a page of its own. */
const PAGES: Partial<Record<FilterName, string>> = { technique: '/techniques/', author: '/brands/', video: '/videos/' }

function titleIn(frames: readonly FrameHit[]): (id: string) => string {
  return (id) => frames.find(({ document }) => document.video_id === id)?.document.video.title ?? id
}

/** In the field of the search: how many frames there are, and what takes the words away. */
export function askedLine({ values, total }: FiltersData): Html {
  const clear =
    values.q !== undefined &&
    html`<a id="clear" href="${wallUrl(omit(values, 'q', 'page'))}" aria-label="Clear the search">×</a>`
  const count = total > 0 && counted(total, 'frame')
  return html`<div class="asked" id="asked"><span id="count">${count}</span>${clear}</div>`
}
