import type { Done } from '../actions.ts'
import { exportList } from '../film-panels.ts'
import type { Visitor } from '../guard.ts'
import { counted, formToken, type Html, hidden, html, trusted } from '../html.ts'

/** What the pages of saves and boards share. */

/** The form that takes a removal back. What was removed goes along in it: the service keeps no list of it. */
interface Undo {
  action: string
  fields: Readonly<Record<string, string | readonly string[]>>
}

/** What a removal of frames ends with. Scripts show its undo in a message, others on a page of its own. */
export function removal(
  visitor: Visitor,
  { removed, undo: offered, to }: { removed: readonly string[]; undo: Undo | null; to: string },
): Done {
  const undo = removed.length > 0 ? offered : null
  const what = `${counted(removed.length, 'frame')} removed`
  const body = html`<section class="narrow card"><h1>${what}</h1>
${undo && undoForm(visitor, undo)}
<p><a href="${to}">Back</a></p></section>`
  return { json: { removed, undo }, to, first: undo && { title: what, body } }
}

export function undoForm(visitor: Visitor, { action, fields }: Undo): Html {
  const kept = Object.entries(fields).flatMap(([name, given]) => [given].flat().map((value) => hidden(name, value)))
  return html`<form class="notice done" method="post" action="${action}" role="status">${formToken(visitor)}
  ${kept}Removed. <button class="quiet">Undo</button></form>`
}

export const TO_WALL = html`<p><a class="button" href="/">To the wall</a></p>`

export function planNotice({ account }: Visitor): Html | false {
  return (
    account.plan !== 'pro' &&
    html`<p class="notice">Saves and boards need the <strong>pro</strong> plan. What you have can be seen, exported
  and removed.</p>`
  )
}

/** `timeline`: where its files for editing programs are. */
export function exportLinks(path: string, timeline?: string): Html {
  return html`<ul class="items">
  <li><a href="${path}?format=csv" download>Table (CSV)</a></li>
  <li><a href="${path}?format=json" download>Data (JSON)</a></li>
  <li><a href="${path}?format=zip" download>Images and contact sheet (ZIP)</a></li>
  ${timeline && exportList(timeline)}
</ul>`
}

/** A button that folds out what it does. It lies over the page, so nothing beside it moves; one is open at a time. */
export function menu(label: string, panel: Html, is: { id?: string; open?: boolean; hidden?: boolean } = {}): Html {
  const state = [is.open && trusted(' open'), is.hidden && trusted(' hidden')]
  return html`<details class="fold" name="menu"${is.id && html` id="${is.id}"`}${state}><summary>${label}</summary>
  <div class="panel">${panel}</div></details>`
}
