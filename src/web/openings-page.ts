import type { Opening } from '../views/film-list.ts'
import type { Platform } from '../vocabulary.ts'
import { frameCard } from './frame-card.ts'
import { type Html, html, nextPage, trusted } from './html.ts'

/** `/openings`: how films open, or end, side by side. */
export function openingsPage(given: {
  part: 'opening' | 'ending'
  author: string | undefined
  platform: Platform | undefined
  openings: readonly Opening[]
  next: string | null
}): Html {
  const { part, author, platform, openings, next } = given
  const address = (query: { part: typeof part; after?: string }) => {
    const chosen = { author, platform, ...query }
    const known = Object.entries(chosen).filter((one): one is [string, string] => one[1] !== undefined)
    return `/openings?${new URLSearchParams(known)}`
  }
  const tab = (one: typeof part, label: string) => {
    const here = one === part && trusted(' aria-current="page"')
    return html`<li><a class="choice" href="${address({ part: one })}"${here}>${label}</a></li>`
  }
  const tabs = [tab('opening', 'Openings'), tab('ending', 'Endings')]
  let shown = 0
  const rows = openings.map(({ video, frames }) => {
    const by = video.author === null ? '' : html` <span class="hint">${video.author}</span>`
    const cards = frames.map((frame) => frameCard(frame, shown++))
    return html`<section class="opening"><h2><a href="/videos/${video.id}">${video.title}</a>${by}</h2>
<div class="wall"><ol class="sheet">${cards}</ol></div></section>`
  })
  const of = author === undefined ? '' : html` of ${author}`
  const none = html`<p class="empty">No film is here yet. Operators <a href="/operator">add them</a>.</p>`
  return html`<header class="entity"><h1>How films ${part === 'opening' ? 'open' : 'end'}</h1>
<p class="lead">The ${part === 'opening' ? 'first' : 'last'} shots of each film${of}, the newest first.</p></header>
<nav aria-label="Part"><ul class="pick-list">${tabs}</ul></nav>
${openings.length === 0 ? none : rows}
${nextPage(next && address({ part, after: next }))}`
}
