import { BOARD_PAGE, type Board, MAX_BOARD_DESCRIPTION, MAX_BOARD_NAME } from '../../library/collections/boards.ts'
import { MAX_NOTE } from '../../library/collections/pins.ts'
import type { ShownFrame } from '../../search/library-search.ts'
import { altOf, frameCard } from '../frame-card.ts'
import type { Visitor } from '../guard.ts'
import { counted, dayText, emptyState, formToken, type Html, hidden, html, numberedPages, trusted } from '../html.ts'
import { exportLinks, menu, planNotice, TO_WALL } from './parts.ts'

/** A frame of a board. */
export interface ShownPin {
  frame: ShownFrame
  note: string | null
}

interface BoardData {
  visitor: Visitor
  /** Undefined for what is saved: the first board, which everyone has. */
  board?: Board | undefined
  pins: readonly ShownPin[]
  /** Frames on all pages. */
  total: number
  page: number
  /** Whether each frame has the buttons that move it. */
  arranging?: boolean
  /** The address of the share link. */
  link?: string | null
  /** Shows it, because it was made just now. */
  showLink?: boolean
}

/**
 * `/boards/{id}` and `/saves`: frames in their person's order, with their notes. What can be done with one shows under
 * the pointer and the focus. Buttons order a board while it is arranged; a script adds dragging at any time.
 */
export function boardPage(data: BoardData): Html {
  const { visitor, board, pins, total, page, arranging = false } = data
  const first = (page - 1) * BOARD_PAGE
  const at = (n: number) => boardPath(board?.id, { page: String(n), arrange: arranging })
  const cards = pins.map(({ frame, note }, n) => {
    const place = first + n
    const tools = board && (arranging ? moves(frame, board, { place, total }) : pinMenu(frame, note, { board, page }))
    const extra = html`${tick(frame)}${tools}`
    return frameCard(frame, n, { id: `pin-${frame.id}`, note, extra })
  })
  const exported = menu('Export', exportLinks('/saves/export'), { id: 'export', hidden: total === 0 })
  const about = board && html`data-id="${board.id}" data-path="/web/boards/${board.id}"`
  return html`<header class="entity"><h1>${board?.name ?? 'Saved'}</h1>
${planNotice(visitor)}
<p class="lead" id="lead">${counted(total, 'frame')} · ${board ? madeOn(board) : 'newest first'}</p>
${board?.description && html`<p class="note">${board.description}</p>`}
<div class="row tools">${board && shareMenu(data, board)}
${visitor.account.plan === 'pro' && addMenu()}${board ? boardTools(data, board) : exported}</div></header>
<div id="board" data-first="${first}" data-total="${total}" ${about}>
${total === 0 && (board ? emptyBoard(visitor) : NO_SAVES)}
${selectionForm(data)}
<div class="wall pins${arranging && ' arranging'}"><ol class="sheet" id="pins" start="${first + 1}">${cards}</ol></div>
${numberedPages(page, Math.ceil(total / BOARD_PAGE), at)}
</div>`
}

function madeOn({ createdAt, sharedAt }: Board): Html {
  const day = html`<time datetime="${createdAt.toISOString()}">${dayText(createdAt)}</time>`
  return html`made ${day}${sharedAt !== null && ' · shared by link'}`
}

/** What is done with the selected frames. With script a bar does the same. */
function selectionForm({ visitor, board, page, arranging }: BoardData): Html {
  return html`<form id="picked" method="post" class="row apart"${!board && trusted(' data-saves')}>
  ${formToken(visitor)}
  ${board && hidden('board', board.id)}${arranging && hidden('arrange', '1')}${pagePart(page)}
  <span>Selected frames:</span>
  <button formaction="/web/pins" name="elsewhere" value="1">Put on a board</button>
  ${board && html`<button formaction="/web/saves">Save</button>`}
  <button formaction="/web/${board ? 'unpins' : 'unsaves'}" data-removes>Remove</button>
</form>`
}

function tick(frame: ShownFrame): Html {
  return html`<label class="tick"><input type="checkbox" name="frame" value="${frame.id}" form="picked"
aria-label="Select: ${altOf(frame)}"></label>`
}

const pageOf = (page: number) => (page > 1 ? String(page) : undefined)
const pagePart = (page: number) => page > 1 && hidden('page', String(page))

/** The address of a part of a board, or of what is saved; `pin`: the frame to show there. */
export function boardPath(
  id: string | undefined,
  at: { page?: string | undefined; arrange?: boolean; note?: string; pin?: string | undefined } = {},
): string {
  const { arrange, pin, ...given } = at
  const shown = Object.entries({ ...given, arrange: arrange ? '1' : undefined })
  const query = new URLSearchParams(shown.filter((one): one is [string, string] => one[1] !== undefined))
  const path = id === undefined ? '/saves' : `/boards/${id}`
  return `${path}${query.size > 0 ? `?${query}` : ''}${pin === undefined ? '' : `#pin-${pin}`}`
}

function emptyBoard({ account }: Visitor): Html {
  const add = html`Press <b>Add frames</b> above, or open a frame on the wall and press <kbd>b</kbd> or <b>Board</b>.
  Then arrange them here, and share the link.`
  const how = account.plan === 'pro' ? add : 'None was added yet.'
  return emptyState('The frames of this board will be here', how, { more: TO_WALL })
}

const NO_SAVES = emptyState(
  'What you save will be here',
  html`The newest comes first. Open a frame on the wall and press <kbd>s</kbd> or <b>Save</b>; a long press or
  <kbd>x</kbd> selects several.`,
  { more: TO_WALL },
)

/** The buttons that move a frame. They send the form of the selection. `place`: from 0. */
function moves(frame: ShownFrame, board: Board, { place, total }: { place: number; total: number }): Html {
  const what = altOf(frame)
  const last = total - 1
  const move = (to: number, sign: string, label: string, key: string) => html`<button form="picked"
    formaction="/web/boards/${board.id}/move" name="move" value="${frame.id}:${Math.min(Math.max(to, 0), last)}"
    id="${key}-${frame.id}" aria-label="${label}: ${what}"
    ${(to < 0 || to > last || to === place) && trusted(' aria-disabled="true"')} title="${label}">${sign}</button>`
  return html`<div class="row tight moves" role="group" aria-label="Place ${place + 1} of ${total}">
  ${move(0, '⇤', 'Move to the start', 'start')}
  ${move(place - 1, '←', 'Move earlier', 'earlier')}
  <span class="place" aria-hidden="true">${place + 1}</span>
  ${move(place + 1, '→', 'Move later', 'later')}
  ${move(last, '⇥', 'Move to the end', 'end')}
</div>`
}

/** What else can be done with a frame of a board. */
function pinMenu(frame: ShownFrame, note: string | null, { board, page }: { board: Board; page: number }): Html {
  const what = altOf(frame)
  const noting = boardPath(board.id, { page: pageOf(page), note: frame.id })
  return html`<details class="fold pin-menu" name="menu"><summary aria-label="More: ${what}"></summary>
<div class="panel items"><a href="${noting}">${note === null ? 'Add a note' : 'Edit note'}<span
  class="visually-hidden">: ${what}</span></a>
  <button form="picked" formaction="/web/boards/${board.id}/cover" name="cover" value="${frame.id}"
    aria-label="Make the cover: ${what}">Make the cover</button>
  <button form="picked" formaction="/web/unpins" name="only" value="${frame.id}" data-removes
    aria-label="Remove: ${what}">Remove</button></div></details>`
}

/** Actions on the whole board, which people seldom need. */
function boardTools({ visitor, total, page, arranging }: BoardData, board: Board): Html {
  const arrange = boardPath(board.id, { page: pageOf(page), arrange: !arranging })
  const timeline = total > 0 ? `/boards/${board.id}/timeline` : undefined
  return html`<a class="quiet-button" id="arrange" href="${arrange}"${total < 2 && trusted(' hidden')}>${
    arranging ? 'Done' : 'Arrange'
  }</a>
${menu(
  'More',
  html`${part('Export', exportLinks(`/boards/${board.id}/export`, timeline))}
${part('Rename', renameForm(visitor, board))}
${part('Delete', deleteForm(visitor, board, total))}`,
)}`
}

const part = (label: string, told: Html) => html`<details name="more"><summary>${label}</summary>${told}</details>`

/** Finds frames for the board, or to save. Without script the search leads to the wall. */
function addMenu(): Html {
  const panel = html`<form class="row create" role="search" action="/">
  <label class="visually-hidden" for="add-search">Search the library</label>
  <input id="add-search" type="search" name="q" maxlength="300" required autocomplete="off"
    placeholder="Search the library">
  <button class="primary">Search</button></form>
  <ul class="found" id="found" aria-label="Found frames"></ul>`
  return html`<details class="fold adding" name="menu"><summary>Add frames</summary>
<div class="panel">${panel}</div></details>`
}

/** The link stands here for as long as it works. */
function shareMenu({ visitor, link, showLink = false }: BoardData, { id, sharedAt }: Board): Html {
  const isShared = sharedAt !== null
  // Who has just made a link copies it next: another press of Enter must not end it.
  const copy = html`<button type="button" class="primary needs-script" data-copies="Link" data-text="${link}"
    ${showLink && trusted(' autofocus')}>Copy link</button>`
  return menu(
    'Share',
    html`${link && html`<p class="copy-text" id="share-link">${link}</p>`}
  <p class="hint">Everyone with the link sees the board. ${isShared && 'A new link ends this one.'}</p>
  <div class="row tools">
  ${link && copy}
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

function renameForm(visitor: Visitor, { id, name, description }: Board): Html {
  return html`<form method="post" action="/web/boards/${id}/rename">${formToken(visitor)}
    <div class="field"><label for="name">Name</label>
    <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" value="${name}" autocomplete="off"></div>
    <div class="field"><label for="description">Description</label>
    <textarea id="description" name="description" maxlength="${MAX_BOARD_DESCRIPTION}"
      rows="3">${description}</textarea></div>
    <button class="primary">Rename</button></form>`
}

function deleteForm(visitor: Visitor, { id, sharedAt }: Board, total: number): Html {
  return html`<p class="hint">The board and its ${counted(total, 'pin')} go. The frames stay in the library.
    ${sharedAt !== null && 'Its link ends permanently.'} The next page can take it back.</p>
  <form method="post" action="/web/boards/${id}/delete">${formToken(visitor)}
    <button class="danger">Delete the board</button></form>`
}

/** `/boards/{id}?note={frame}`: the note of one pin. `page`: the page of the board to return to. */
export function noteForm(
  { visitor, page }: Pick<BoardData, 'visitor' | 'page'>,
  { id, name }: Pick<Board, 'id' | 'name'>,
  { frame, note }: ShownPin,
): Html {
  const back = boardPath(id, { page: pageOf(page), pin: frame.id })
  return html`<section class="narrow card"><h1>Note on a frame of “${name}”</h1>
<img class="still" src="${frame.thumb_path}" alt="${altOf(frame)}" width="${frame.width}" height="${frame.height}">
<form method="post" action="/web/boards/${id}/note">${formToken(visitor)}${hidden('frame', frame.id)}${pagePart(page)}
  <div class="field"><label for="note">Note</label>
  <textarea id="note" name="note" maxlength="${MAX_NOTE}" rows="5">${note}</textarea></div>
  <button class="primary">Keep the note</button> <a href="${back}">Back</a>
</form></section>`
}
