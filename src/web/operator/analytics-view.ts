import type { FigureRow } from '../../library/analytics/figures.ts'
import type { ShownFrame } from '../../search/library-search.ts'
import { altOf, thumb } from '../frame-card.ts'
import { clock, counted, type Html, html, thousands, trusted, valueLabel } from '../html.ts'
import { bar, dayBars } from './chart.ts'
import { ago, dollars, operatorHead, span } from './parts.ts'

/** Figures by day. */
export type Days = Record<'saves' | 'activity' | 'videos' | 'model' | 'searches', FigureRow[]>

export interface AnalyticsFigures extends Days, Record<'failures' | 'stages' | 'models' | 'terms', FigureRow[]> {
  from: string
  to: string
  /** The one that is shown. */
  chart: ChartName
  /** As many days before. */
  before: Days
  countedThrough: string | null
  top: Record<'frame' | 'brand' | 'technique' | 'subject', FigureRow[]>
  /** Of the top frames, those that are still in the library. */
  frames: ReadonlyMap<string, ShownFrame>
}

const DAY_MS = 86_400_000
const RANGES = [7, 30, 90, 365]

/** The whole page. It has no script. */
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
${topTable('Brand', figures.top.brand, 'author')}
${topTable('Technique', figures.top.technique, 'technique')}
${topTable('Subject', figures.top.subject, 'subject')}
<section><h2>Searches without a good result</h2>
${barTable(['Search', 'Searches'], terms.map(termBar), 'Every search found a frame with all of its words.')}
<p class="hint">Weak: the best frame lacks a word. Only searches that reach the engine.
 Words that may tell of a person are not kept.</p></section>
</div>
${videosSection(figures)}
${modelSection(figures)}
</div>`
}

function termBar({ key, unanswered, weak }: FigureRow): Bar {
  const name =
    key === null
      ? html`<span class="hint">words that are not kept</span>`
      : html`<a href="/?q=${encodeURIComponent(key)}">${key}</a>`
  return { cells: [name, `${unanswered} empty, ${weak} weak`], value: Number(unanswered) + Number(weak) }
}

const sum = (rows: readonly FigureRow[], column: string): number =>
  rows.reduce((total, row) => total + Number(row[column] ?? 0), 0)

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

type Column = readonly [name: string, column: string]

interface Chart {
  title: string
  rowsOf: (days: Days) => FigureRow[]
  columns: readonly Column[]
  /** Dollars. */
  isMoney?: true
}

const CHART: Record<ChartName, Chart> = {
  saves: {
    title: 'Saves and pins',
    rowsOf: ({ saves }) => saves,
    columns: [
      ['Saves', 'saves'],
      ['Pins', 'pins'],
      ['Unsaves', 'unsaves'],
      ['Unpins', 'unpins'],
    ],
  },
  people: {
    title: 'Active accounts and new boards',
    rowsOf: ({ activity }) => activity,
    columns: [
      ['Active accounts', 'active_accounts'],
      ['Boards made', 'boards_created'],
    ],
  },
  videos: {
    title: 'Videos',
    rowsOf: ({ videos }) => videos,
    columns: [
      ['Queued', 'queued'],
      ['Ready', 'ready'],
      ['Failed', 'failed'],
    ],
  },
  searches: {
    title: 'Searches',
    rowsOf: ({ searches }) => searches,
    columns: [
      ['Searches', 'searches'],
      ['Without a result', 'unanswered'],
      ['With a weak result', 'weak'],
    ],
  },
  cost: { title: 'Cost of the model', rowsOf: ({ model }) => model, columns: [['Cost', 'cost_usd']], isMoney: true },
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

/** In words of a tile: `+12 %`. Nothing to compare with is no change. */
function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? '' : 'new'
  const percent = Math.round((100 * (now - before)) / before)
  if (percent === 0) return '±0 %'
  return `${percent > 0 ? '+' : '−'}${thousands(Math.abs(percent))} %`
}

/** From the first day with data on, and a week at least: days before a library began say nothing. */
function fromFirst(rows: FigureRow[], columns: readonly Column[]): FigureRow[] {
  const first = rows.findIndex((row) => columns.some(([, column]) => Number(row[column] ?? 0) > 0))
  return first < 0 ? rows : rows.slice(Math.max(0, Math.min(first, rows.length - 7)))
}

/** Bars of each figure, beside a table with the same figures. */
function chartSection(figures: AnalyticsFigures): Html {
  const { title: name, rowsOf, columns, isMoney } = CHART[figures.chart]
  const title = `${name} by day`
  const rows = fromFirst(rowsOf(figures), columns)
  const [first, last] = [rows[0]?.key ?? '', rows.at(-1)?.key ?? '']
  const show = isMoney ? dollars : thousands
  const charts = columns.map(([label, column]) => {
    const days = rows.map(({ key, [column]: figure }) => {
      const value = figure == null ? null : Number(figure)
      return { day: key ?? '', value, shown: value === null ? '' : show(value) }
    })
    return html`<figure><figcaption>${label} <span class="hint">at most ${show(most(rows, column))} a day</span>
</figcaption>${dayBars(`${label} by day, ${first} to ${last}`, days)}</figure>`
  })
  const cell = (row: FigureRow, [, column]: Column) =>
    html`<td>${row[column] === null ? '' : show(Number(row[column]))}</td>`
  return html`<section id="chart"><h2>${title}</h2>
<div class="by-day"><div>${charts}<p class="hint ends"><span>${first}</span><span>${last}</span></p></div>
<div class="scroll" tabindex="0" role="region" aria-label="Table: ${title.toLowerCase()}"><table><thead><tr>
<th scope="col">Day</th>${columns.map(([one]) => html`<th scope="col">${one}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr><th scope="row">${row.key}</th>${columns.map((column) => cell(row, column))}</tr>`,
  )}</tbody></table></div></div></section>`
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

/** To the frames of the wall with a value. */
const wallLink = (filter: string, key: string): Html =>
  html`<a href="/?${filter}=${encodeURIComponent(key)}">${filter === 'author' ? key : valueLabel(key)}</a>`

function topTable(heading: string, rows: readonly FigureRow[], filter: string): Html {
  const bars = rows.map(({ key, saves, pins }) => ({
    cells: [key === null ? html`<span class="hint">none named</span>` : wallLink(filter, key), saves, pins],
    value: Number(saves) + Number(pins),
  }))
  const none = 'Nothing was saved or pinned in these days.'
  return html`<section><h2>${heading}s</h2>${barTable([heading, 'Saves', 'Pins'], bars, none)}</section>`
}

interface Bar {
  /** The name of the row, then its figures. */
  cells: readonly (Html | string | number | null | undefined)[]
  value: number
}

/** A table with a bar in each row, or why it has none. */
function barTable(headings: readonly string[], bars: readonly Bar[], none: string): Html {
  if (bars.length === 0) return html`<p class="empty">${none}</p>`
  const greatest = Math.max(0, ...bars.map(({ value }) => value))
  const rows = bars.map(
    ({ cells: [name, ...figures], value }) =>
      html`<tr><th scope="row">${name}</th>${figures.map(
        (one) => html`<td>${one}</td>`,
      )}<td>${bar(value, greatest)}</td></tr>`,
  )
  return html`<div class="scroll"><table><thead><tr>${headings.map((one) => html`<th scope="col">${one}</th>`)}
<td></td></tr></thead><tbody>${rows}</tbody></table></div>`
}

const STAGES = ['fetching', 'extracting', 'annotating']

function videosSection({ failures, stages }: AnalyticsFigures): Html {
  const inOrder = stages.toSorted((a, b) => STAGES.indexOf(a.key ?? '') - STAGES.indexOf(b.key ?? ''))
  const times = inOrder.map(({ key, seconds_mean }) => ({
    cells: [valueLabel(key ?? ''), span(Number(seconds_mean))],
    value: Number(seconds_mean),
  }))
  const reasons = failures.map(({ key, failed }) => ({
    cells: [valueLabel(key ?? ''), failed],
    value: Number(failed),
  }))
  return html`<section><h2>Videos</h2>
<div class="columns"><section><h3>Time per stage</h3>
${barTable(['Stage', 'Mean'], times, 'No video ended in these days.')}</section>
<section><h3>Failures</h3>${barTable(['Reason', 'Videos'], reasons, 'No video failed in these days.')}
<p class="hint"><a href="/operator?show=failed">Failed videos</a></p></section></div></section>`
}

function modelSection({ models }: AnalyticsFigures): Html {
  const bars = models.map(({ key, cost_usd, calls }) => ({
    cells: [
      html`${key} <span class="hint">${counted(Number(calls), 'call')}</span>`,
      cost_usd === null ? 'no price' : dollars(Number(cost_usd)),
    ],
    value: Number(cost_usd ?? 0),
  }))
  return html`<section><h2>Cost of the model</h2>
${barTable(['Model', 'Cost'], bars, 'No model was called in these days.')}</section>`
}
