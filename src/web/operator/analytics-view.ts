import type { FigureRow } from '../../library/analytics/figures.ts'
import type { ShownFrame } from '../../search/library-search.ts'
import { counted } from '../actions.ts'
import { altOf, thumb } from '../frame-card.ts'
import { type Html, html, trusted } from '../html.ts'
import { clock, thousands, valueLabel } from '../words.ts'
import { bar, legend, lineChart } from './chart.ts'
import { ago, dollars, operatorHead, span } from './parts.ts'

/** Figures by day. */
export interface Days {
  saves: FigureRow[]
  activity: FigureRow[]
  videos: FigureRow[]
  model: FigureRow[]
  searches: FigureRow[]
}

export interface AnalyticsFigures extends Days {
  from: string
  to: string
  /** The one that is shown. */
  chart: ChartName
  /** As many days before. */
  before: Days
  countedThrough: string | null
  failures: FigureRow[]
  stages: FigureRow[]
  models: FigureRow[]
  terms: FigureRow[]
  top: Record<'frame' | 'brand' | 'technique' | 'subject', FigureRow[]>
  /** Of the top frames, those that are still in the library. */
  frames: ReadonlyMap<string, ShownFrame>
}

const DAY_MS = 86_400_000
const RANGES = [7, 30, 90, 365]

/** The whole page. Everything is readable without script: script makes the chart zoomable. */
export function analyticsView(figures: AnalyticsFigures): Html {
  const { countedThrough, terms } = figures
  return html`${operatorHead('analytics', 'Analytics')}
<div id="analytics">
${rangeForm(figures)}
<p class="hint">Days are in UTC. ${
    countedThrough === null
      ? 'Nothing is counted yet.'
      : html`Counted from the events up to ${ago(countedThrough)}, some seconds after they happen.`
  }</p>
${totals(figures)}
${chartSection(figures)}
${topFrames(figures)}
<div class="columns">
${topTable('Brands', 'Brand', figures.top.brand, brandLink)}
${topTable('Techniques', 'Technique', figures.top.technique, techniqueLink)}
${topTable('Subjects', 'Subject', figures.top.subject, subjectLink)}
<section><h2>Searches without a good result</h2>
${
  terms.length === 0
    ? html`<p class="empty">Every search found a frame with all of its words.</p>`
    : html`${countTable(
        'Search',
        'Searches',
        terms.map(({ key, unanswered, weak }) => ({
          name:
            key === null
              ? html`<span class="hint">words that are not kept</span>`
              : html`<a href="/?q=${encodeURIComponent(key)}">${key}</a>`,
          value: Number(unanswered) + Number(weak),
          shown: `${unanswered} empty, ${weak} weak`,
        })),
      )}`
}
<p class="hint">Weak: the best frame lacks a word. Only searches that reach the engine.
 Words that may tell of a person are not kept.</p></section>
</div>
${videosSection(figures)}
${modelSection(figures)}
</div>`
}

const sum = (rows: readonly FigureRow[], column: string): number =>
  rows.reduce((total, row) => total + Number(row[column] ?? 0), 0)

const daysOf = (rows: readonly FigureRow[]): string[] => rows.map(({ key }) => key ?? '')

const valuesOf = (rows: readonly FigureRow[], column: string): (number | null)[] =>
  rows.map((row) => (row[column] === null ? null : Number(row[column])))

function rangeForm({ from, to }: AnalyticsFigures): Html {
  const today = new Date().toISOString().slice(0, 10)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  const chips = RANGES.map((length) => {
    const start = new Date(Date.parse(today) - (length - 1) * DAY_MS).toISOString().slice(0, 10)
    const isShown = to === today && days === length
    return html`<li><a href="/operator/analytics?from=${start}"${isShown && trusted(' aria-current="page"')}
>${length === 365 ? 'Year' : `${length} days`}</a></li>`
  })
  return html`<div class="range"><nav aria-label="Range"><ul class="ranges">${chips}</ul></nav>
<form action="/operator/analytics"><label>From <input type="date" name="from" value="${from}" required></label>
<label>To <input type="date" name="to" value="${to}" required></label> <button>Show</button></form></div>`
}

/** The figures of the tiles, each with the chart that shows its days. `isMoney`: dollars. */
type Total = [name: string, chart: ChartName, of: (days: Days) => number, isMoney?: true]
const TOTALS: readonly Total[] = [
  ['Saves', 'saves', ({ saves }) => sum(saves, 'saves')],
  ['Pins', 'saves', ({ saves }) => sum(saves, 'pins')],
  ['Most active accounts in a day', 'people', ({ activity }) => most(activity, 'active_accounts')],
  ['Boards made', 'people', ({ activity }) => sum(activity, 'boards_created')],
  ['Videos ready', 'videos', ({ videos }) => sum(videos, 'ready')],
  ['Videos failed', 'videos', ({ videos }) => sum(videos, 'failed')],
  ['Searches', 'searches', ({ searches }) => sum(searches, 'searches')],
  ['Searches without a result', 'searches', ({ searches }) => sum(searches, 'unanswered')],
  ['Searches with a weak result', 'searches', ({ searches }) => sum(searches, 'weak')],
  ['Cost of the model', 'cost', ({ model }) => sum(model, 'cost_usd'), true],
]

export const CHARTS = ['saves', 'people', 'videos', 'searches', 'cost'] as const
type ChartName = (typeof CHARTS)[number]

interface Chart {
  title: string
  of: (days: Days) => FigureRow[]
  columns: Column[]
  /** What stands before its figures. */
  prefix?: string
}

const CHART: Record<ChartName, Chart> = {
  saves: {
    title: 'Saves and pins',
    of: ({ saves }) => saves,
    columns: [
      { name: 'Saves', column: 'saves' },
      { name: 'Pins', column: 'pins' },
      { name: 'Unsaves', column: 'unsaves' },
      { name: 'Unpins', column: 'unpins' },
    ],
  },
  people: {
    title: 'Active accounts and new boards',
    of: ({ activity }) => activity,
    columns: [
      { name: 'Active accounts', column: 'active_accounts' },
      { name: 'Boards made', column: 'boards_created' },
    ],
  },
  videos: {
    title: 'Videos',
    of: ({ videos }) => videos,
    columns: [
      { name: 'Queued', column: 'queued' },
      { name: 'Ready', column: 'ready' },
      { name: 'Failed', column: 'failed' },
    ],
  },
  searches: {
    title: 'Searches',
    of: ({ searches }) => searches,
    columns: [
      { name: 'Searches', column: 'searches' },
      { name: 'Without a result', column: 'unanswered' },
      { name: 'With a weak result', column: 'weak' },
    ],
  },
  cost: {
    title: 'Cost of the model',
    of: ({ model }) => model,
    columns: [{ name: 'Cost', column: 'cost_usd', format: dollars }],
    prefix: '$',
  },
}

const most = (rows: readonly FigureRow[], column: string): number =>
  Math.max(0, ...rows.map((row) => Number(row[column])))

/** Each tile shows its days in the chart below. */
function totals(figures: AnalyticsFigures): Html {
  const { from, to, before, chart } = figures
  const tiles = TOTALS.map(([name, of, value, isMoney]) => {
    const now = value(figures)
    const shown = isMoney ? dollars(now) : thousands(now)
    const here = of === chart && trusted(' aria-current="true"')
    return html`<div><dt><a href="/operator/analytics?from=${from}&to=${to}&chart=${of}#chart"${here}>${name}</a></dt>
<dd>${shown} <span class="hint">${change(now, value(before))}</span></dd></div>`
  })
  return html`<div id="totals"><dl class="totals">${tiles}</dl>
<p class="hint">The change is that against as many days before. A name shows its days below.</p></div>`
}

function chartSection(figures: AnalyticsFigures): Html {
  const { title, of, columns, prefix = '' } = CHART[figures.chart]
  return html`<section id="chart"><h2>${title} by day</h2>
${dayFigure({ title: `${title} by day`, rows: of(figures), columns, zoom: prefix })}</section>`
}

/** In words of a tile: `+12 %`. Nothing to compare with is no change. */
function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? '' : 'new'
  const percent = Math.round((100 * (now - before)) / before)
  if (percent === 0) return '±0 %'
  return `${percent > 0 ? '+' : '−'}${thousands(Math.abs(percent))} %`
}

/** From the first day with data on, and a week at least: days before a library began say nothing. */
function fromFirst(rows: FigureRow[], columns: readonly Column[]): FigureRow[] {
  const first = rows.findIndex((row) => columns.some(({ column }) => Number(row[column] ?? 0) > 0))
  return first < 0 ? rows : rows.slice(Math.max(0, Math.min(first, rows.length - 7)))
}

interface Column {
  name: string
  column: string
  format?: (value: number) => string
}

/** A chart of days above its table. `zoom`: the prefix of its figures. A script makes it zoomable. */
function dayFigure({
  title,
  rows: all,
  columns,
  zoom,
}: {
  title: string
  rows: FigureRow[]
  columns: Column[]
  zoom: string
}): Html {
  const rows = fromFirst(all, columns)
  const days = daysOf(rows)
  const lines = columns.map(({ name, column }) => ({ label: name, values: valuesOf(rows, column) }))
  const { format } = columns[0]!
  const label = `${title}, ${days[0]} to ${days.at(-1)}`
  const cell = (row: FigureRow, { column, format: show = String }: Column) =>
    html`<td data-value="${row[column] ?? ''}">${row[column] === null ? '' : show(Number(row[column]))}</td>`
  return html`<figure data-zoom="${zoom}">${legend(columns.map(({ name }) => name))}
${lineChart({ title: label, days, lines, ...(format ? { format } : {}) })}
<details><summary>Table: ${title.toLowerCase()}</summary><div class="scroll" tabindex="0" role="region"
aria-label="${title}"><table><thead><tr><th scope="col">Day</th>${columns.map(
    ({ name }) => html`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) => html`<tr><th scope="row">${row.key}</th>${columns.map((column) => cell(row, column))}</tr>`,
  )}</tbody></table></div></details></figure>`
}

function topFrames({ top, frames }: AnalyticsFigures): Html {
  if (top.frame.length === 0)
    return html`<section><h2>Top frames</h2><p class="empty">Nobody saved or pinned a frame then.</p></section>`
  const cards = top.frame.map(({ key, saves, pins }, n) => {
    const frame = frames.get(key ?? '')
    const told = `${counted(Number(saves), 'save')}, ${counted(Number(pins), 'pin')}`
    const figures = html`<span class="figures">${told}</span>`
    if (!frame) return html`<li><span class="gone">No longer in the library</span>${figures}</li>`
    return html`<li><a href="/frames/${frame.id}">${thumb(frame, { n: n + 6, alt: altOf(frame) })}
<span class="credit"><span>${frame.author ?? frame.video.title}</span><span>${clock(frame.t_sec)}</span></span></a>
${figures}</li>`
  })
  return html`<section><h2>Top frames</h2><ol class="top-frames">${cards}</ol></section>`
}

const brandLink = (key: string): Html => html`<a href="/?author=${encodeURIComponent(key)}">${key}</a>`
const subjectLink = (key: string): Html => html`<a href="/?subject=${encodeURIComponent(key)}">${valueLabel(key)}</a>`
const techniqueLink = (key: string): Html =>
  html`<a href="/?technique=${encodeURIComponent(key)}">${valueLabel(key)}</a>`

function topTable(title: string, heading: string, rows: readonly FigureRow[], link: (key: string) => Html): Html {
  const greatest = Math.max(0, ...rows.map(({ saves, pins }) => Number(saves) + Number(pins)))
  return html`<section><h2>${title}</h2>${
    rows.length === 0
      ? html`<p class="empty">Nothing was saved or pinned in these days.</p>`
      : html`<div class="scroll"><table><thead><tr><th scope="col">${heading}</th><th scope="col">Saves</th>
<th scope="col">Pins</th><td></td></tr></thead><tbody>${rows.map(
          ({
            key,
            saves,
            pins,
          }) => html`<tr><th scope="row">${key === null ? html`<span class="hint">none named</span>` : link(key)}</th>
<td>${saves}</td><td>${pins}</td><td>${bar(Number(saves) + Number(pins), greatest)}</td></tr>`,
        )}</tbody></table></div>`
  }</section>`
}

function countTable(
  heading: string,
  unit: string,
  rows: readonly { name: Html | string | null; value: number; shown?: string }[],
): Html {
  const greatest = Math.max(0, ...rows.map(({ value }) => value))
  return html`<div class="scroll"><table><thead><tr><th scope="col">${heading}</th><th scope="col">${unit}</th>
<td></td></tr></thead><tbody>${rows.map(
    ({ name, value, shown }) =>
      html`<tr><th scope="row">${name}</th><td>${shown ?? value}</td><td>${bar(value, greatest)}</td></tr>`,
  )}</tbody></table></div>`
}

const STAGES = ['fetching', 'extracting', 'annotating']

function videosSection({ failures, stages }: AnalyticsFigures): Html {
  const inOrder = stages.toSorted((a, b) => STAGES.indexOf(a.key ?? '') - STAGES.indexOf(b.key ?? ''))
  return html`<section><h2>Videos</h2>
<div class="columns"><section><h3>Time per stage</h3>${
    stages.length === 0
      ? html`<p class="empty">No video ended in these days.</p>`
      : countTable(
          'Stage',
          'Mean',
          inOrder.map(({ key, seconds_mean }) => ({
            name: valueLabel(key ?? ''),
            value: Number(seconds_mean),
            shown: span(Number(seconds_mean)),
          })),
        )
  }</section>
<section><h3>Failures</h3>${
    failures.length === 0
      ? html`<p class="empty">No video failed in these days.</p>`
      : countTable(
          'Reason',
          'Videos',
          failures.map(({ key, failed }) => ({ name: valueLabel(key ?? ''), value: Number(failed) })),
        )
  }<p class="hint"><a href="/operator?show=failed">Failed videos</a></p></section></div></section>`
}

function modelSection({ models }: AnalyticsFigures): Html {
  return html`<section><h2>Cost of the model</h2>${
    models.length === 0
      ? html`<p class="empty">No model was called in these days.</p>`
      : html`${countTable(
          'Model',
          'Cost',
          models.map(({ key, cost_usd, calls }) => ({
            name: html`${key} <span class="hint">${counted(Number(calls), 'call')}</span>`,
            value: Number(cost_usd ?? 0),
            shown: cost_usd === null ? 'no price' : dollars(Number(cost_usd)),
          })),
        )}`
  }</section>`
}
