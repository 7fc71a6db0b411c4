import { span } from '../../clean-text.ts'
import type { FigureRow } from '../../library/analytics/figures.ts'
import type { ShownFrame } from '../../search/library-search.ts'
import { type Bar, bars, dayBars, plot } from '../chart.ts'
import { menu } from '../collections/parts.ts'
import { altOf, tile } from '../frame-card.ts'
import { capitalized, counted, dayText, type Html, html, table, thousands, trusted, valueLabel } from '../html.ts'
import { ago, dollars, operatorHead } from './parts.ts'

/** Figures by day. */
export type Days = Record<'saves' | 'activity' | 'videos' | 'searches', FigureRow[]>

export interface AnalyticsFigures extends Days, Record<'failures' | 'stages' | 'models' | 'terms', FigureRow[]> {
  from: string
  to: string
  /** The one that is shown by day. */
  chart: ChartName
  /** As many days before. */
  before: Days
  countedThrough: string | null
  top: Record<'frame' | 'brand' | 'technique' | 'subject', FigureRow[]>
  /** The names of techniques by their slugs. */
  techniques: ReadonlyMap<string, string>
  /** Of the top frames, those that are still in the library. */
  frames: ReadonlyMap<string, ShownFrame>
}

const DAY_MS = 86_400_000
const RANGES = [7, 30, 90, 365]

/** The whole page. It has no script. */
export function analyticsView(figures: AnalyticsFigures): Html {
  const { countedThrough, top, terms, failures, stages, models, techniques } = figures
  const techniqueOf = (slug: string) => capitalized(techniques.get(slug) ?? valueLabel(slug))
  const nothing = 'Nothing was saved or pinned in these days.'
  const inOrder = stages.toSorted((a, b) => STAGES.indexOf(a.key ?? '') - STAGES.indexOf(b.key ?? ''))
  return html`${operatorHead('analytics', 'Analytics', rangeMenu(figures))}
<div id="analytics">
<p>${periodOf(figures)}: ${answer(figures)}</p>
${totals(figures)}
${chartSection(figures)}
<div class="columns">
${panel('Searches without a good result', terms.map(termBar), 'No search ended without a good result.')}
${panel('Videos that failed', failures.map(failureBar), 'No video failed in these days.')}
</div>
${topFrames(figures)}
<div class="columns">
${panel('Brands', top.brand.map(usesBar('author', (key) => key)), nothing)}
${panel('Techniques', top.technique.map(usesBar('technique', techniqueOf)), nothing)}
${panel('Subjects', top.subject.map(usesBar('subject', valueLabel)), nothing)}
${panel('How long a video takes', inOrder.map(stageBar), 'No video ended in these days.')}
${panel('Cost of the model', models.map(modelBar), 'No model was called in these days.')}
</div>
<p class="hint">Days are in UTC. “People” counts the busiest day, “before” as many days before these. ${
    countedThrough === null
      ? 'Nothing is counted yet.'
      : html`The last event that is counted was ${ago(countedThrough)}.`
  }</p>
</div>`
}

const STAGES = ['fetching', 'extracting', 'annotating']

function panel(heading: string, rows: readonly Bar[], none: string): Html {
  const body = rows.length === 0 ? html`<p class="hint">${none}</p>` : bars(rows)
  return html`<section><h2>${heading}</h2>${body}</section>`
}

/** To the frames of the wall with a value. */
const usesBar =
  (filter: string, nameOf: (key: string) => string) =>
  ({ key, saves, pins }: FigureRow): Bar => ({
    label:
      key === null
        ? html`<span class="hint">none named</span>`
        : html`<a href="/?${filter}=${encodeURIComponent(key)}">${nameOf(key)}</a>`,
    told: usesText(saves, pins),
    value: Number(saves) + Number(pins),
  })

function usesText(saves: unknown, pins: unknown): string {
  const [saved, pinned] = [Number(saves), Number(pins)]
  return [saved > 0 && counted(saved, 'save'), pinned > 0 && counted(pinned, 'pin')].filter(Boolean).join(', ')
}

/** Words that may tell of a person are not kept. */
function termBar({ key, unanswered, weak }: FigureRow): Bar {
  const label =
    key === null
      ? html`<span class="hint">words that are not kept</span>`
      : html`<a href="/?q=${encodeURIComponent(key)}">${key}</a>`
  const found = [Number(unanswered) > 0 && `nothing ${unanswered}×`, Number(weak) > 0 && `little ${weak}×`]
  return { label, told: `found ${found.filter(Boolean).join(', ')}`, value: Number(unanswered) + Number(weak) }
}

const stageBar = ({ key, seconds_mean: mean }: FigureRow): Bar => {
  return { label: html`${valueLabel(key ?? '')}`, told: span(Number(mean)), value: Number(mean) }
}

const failureBar = ({ key, failed }: FigureRow): Bar => ({
  label: html`<a href="/operator?show=failed">${valueLabel(key ?? '')}</a>`,
  told: counted(Number(failed), 'video'),
  value: Number(failed),
})

const modelBar = ({ key, cost_usd, calls }: FigureRow): Bar => ({
  label: html`${key}`,
  told: `${counted(Number(calls), 'call')}, ${cost_usd === null ? 'no price' : dollars(Number(cost_usd))}`,
  value: Number(cost_usd ?? 0),
})

/** What happened, in a few sentences. */
function answer(figures: AnalyticsFigures): string {
  const of = (column: string, group: keyof Days) => totalOf({ of: group, column }, figures)
  const [saves, pins, failed] = [of('saves', 'saves'), of('pins', 'saves'), of('failed', 'videos')]
  const kept = saves + pins > 0 ? `${counted(saves, 'save')} and ${counted(pins, 'pin')}` : 'nobody saved or pinned'
  const looked = searched(of('searches', 'searches'), of('unanswered', 'searches') + of('weak', 'searches'))
  return `${kept}. ${looked}.${failed > 0 ? ` ${counted(failed, 'video')} failed.` : ''}`
}

/** `poor`: searches without a good result. Some days have these alone: not all their searches were counted. */
function searched(searches: number, poor: number): string {
  if (searches === 0 && poor === 0) return 'Nobody searched'
  const all = counted(Math.max(searches, poor), 'search', 'searches')
  if (poor === 0) return `${all} had a good result`
  return `${searches < poor ? all : `${thousands(poor)} of ${all}`} had no good result`
}

const daysFrom = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
const today = () => new Date().toISOString().slice(0, 10)

function periodOf({ from, to }: AnalyticsFigures): string {
  return to === today() ? `The last ${counted(daysFrom(from, to), 'day')}` : `${dayText(from)} to ${dayText(to)}`
}

function rangeMenu(figures: AnalyticsFigures): Html {
  const { from, to } = figures
  const ranges = RANGES.map((length) => {
    const start = new Date(Date.parse(today()) - (length - 1) * DAY_MS).toISOString().slice(0, 10)
    const here = to === today() && start === from && trusted(' aria-current="page"')
    return html`<li><a class="choice" href="/operator/analytics?from=${start}"${here}>${
      length === 365 ? 'Year' : `${length} days`
    }</a></li>`
  })
  return menu(
    periodOf(figures),
    html`<ul class="row tight">${ranges}</ul>
<form class="row wall-form" action="/operator/analytics"><label>From <input type="date" name="from" value="${from}"
required></label> <label>To <input type="date" name="to" value="${to}" required></label> <button>Show</button></form>`,
  )
}

interface Series {
  of: keyof Days
  column: string
  /** Of several days: the most of one, not the sum. */
  isMost?: true
}

/** The figures by day. Each is a number, which shows its days in the chart. */
const SERIES = {
  saves: { label: 'Saves', of: 'saves', column: 'saves' },
  searches: { label: 'Searches', of: 'searches', column: 'searches' },
  people: { label: 'People', of: 'activity', column: 'active_accounts', isMost: true },
  videos: { label: 'Videos', of: 'videos', column: 'ready' },
} as const satisfies Record<string, Series & { label: string }>
export type ChartName = keyof typeof SERIES
export const CHARTS = Object.keys(SERIES) as [ChartName, ...ChartName[]]

function totalOf({ of, column, isMost }: Series, days: Days): number {
  const values = days[of].map((row) => Number(row[column] ?? 0))
  return isMost ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
}

function totals(figures: AnalyticsFigures): Html {
  const { from, to, before, chart } = figures
  const tiles = CHARTS.map((name) => {
    const series: Series = SERIES[name]
    const [now, then] = [totalOf(series, figures), totalOf(series, before)]
    const here = name === chart && trusted(' aria-current="true"')
    return html`<div><dt><a href="/operator/analytics?from=${from}&to=${to}&chart=${name}#chart"${here}>${
      SERIES[name].label
    }</a></dt>
<dd>${thousands(now)} <span class="hint">${change(now, then)}${thousands(then)} before</span></dd></div>`
  })
  return html`<dl class="totals">${tiles}</dl>`
}

/** In words of a number: `+12 %, `. Nothing to compare with is no change. */
function change(now: number, before: number): string {
  if (before === 0 || now === before) return ''
  const percent = Math.round((100 * (now - before)) / before)
  return `${percent > 0 ? '+' : '−'}${thousands(Math.abs(percent))}\u00a0%, `
}

/** The fewest days of a chart, where the range has them. */
const LEAST_DAYS = 7

/** The days of the range, from the first with a figure on, as bars and as rows of a table. */
function chartSection(figures: AnalyticsFigures): Html {
  const { label, of, column } = SERIES[figures.chart]
  const all = figures[of].map(({ key, [column]: figure }) => {
    const value = figure == null ? null : Number(figure)
    return { day: key === null ? '' : dayText(key), value, shown: value === null ? '' : thousands(value) }
  })
  const first = all.findIndex(({ value }) => value)
  if (first < 0)
    return html`<section id="chart"><p class="empty">${label}: ${
      all.some(({ value }) => value === null) ? 'not counted' : 'nothing'
    } in these days.</p></section>`
  const days = all.slice(Math.max(0, Math.min(first, all.length - LEAST_DAYS)))
  const top = thousands(Math.max(...days.map(({ value }) => value ?? 0)))
  const title = `${label} by day`
  const ends = [days[0]!.day, days.at(-1)!.day] as const
  const given = { label: title, unit: '', top, ends, told: `${title}, ${ends.join(' to ')}` } as const
  const rows = days.map(({ day, shown }) => html`<tr><th scope="row">${day}</th><td>${shown}</td></tr>`)
  return html`<section id="chart">${plot(given, dayBars(days))}
<details><summary>The days as a table</summary>${table(['Day', label], rows, title)}</details></section>`
}

function topFrames({ top, frames }: AnalyticsFigures): Html {
  const cards = top.frame.map(({ key, saves, pins }, n) => {
    const frame = frames.get(key ?? '')
    const hint = usesText(saves, pins)
    if (!frame)
      return html`<li><span class="still"></span><span class="label">No longer here</span>
<span class="hint">${hint}</span></li>`
    const card = { href: `/frames/${frame.id}`, label: frame.author ?? frame.video.title, cover: frame }
    return html`<li>${tile({ ...card, alt: altOf(frame), hint, n: n + 6 })}</li>`
  })
  const isRanked = new Set(top.frame.map(({ saves, pins }) => Number(saves) + Number(pins))).size > 1
  return html`<section><h2>${isRanked ? 'Top frames' : 'Frames in use'}</h2>${
    cards.length === 0
      ? html`<p class="hint">Nobody saved or pinned a frame then.</p>`
      : html`<ol class="tiles">${cards}</ol>`
  }</section>`
}
