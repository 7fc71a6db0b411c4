import { MAX_BOARD_NAME } from '../../library/collections/boards.ts'
import type { toBoards } from '../../views/collections.ts'
import { counted, formToken } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { type Html, html } from '../html.ts'
import { emptyState, notices, pager, planNotice, type Told } from './parts.ts'

type ShownBoard = Awaited<ReturnType<typeof toBoards>>[number]

interface BoardsData {
  visitor: Visitor
  boards: readonly ShownBoard[]
  /** The cursors of this page and of the next one. */
  after: string | undefined
  next: string | null
  told: Told
}

/** `/boards`: a person's boards, newest first, and a form for another. */
export function boardsPage({ visitor, boards, after, next, told }: BoardsData): Html {
  return html`<h1>Boards</h1>
${notices(visitor, told)}${planNotice(visitor)}
<form class="inline" method="post" action="/web/boards">${formToken(visitor)}
  <label for="name">New board</label>
  <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" autocomplete="off" placeholder="Logo reveals">
  <button class="primary">Make</button>
</form>
${boards.length === 0 && after === undefined && EMPTY}
<ul class="boards">${boards.map(boardCard)}</ul>
${pager('/boards', after, next)}`
}

const EMPTY = emptyState(
  'Your boards will be here',
  html`A board keeps frames in your order, each with a note. Name one above, or open a frame on the wall and
  press <kbd>b</kbd> or <b>Board</b>.`,
)

function boardCard({ id, name, item_count, shared_at, cover_urls }: ShownBoard): Html {
  return html`<li><a href="/boards/${id}">
  <span class="covers">${cover_urls.map(cover)}</span>
  <span class="name">${name}</span>
  <span class="hint">${counted(item_count, 'frame')}${shared_at !== null && ', shared'}</span>
</a></li>`
}

const cover = (url: string) => html`<img src="${url}" alt="" width="160" height="90" loading="lazy">`
