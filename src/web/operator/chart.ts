import { type Html, html } from '../html.ts'

/*
 * Charts as SVG, made on the server: they need no script, print well and take their colours from the style sheet. Each
 * is beside a table with the same figures, and its words are in the page: a picture that shrinks would shrink them too.
 */

interface Day {
  day: string
  /** Null: no figure, no bar. */
  value: number | null
  /** The value in words of the page. */
  shown: string
}

/** Bars of the days, as high as their share of the greatest. `title`: what a reader hears. */
export function dayBars(title: string, days: readonly Day[]): Html {
  const greatest = Math.max(...days.map(({ value }) => value ?? 0))
  const bars = days.map(({ day, value, shown }, at) => {
    if (!value) return ''
    const height = Math.max(2, (value / greatest) * 100)
    return html`<rect x="${at + 0.1}" y="${fixed(100 - height)}" width="0.8" height="${fixed(height)}"
><title>${day}: ${shown}</title></rect>`
  })
  return html`<svg class="day-bars" viewBox="0 0 ${Math.max(1, days.length)} 100" preserveAspectRatio="none"
 role="img" aria-label="${title}">${bars}</svg>`
}

/** A bar as wide as its share of the greatest. */
export function bar(value: number, greatest: number): Html {
  const width = greatest > 0 ? Math.max(1, (value / greatest) * 120) : 0
  const rect = html`<rect width="${fixed(width)}" height="10" rx="2"/>`
  return html`<svg class="share" width="120" height="10" aria-hidden="true">${rect}</svg>`
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10)
