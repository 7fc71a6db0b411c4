import type { BoardChoice } from '../../library/collections/boards.ts'
import { findBoard, loadBoard, loadPinnedIds, loadPins, MAX_BOARD_NAME } from '../../library/collections/boards.ts'
import { type PinnedFrame, toPinnedFrames } from '../../views/collections.ts'
import { counted, formToken, hidden } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { type Html, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'

/** Pages between an action and its board: which board, which order, which link. */

/** Asks where to pin frames that were selected on another page. */
export function chooseBoard(visitor: Visitor, boards: readonly BoardChoice[], frameIds: readonly string[]): Html {
  const frames = frameIds.map((id) => hidden('frame', id))
  return html`<section class="narrow card"><h1>Pin ${counted(frameIds.length, 'frame')}</h1>
${boards.length > 0 && html`<ul class="choices">${boards.map((board) => boardChoice(visitor, board, frames))}</ul>`}
<h2>To a new board</h2>
<form method="post" action="/web/pins">${formToken(visitor)}${frames}
  <div class="field"><label for="name">Name</label>
    <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" autocomplete="off"></div>
  <button class="primary">Make the board</button>
</form></section>`
}

function boardChoice(visitor: Visitor, { id, name, itemCount }: BoardChoice, frames: readonly Html[]): Html {
  return html`<li><form method="post" action="/web/pins">${formToken(visitor)}${frames}${hidden('board', id)}
  <button>${name} <span class="hint">${counted(itemCount, 'frame')}</span></button></form></li>`
}

/** Frames of each order that are shown. */
const SHOWN = 12

/** The order as it is, and the order with the visitor's move, to choose from. */
export async function conflictPage(
  deps: PageDeps,
  wish: { visitor: Visitor; accountId: string; boardId: string; frameId: string; position: number },
): Promise<Html> {
  const { visitor, boardId, frameId, position } = wish
  const { version } = await findBoard(deps.db, wish)
  const { board } = await loadBoard(deps.db, wish, { limit: 0 })
  const ids = await loadPinnedIds(deps.db, board)
  const others = ids.filter((id) => id !== frameId)
  const to = Math.min(position, others.length)
  const wished = ids.includes(frameId) ? others.toSpliced(to, 0, frameId) : others
  const from = Math.max(0, Math.min(to, ids.indexOf(frameId)) - 2)
  const part = async (list: readonly string[]) =>
    toPinnedFrames(deps, await loadPins(deps.db, board, list.slice(from, from + SHOWN)))
  const orders = [await part(ids), await part(wished)] as const
  return html`<h1>“${board.name}” has changed meanwhile</h1>
<p class="lead">Somebody changed this board after you loaded it, so your move was not made. These are both orders.</p>
${order('As it is now', orders[0], frameId, from)}
<p><a class="button" href="/boards/${boardId}">Keep this order</a></p>
${order('With your move', orders[1], frameId, from)}
<form method="post" action="/web/boards/${boardId}/move">${formToken(visitor)}
  ${hidden('version', version)}${hidden('move', `${frameId}:${to}`)}
  <button class="primary">Move it all the same</button>
</form>`
}

function order(title: string, frames: readonly PinnedFrame[], frameId: string, from: number): Html {
  return html`<h2>${title}</h2><ol class="order" start="${from + 1}">${frames.map(
    (frame) => html`<li${frame.id === frameId && html` class="moved"`}>
  <img src="${frame.thumb_url}" alt="${frame.caption ?? frame.video.title}" width="160" height="90" loading="lazy">
  ${frame.id === frameId && html`<span>your frame</span>`}</li>`,
  )}</ol>`
}
