import {
  BOARD_PAGE,
  type BoardChoice,
  MAX_BOARD_DESCRIPTION,
  MAX_BOARD_NAME,
} from '../../library/collections/boards.ts'
import { MAX_NOTE } from '../../library/collections/pins.ts'
import type { PinnedFrame, toBoardWithItems } from '../../views/collections.ts'
import type { Visitor } from '../guard.ts'
import { counted, formToken, type Html, hidden, html, numberedPages, trusted } from '../html.ts'
import { emptyState, exportLinks, menu, pickCard, planNotice } from './parts.ts'

type ShownBoard = Awaited<ReturnType<typeof toBoardWithItems>>

interface BoardData {
  visitor: Visitor
  board: ShownBoard
  /** Pins on all pages. */
  total: number
  page: number
  /** Whether each frame has the buttons that move it. */
  arranging: boolean
  /** The address of the share link. */
  link: string | null
  /** Shows it, because it was made just now. */
  showLink: boolean
}

/**
 * `/boards/{id}`: a person's board in their order. At rest it shows pictures and notes; what can be done with one shows
 * under the pointer and the focus. Buttons order it while it is arranged; a script adds dragging at any time.
 */
export function boardPage(data: BoardData): Html {
  const { visitor, board, total, arranging } = data
  /** Pins before the first one of this page. */
  const first = (data.page - 1) * BOARD_PAGE
  const path = `/web/boards/${board.id}`
  const at = (n: number) => boardPath(board.id, { page: String(n), arrange: arranging })
  const cards = board.items.map((item, n) => {
    const placed = { path, boardId: board.id, page: data.page, place: first + n, total }
    const extra = html`${arranging ? moves(item, placed) : pinMenu(item, placed)}
${item.note !== null && html`<p class="note">${item.note}</p>`}`
    return pickCard(item, { n, form: 'picked', id: `pin-${item.id}`, extra })
  })
  return html`<h1>${board.name}</h1>
${planNotice(visitor)}
<div id="board" data-path="${path}" data-first="${first}" data-total="${total}">
<p class="lead">${counted(total, 'frame')}. You made it on ${dayOf(board.created_at)}.
  ${board.shared_at !== null && 'Everyone with its link can see this board.'}</p>
${board.description !== null && html`<p class="note">${board.description}</p>`}
<div class="tools">
  ${total > 1 && arrangeLink(data)}
  ${shareMenu(data)}
  ${exportLinks(`/boards/${board.id}/export`, total > 0 ? `/boards/${board.id}/timeline` : undefined)}
  ${renameMenu(visitor, board)}
  ${deleteMenu(visitor, board, total)}
</div>
${total === 0 && EMPTY}
<form id="picked" method="post" class="bulk" data-bulk>${formToken(visitor)}${hidden('board', board.id)}
  ${arranging && hidden('arrange', '1')}
  ${pagePart(data.page)}
  <span data-count>Selected frames:</span>
  <button formaction="/web/pins" name="elsewhere" value="1">Pin to another board</button>
  <button formaction="/web/saves">Save</button>
  <button formaction="/web/unpins" data-removes>Remove</button>
</form>
<ol class="picks pins" id="pins" start="${first + 1}">${cards}</ol>
</div>
${numberedPages(data.page, Math.ceil(total / BOARD_PAGE), at)}`
}

const pageOf = (page: number) => (page > 1 ? String(page) : undefined)
const pagePart = (page: number) => page > 1 && hidden('page', String(page))

/** The address of a part of a board; `pin`: the frame to show there. */
export function boardPath(
  id: string,
  { arrange, pin, ...given }: { page?: string | undefined; arrange?: boolean; note?: string; pin?: string },
): string {
  const shown = Object.entries({ ...given, arrange: arrange ? '1' : undefined })
  const query = new URLSearchParams(shown.filter((one): one is [string, string] => one[1] !== undefined))
  return `/boards/${id}${query.size > 0 ? `?${query}` : ''}${pin === undefined ? '' : `#pin-${pin}`}`
}

const EMPTY = emptyState(
  'The frames of this board will be here',
  html`Open a frame on the wall and press <kbd>b</kbd> or <b>Board</b>. Then arrange them here, and share the link.`,
)

interface Placed {
  path: string
  boardId: string
  page: number
  /** From 0. */
  place: number
  total: number
}

/** The buttons that move a pin. They send the form of the selection. */
function moves(item: PinnedFrame, { path, place, total }: Placed): Html {
  const what = item.caption ?? item.video.title
  const last = total - 1
  const move = (to: number, sign: string, label: string, key: string) => html`<button form="picked"
    formaction="${path}/move" name="move" value="${item.id}:${Math.min(Math.max(to, 0), last)}" id="${key}-${item.id}"
    aria-label="${label}: ${what}"${(to < 0 || to > last || to === place) && trusted(' aria-disabled="true"')}
    title="${label}">${sign}</button>`
  return html`<div class="moves" role="group" aria-label="Place ${place + 1} of ${total}">
  ${move(0, '⇤', 'Move to the start', 'start')}
  ${move(place - 1, '←', 'Move earlier', 'earlier')}
  <span class="place" aria-hidden="true">${place + 1}</span>
  ${move(place + 1, '→', 'Move later', 'later')}
  ${move(last, '⇥', 'Move to the end', 'end')}
</div>`
}

/** What else can be done with a pin. */
function pinMenu(item: PinnedFrame, { path, boardId, page }: Placed): Html {
  const what = item.caption ?? item.video.title
  const note = boardPath(boardId, { page: pageOf(page), note: item.id })
  return html`<details class="menu pin-menu" name="menu"><summary aria-label="More: ${what}">⋯</summary>
<div class="panel"><a href="${note}">${item.note === null ? 'Add a note' : 'Edit note'}<span
  class="visually-hidden">: ${what}</span></a>
  <button class="link" form="picked" formaction="${path}/cover" name="cover" value="${item.id}"
    aria-label="Make the cover: ${what}">Make the cover</button>
  <button class="link" form="picked" formaction="/web/unpins" name="only" value="${item.id}" data-removes
    aria-label="Remove: ${what}">Remove</button></div></details>`
}

function arrangeLink({ board, page, arranging }: BoardData): Html {
  const href = boardPath(board.id, { page: pageOf(page), arrange: !arranging })
  return html`<a class="button" href="${href}">${arranging ? 'Done' : 'Arrange'}</a>`
}

const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })
const dayOf = (time: string) => html`<time datetime="${time}">${DAY.format(new Date(time))}</time>`

/** The link stands here for as long as it works. */
function shareMenu({ visitor, board: { id, shared_at }, link, showLink }: BoardData): Html {
  const isShared = shared_at !== null
  const seen = 'Everyone with the link sees the board.'
  return menu(
    'Share',
    html`${
      link &&
      html`<div class="field"><label for="share-link">Link</label>
  <input id="share-link" readonly value="${link}"></div>`
    }
  <p class="hint">${seen} ${isShared && 'A new link ends this one.'}</p>
  <div class="tools">
  ${link && html`<button type="button" class="primary needs-script" data-copy-from="share-link">Copy link</button>`}
  ${
    isShared &&
    html`<form method="post" action="/web/boards/${id}/unshare">${formToken(visitor)}
    <button>End the link</button></form>`
  }
  <form method="post" action="/web/boards/${id}/share">${formToken(visitor)}
    <button class="${isShared ? 'quiet' : 'primary'}">${isShared ? 'New link' : 'Make a link'}</button></form>
  </div>`,
    { open: showLink },
  )
}

function renameMenu(visitor: Visitor, { id, name, description }: ShownBoard): Html {
  return menu(
    'Rename',
    html`<form method="post" action="/web/boards/${id}/rename">${formToken(visitor)}
    <div class="field"><label for="name">Name</label>
    <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" value="${name}" autocomplete="off"></div>
    <div class="field"><label for="description">Description</label>
    <textarea id="description" name="description" maxlength="${MAX_BOARD_DESCRIPTION}"
      rows="3">${description}</textarea></div>
    <button class="primary">Rename</button></form>`,
  )
}

function deleteMenu(visitor: Visitor, { id, shared_at }: ShownBoard, total: number): Html {
  return menu(
    'Delete',
    html`<p class="hint">The board and its ${counted(total, 'pin')} go. The frames stay in the library.
    ${shared_at !== null && 'Its link ends permanently.'} The next page can take it back.</p>
  <form method="post" action="/web/boards/${id}/delete">${formToken(visitor)}
    <button class="danger">Delete the board</button></form>`,
  )
}

/** `/boards/{id}?note={frame}`: the note of one pin. `page`: the page of the board to return to. */
export function noteForm(
  { visitor, page }: Pick<BoardData, 'visitor' | 'page'>,
  { id, name }: Pick<ShownBoard, 'id' | 'name'>,
  item: PinnedFrame,
): Html {
  const alt = item.caption ?? item.video.title
  const back = boardPath(id, { page: pageOf(page), pin: item.id })
  return html`<section class="narrow card"><h1>Note on a frame of “${name}”</h1>
<img class="noted" src="${item.thumb_url}" alt="${alt}" width="${item.width}" height="${item.height}">
<form method="post" action="/web/boards/${id}/note">${formToken(visitor)}${hidden('frame', item.id)}${pagePart(page)}
  <div class="field"><label for="note">Note</label>
  <textarea id="note" name="note" maxlength="${MAX_NOTE}" rows="5">${item.note}</textarea></div>
  <button class="primary">Keep the note</button> <a href="${back}">Back</a>
</form></section>`
}

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
