import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { findShareToken, type OnBoard } from '../../library/collections/board-settings.ts'
import {
  BOARD_CURSOR,
  BOARD_PAGE,
  type LoadedBoard,
  listBoardChoices,
  listBoards,
  loadBoard,
  loadPins,
  MAX_BOARD_NAME,
} from '../../library/collections/boards.ts'
import { countSaves, listSaves } from '../../library/collections/saves.ts'
import type { Parameters, Values } from '../../parameters.ts'
import { type SavedFrame, toBoards, toBoardWithItems, toPinnedFrames, toSavedFrames } from '../../views/collections.ts'
import type { Actions, Asked } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { counted, formToken, type Html, html, listPages } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { boardPage, noteForm } from './board-view.ts'
import { emptyState, exportLinks, pickCard, planNotice, undoForm } from './parts.ts'

/** Boards on a page: with their covers they are as many pictures as a page of the wall. */
const BOARDS_SHOWN = 24

const cursor = (pattern: RegExp) => ({ schema: z.string().regex(pattern), description: 'Where the page begins.' })
const savesParameters = { after: cursor(/^\d{1,15}$/) } as const satisfies Parameters
const boardsParameters = {
  after: cursor(BOARD_CURSOR),
  deleted: { schema: z.string().regex(/^[0-9A-Za-z]{1,64}$/), description: 'A board that can be taken back.' },
} as const satisfies Parameters
const boardParameters = {
  page: { schema: z.coerce.number().int().min(1).max(50), description: `Page of ${BOARD_PAGE} frames.` },
  note: { schema: z.string().max(64), description: 'The frame whose note is edited.' },
  arrange: { schema: z.literal('1'), description: 'Each frame has the buttons that move it.' },
  shared: { schema: z.literal('1'), description: 'Shows the share link.' },
} as const satisfies Parameters

/** `/saves`, `/boards` and `/boards/{id}` of the signed-in person. */
export function addCollectionPages(actions: Actions, deps: PageDeps): void {
  const { db } = deps

  actions.page('/saves', 'person', { parameters: savesParameters, price: 'search' }, async ({ visitor, query }) => {
    const { after } = query
    const { saves, next } = await listSaves(db, visitor.account.id, { limit: BOARD_PAGE, after })
    const frames = await toSavedFrames(deps, saves)
    const total = await countSaves(db, visitor.account.id)
    const body = savesPage({ visitor, frames, total, next, after })
    return { title: 'Saves', current: 'saves', wide: true, modules: ['collections.js'], body }
  })

  // For the scripts of other pages: which boards there are to pin to.
  actions.page('/web/boards', 'person', { parameters: {} }, async ({ visitor, res }) => {
    const stored = await listBoardChoices(db, visitor.account.id)
    const boards = stored.map(({ id, name, itemCount }) => ({ id, name, item_count: itemCount }))
    res.set('Cache-Control', 'no-store').json({ boards })
    return undefined
  })

  actions.page('/boards', 'person', { parameters: boardsParameters }, async ({ visitor, query }) => {
    const { after, deleted } = query
    const { boards: stored, next } = await listBoards(db, visitor.account.id, { limit: BOARDS_SHOWN, after })
    const boards = await toBoards(deps, stored)
    const body = boardsPage({ visitor, boards, after, next, deleted })
    return { title: 'Boards', current: 'boards', wide: true, modules: ['collections.js'], body }
  })

  actions.page('/boards/:id', 'person', { parameters: boardParameters, price: 'search' }, (asked) =>
    showBoard(deps, asked),
  )
}

async function showBoard(deps: PageDeps, { visitor, param, query }: Asked & { query: Values<typeof boardParameters> }) {
  const { db } = deps
  const { page: asked = 1, note, arrange, shared } = query
  const at = { accountId: visitor.account.id, boardId: param('id') }
  const shown = { current: 'boards' as const, modules: ['collections.js', 'board.js'] }
  if (note !== undefined) {
    const { board } = await loadBoard(db, at, { limit: 0 })
    const [item] = await toPinnedFrames(deps, await loadPins(db, board, [note]))
    if (item)
      return { ...shown, title: board.name, body: noteForm({ visitor, page: pageOf(board, asked) }, board, item) }
  }
  const { page, stored } = await loadPage(db, at, asked)
  const board = await toBoardWithItems(deps, stored)
  const token = board.shared_at === null ? null : await findShareToken(db, at)
  const body = boardPage({
    visitor,
    board,
    total: stored.board.itemCount,
    page,
    arranging: arrange !== undefined,
    link: token && `${deps.publicUrl}/shared/${token}`,
    showLink: shared !== undefined,
  })
  return { ...shown, title: board.name, wide: true, body }
}

/** Behind the last page is the last one: its frames may just have been removed. */
const pageOf = ({ itemCount }: { itemCount: number }, asked: number) =>
  Math.max(1, Math.min(asked, Math.ceil(itemCount / BOARD_PAGE)))

async function loadPage(db: Db, at: OnBoard, asked: number): Promise<{ page: number; stored: LoadedBoard }> {
  const stored = await loadBoard(db, at, { limit: BOARD_PAGE, skip: (asked - 1) * BOARD_PAGE })
  const page = pageOf(stored.board, asked)
  return page === asked ? { page, stored } : loadPage(db, at, page)
}

interface ListData {
  visitor: Visitor
  /** The cursors of this page and of the next one. */
  after: string | undefined
  next: string | null
}

interface SavesData extends ListData {
  frames: readonly SavedFrame[]
  total: number
}

/** `/saves`: everything a person saved, newest first. */
function savesPage({ visitor, frames, total, after, next }: SavesData): Html {
  return html`<h1>Saves</h1>
${planNotice(visitor)}
<p class="lead">${counted(total, 'frame')}, newest first.</p>
${total === 0 ? NO_SAVES : html`<div class="tools">${exportLinks('/saves/export')}</div>`}
<form id="picked" method="post" class="bulk" data-bulk>${formToken(visitor)}
  <span data-count>Selected frames:</span>
  <button formaction="/web/pins">Pin to a board</button>
  <button formaction="/web/unsaves" data-removes>Remove</button>
</form>
<ol class="picks" id="picks">${frames.map((frame, n) => pickCard(frame, { n, form: 'picked' }))}</ol>
${listPages({ first: after !== undefined && '/saves', next: next && `/saves?after=${next}` })}`
}

const NO_SAVES = emptyState(
  'What you save will be here',
  html`The newest comes first. Open a frame on the wall and press <kbd>s</kbd> or <b>Save</b>; a long press or
  <kbd>x</kbd> selects several.`,
)

type ShownBoard = Awaited<ReturnType<typeof toBoards>>[number]

interface BoardsData extends ListData {
  boards: readonly ShownBoard[]
  /** The board that was deleted just now. */
  deleted: string | undefined
}

/** `/boards`: a person's boards, newest first, and a form for another. */
function boardsPage({ visitor, boards, after, next, deleted }: BoardsData): Html {
  return html`<h1>Boards</h1>
${deleted !== undefined && undoForm(visitor, { action: `/web/boards/${deleted}/delete/undo`, fields: {} })}
${planNotice(visitor)}
<form class="inline" method="post" action="/web/boards">${formToken(visitor)}
  <label for="name">New board</label>
  <input id="name" name="name" required maxlength="${MAX_BOARD_NAME}" autocomplete="off" placeholder="Logo reveals">
  <button class="primary">Make</button>
</form>
${boards.length === 0 && after === undefined && NO_BOARDS}
<ul class="boards">${boards.map(boardCard)}</ul>
${listPages({ first: after !== undefined && '/boards', next: next && `/boards?after=${next}` })}`
}

const NO_BOARDS = emptyState(
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
