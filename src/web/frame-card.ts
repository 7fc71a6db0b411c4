import type { ShownFrame } from '../search/library-search.ts'
import { type Html, html, trusted } from './html.ts'

/** What the wall and a frame's page share. */

/** Pictures of the first rows, which load at once. The browser loads the others when they come near. */
export const EAGER = 8

/** A frame on a wall; `n` counts from the top of the page. */
export function frameCard(frame: ShownFrame, n: number): Html {
  return html`<li><a href="/frames/${frame.id}">
${picture(frame, { lazy: n >= EAGER, alt: altOf(frame) })}
<span class="credit">${frame.author ?? frame.video.title}<span>${clock(frame.t_sec)}</span></span>
</a></li>`
}

export function picture(frame: ShownFrame, { lazy, alt }: { lazy: boolean; alt: string }): Html {
  const loading = lazy && trusted(' loading="lazy"')
  const size = html`width="${frame.width}" height="${frame.height}"`
  return html`<img src="${frame.thumb_path}" alt="${alt}" ${size} decoding="async"${loading}>`
}

export function altOf(frame: ShownFrame): string {
  return frame.caption ?? `${frame.video.title}, ${clock(frame.t_sec)}`
}

export function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

export function swatch(color: string, width: number, height: number): Html {
  const size = html`width="${width}" height="${height}"`
  return html`<svg ${size} role="img" aria-label="${color}"><rect ${size} rx="5" fill="${color}"/></svg>`
}
