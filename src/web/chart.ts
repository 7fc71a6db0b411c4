import { type Html, html } from './html.ts'

/*
 * Charts as SVG, made on the server: they need no script and are ink on paper. Their words are in the page: a picture
 * that shrinks would shrink them too.
 */

/** The size of all drawings, which stretch with the page. */
export const WIDE = 1000
const HIGH = 100
const WIDEST_BAR = 40

export const fixed = (value: number): string => String(Math.round(value * 100) / 100)

interface Plot {
  label: string
  unit: string | Html
  /** The value at the top of the axis, in words of the page. At its foot is zero. */
  top: string
  /** What the other axis begins and ends with. */
  ends: readonly [string, string]
  /** What a reader hears. */
  told: string
}

/** A drawing with both its axes. */
export function plot({ label, unit, top, ends, told }: Plot, drawn: Html | readonly Html[]): Html {
  return html`<figure class="plot"><figcaption>${label} <span class="hint">${unit}</span></figcaption>
<p class="axis" aria-hidden="true"><span>${top}</span><span>0</span></p>
<svg viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none" role="img" aria-label="${told}">${drawn}</svg>
<p class="axis" aria-hidden="true"><span>${ends[0]}</span><span>${ends[1]}</span></p></figure>`
}

/** The values as an area below a line. */
export function area(values: readonly number[], top: number): Html {
  const points = values.map((value, n) => {
    const [x, y] = [((n + 0.5) * WIDE) / values.length, HIGH - (value / (top || 1)) * HIGH]
    return `${fixed(x)} ${fixed(y)}`
  })
  const [first, last] = [points[0]!.split(' ')[1]!, points.at(-1)!.split(' ')[1]!]
  return html`<path d="M0 ${HIGH}V${first}L${points.join('L')}L${WIDE} ${last}V${HIGH}Z"/>`
}

interface Day {
  day: string
  /** Null: no figure, no bar. */
  value: number | null
  /** The value in words of the page. */
  shown: string
}

/** Bars of the days, as high as their share of the greatest. */
export function dayBars(days: readonly Day[]): Html[] {
  const greatest = Math.max(...days.map(({ value }) => value ?? 0))
  const wide = WIDE / days.length
  return days.flatMap(({ day, value, shown }, at) => {
    if (!value) return []
    const [bar, height] = [Math.min(0.8 * wide, WIDEST_BAR), Math.max(2, (value / greatest) * HIGH)]
    return html`<rect x="${fixed((at + 0.5) * wide - bar / 2)}" y="${fixed(HIGH - height)}" width="${fixed(bar)}"
height="${fixed(height)}"><title>${day}: ${shown}</title></rect>`
  })
}

export interface Bar {
  label: Html
  /** The value in words. */
  told: string | Html
  value: number
}

/** A list with a bar for each value, as wide as its share of the greatest, or of `whole`. */
export function bars(all: readonly Bar[], whole = Math.max(...all.map(({ value }) => value))): Html {
  return html`<ul class="bars">${all.map(
    ({ label, told, value }) => html`<li>${label} <span class="hint">${told}</span>
<svg viewBox="0 0 ${WIDE} 4" preserveAspectRatio="none" aria-hidden="true"><rect
width="${fixed(Math.max(WIDE / 100, (value / (whole || 1)) * WIDE))}" height="4"/></svg></li>`,
  )}</ul>`
}
