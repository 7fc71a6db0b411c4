import { type Html, html, trusted } from '../html.ts'

/*
 * Charts as SVG, made on the server: they need no script, print well and take their colours from the style sheet. Each
 * is above a table with the same figures.
 */

export interface Line {
  label: string
  /** One for each day; null where there is none. */
  values: readonly (number | null)[]
}

const WIDTH = 720
const HEIGHT = 220
const LEFT = 52
const RIGHT = 10
const TOP = 12
const BOTTOM = 26

/** Lines over days, with round numbers at the side and at most seven days below. `title`: what a reader hears. */
export function lineChart({
  title,
  days,
  lines,
  format = String,
}: {
  title: string
  /** `2026-11-22` */
  days: readonly string[]
  lines: readonly Line[]
  format?: (value: number) => string
}): Html {
  const top = roundUp(
    Math.max(format === String ? 4 : 0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))),
  )
  const x = (at: number) => LEFT + (days.length < 2 ? 0 : (at * (WIDTH - LEFT - RIGHT)) / (days.length - 1))
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM)
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top)
  const every = Math.max(1, Math.ceil(days.length / 7))
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
${marks.map(
  (
    value,
  ) => html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${fixed(y(value))}" y2="${fixed(y(value))}"/>
<text class="end" x="${LEFT - 8}" y="${fixed(y(value) + 4)}">${format(value)}</text>`,
)}
${days.map(
  (day, at) =>
    at % every === 0 && html`<text class="middle" x="${fixed(x(at))}" y="${HEIGHT - 6}">${shortDay(day)}</text>`,
)}
${lines.map(({ values }, n) => html`<path class="line ${seriesClass(n)}" d="${pathOf(values, x, y)}"/>`)}
</svg>`
}

/** The names of a chart's lines, each beside its colour. */
export function legend(labels: readonly string[]): Html {
  return html`<ul class="legend">${labels.map(
    (label, n) =>
      html`<li><svg width="18" height="10" aria-hidden="true"><path class="line ${seriesClass(n)}" d="M1 5h16"/></svg
>${label}</li>`,
  )}</ul>`
}

/** A bar as wide as its share of the greatest. */
export function bar(value: number, greatest: number): Html {
  const width = greatest > 0 ? Math.max(1, (value / greatest) * 120) : 0
  const rect = html`<rect width="${fixed(width)}" height="10" rx="2"/>`
  return html`<svg class="share" width="120" height="10" aria-hidden="true">${rect}</svg>`
}

const seriesClass = (n: number): Html => trusted(`s${n + 1}`)

/** A new part begins after each gap. A day alone is a dot: a line to itself with round ends. */
function pathOf(values: Line['values'], x: (at: number) => number, y: (value: number) => number): string {
  let path = ''
  let isDrawing = false
  for (const [at, value] of values.entries()) {
    if (value === null) {
      isDrawing = false
      continue
    }
    path += `${isDrawing ? 'L' : 'M'}${fixed(x(at))} ${fixed(y(value))}`
    if (!isDrawing) path += 'h0'
    isDrawing = true
  }
  return path
}

/** The next number of which a quarter is short too. From 4 on a quarter is a whole number. */
export function roundUp(value: number): number {
  if (value <= 0) return 4
  const power = 10 ** Math.floor(Math.log10(value))
  const steps = power === 1 ? [1, 2, 4, 8, 12] : [...(power === 10 ? [] : [1]), 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10]
  return steps.map((step) => step * power).find((step) => step >= value * 0.999_999)!
}

function shortDay(day: string): string {
  const [, month, date] = day.split('-')
  return `${MONTHS[Number(month) - 1]} ${Number(date)}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const fixed = (value: number): string => String(Math.round(value * 10) / 10)
