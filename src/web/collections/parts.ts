import type { PinnedFrame, SavedFrame } from '../../views/collections.ts'
import { exportList } from '../film-panels.ts'
import type { Visitor } from '../guard.ts'
import { clock, counted, formToken, type Html, hidden, html, trusted } from '../html.ts'

/** What the pages of saves and boards share. */

/** The result of the previous action, in the address of a page. */
export interface Told {
  /** The removal that the page offers to take back. */
  undo?: string | undefined
  lost?: number | undefined
}

export function notices(visitor: Visitor, { undo, lost }: Told): Html {
  return html`${
    undo !== undefined &&
    html`<form class="notice done" method="post" action="/web/undo" role="status">${formToken(visitor)}
  ${hidden('removal', undo)}Removed. <button class="quiet">Undo</button></form>`
  }
${
  lost !== undefined &&
  html`<p class="notice" role="status">${counted(lost, 'frame')} did not come back: the library no longer has
  ${lost === 1 ? 'it' : 'them'}.</p>`
}`
}

/** Where nothing is yet: what will be there, and how to begin. */
export function emptyState(title: string, how: Html): Html {
  return html`<div class="empty begin">
<span class="ghosts" aria-hidden="true"><span></span><span></span><span></span></span>
<h2>${title}</h2>
<p>${how}</p>
<p><a class="button" href="/">To the wall</a></p></div>`
}

export function planNotice({ account }: Visitor): Html | false {
  return (
    account.plan !== 'pro' &&
    html`<p class="notice">Saves and boards need the <strong>pro</strong> plan. What you have can be seen, exported
  and removed.</p>`
  )
}

/** The first pictures load at once. */
const EAGER = 8

/** A picture that leads to its frame, with a box to select it. `extra`: further controls. */
export function pickCard(
  frame: SavedFrame | PinnedFrame,
  { n, form, extra, id }: { n: number; form: string; extra?: Html; id?: string },
): Html {
  const alt = frame.caption ?? `${frame.video.title}, ${clock(frame.t_sec)}`
  const loading = n >= EAGER && trusted(' loading="lazy"')
  return html`<li class="pick" data-frame="${frame.id}"${id !== undefined && html` id="${id}"`}>
<a href="/frames/${frame.id}"><img src="${frame.thumb_url}" alt="${alt}" width="${frame.width}"
  height="${frame.height}" decoding="async"${loading}></a>
<label class="box"><input type="checkbox" name="frame" value="${frame.id}" form="${form}">
  <span class="credit"><span class="visually-hidden">Select </span>${frame.author ?? frame.video.title}
  ${clock(frame.t_sec)}</span></label>
${extra}</li>`
}

/** Steps through a list by its cursors: to its beginning, and on. */
export function pager(path: string, after: string | undefined, next: string | null): Html {
  return html`<nav class="pager" aria-label="Pages">
  ${after !== undefined && html`<a href="${path}">First page</a>`}
  ${next !== null && html`<a rel="next" href="${path}?after=${next}">Next page</a>`}
</nav>`
}

/** `timeline`: where its files for editing programs are. */
export function exportLinks(path: string, timeline?: string): Html {
  return menu(
    'Export',
    html`<ul>
  <li><a href="${path}?format=csv" download>Table (CSV)</a></li>
  <li><a href="${path}?format=json" download>Data (JSON)</a></li>
  <li><a href="${path}?format=zip" download>Images and contact sheet (ZIP)</a></li>
  ${timeline && exportList(timeline)}
</ul>`,
  )
}

/** A button that folds out what it does. It lies over the page, so nothing beside it moves; one is open at a time. */
export function menu(label: string, panel: Html, { open = false } = {}): Html {
  return html`<details class="menu" name="menu"${open && trusted(' open')}><summary>${label}</summary>
  <div class="panel">${panel}</div></details>`
}
