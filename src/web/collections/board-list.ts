import { type BoardChoice, MAX_BOARD_NAME } from '../../library/collections/boards.ts'
import type { toBoards } from '../../views/collections.ts'
import type { Visitor } from '../guard.ts'
import { counted, emptyState, formToken, type Html, hidden, html, listPages } from '../html.ts'
import { menu, planNotice, TO_WALL, undoForm } from './parts.ts'

/** Boards to open, and boards to put frames on. What is saved is the first of both. */

type ShownBoard = Awaited<ReturnType<typeof toBoards>>[number]

/** Most pictures of a cover: one large, two small. */
export const COVERS = 3

/** What is saved, as a board. */
interface SavedBoard {
  item_count: number
  cover_urls: readonly string[]
}

interface BoardsData {
  visitor: Visitor
  /** On the first page. */
  saved: SavedBoard | undefined
  boards: readonly ShownBoard[]
  /** The cursors of this page and of the next one. */
  after: string | undefined
  next: string | null
  /** The board that was deleted just now. */
  deleted: string | undefined
}

/** `/boards`: a person's boards, newest first, and a form for another. */
export function boardsPage({ visitor, saved, boards, after, next, deleted }: BoardsData): Html {
  const create = html`<form class="row create" method="post" action="/web/boards">${formToken(visitor)}
  <label class="visually-hidden" for="name">New board</label>
  <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" autocomplete="off" placeholder="Its name">
  <button class="primary">Create</button></form>`
  return html`<header class="entity"><h1>Boards</h1>
<div class="row tools">${menu('New board', create)}</div></header>
${deleted !== undefined && undoForm(visitor, { action: `/web/boards/${deleted}/delete/undo`, fields: {} })}
${planNotice(visitor)}
<ul class="tiles">
${saved && boardCard({ href: '/saves', name: 'Saved', hint: counted(saved.item_count, 'frame'), ...saved })}
${boards.map(({ id, shared_at, ...board }) => {
  const hint = `${counted(board.item_count, 'frame')}${shared_at === null ? '' : ', shared'}`
  return boardCard({ href: `/boards/${id}`, hint, ...board })
})}</ul>
${boards.length === 0 && after === undefined && NO_BOARDS}
${listPages({ first: after !== undefined && '/boards', next: next && `/boards?after=${next}` })}`
}

const NO_BOARDS = emptyState(
  'Your boards will be here',
  html`A board keeps frames in your order, each with a note. Make one above, or open a frame on the wall and
  press <kbd>b</kbd> or <b>Board</b>.`,
  { more: TO_WALL },
)

interface CardData extends Pick<SavedBoard, 'cover_urls'> {
  href: string
  name: string
  hint: string
}

function boardCard({ href, name, hint, cover_urls }: CardData): Html {
  return html`<li><a href="${href}">
  <span class="covers">${cover_urls.slice(0, COVERS).map(cover)}</span>
  <span class="label">${name}</span>
  <span class="hint">${hint}</span>
</a></li>`
}

const cover = (url: string) => html`<img src="${url}" alt="" width="160" height="90" loading="lazy">`

interface Choices {
  frameIds: readonly string[]
  saved: SavedBoard & { held: number }
  boards: readonly (ShownBoard & Pick<BoardChoice, 'held'>)[]
}

/** Asks where to put frames. A board that has them all already has a tick, and takes them off. */
export function chooseBoard(visitor: Visitor, { frameIds, saved, boards }: Choices): Html {
  const frames = frameIds.map((id) => hidden('frame', id))
  const all = frameIds.length
  return html`<section class="narrow card"><h1>Put ${counted(all, 'frame')} on a board</h1>
<form id="choices" class="choices" method="post" action="/web/pins">${formToken(visitor)}${frames}
${choice({ ...saved, name: 'Saved', all, on: '/web/saves', off: '/web/unsaves' })}
${boards.map((board) => choice({ ...board, all, on: '/web/pins', off: '/web/unpins' }))}</form>
<h2>To a new board, or to one by its name</h2>
<form method="post" action="/web/pins">${formToken(visitor)}${frames}
  <div class="field"><label for="name">Name</label>
    <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" autocomplete="off"></div>
  <button class="primary">Create the board</button>
</form></section>`
}

interface Choice extends SavedBoard {
  id?: string
  name: string
  /** How many of the frames are there. */
  held: number
  all: number
  /** Where they are sent to be put there, and taken off. */
  on: string
  off: string
}

function choice({ id, name, item_count, cover_urls: [first], held, all, on, off }: Choice): Html {
  const isOn = held === all
  return html`<button formaction="${isOn ? off : on}" name="board" value="${id}" data-name="${name}"
  aria-pressed="${isOn ? 'true' : 'false'}">
<span class="covers">${first !== undefined && cover(first)}</span>
<span>${name} <span class="hint">${counted(item_count, 'frame')}${
    held > 0 && !isOn && `, ${held} of these`
  }</span></span></button>
`
}
