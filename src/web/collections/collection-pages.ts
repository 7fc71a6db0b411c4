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
} from '../../library/collections/boards.ts'
import { countSaves, listSaves, savedAmong } from '../../library/collections/saves.ts'
import type { Parameters, Values } from '../../parameters.ts'
import type { LibrarySearch } from '../../search/library-search.ts'
import { toBoards, toSavedFrames } from '../../views/collections.ts'
import type { Actions, Asked } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { WITH_FRAMES } from '../layout.ts'
import type { PageDeps } from '../page-deps.ts'
import { boardsPage, COVERS, chooseBoard } from './board-list.ts'
import { boardPage, noteForm, type ShownPin } from './board-view.ts'

/** Boards on a page: with their covers they are as many pictures as a page of the wall. */
const BOARDS_SHOWN = 24

const page = (most: number) => ({
  schema: z.coerce.number().int().min(1).max(most),
  description: `Page of ${BOARD_PAGE} frames.`,
})
const boardsParameters = {
  after: { schema: z.string().regex(BOARD_CURSOR), description: 'Where the page begins.' },
  deleted: { schema: z.string().regex(/^[0-9A-Za-z]{1,64}$/), description: 'A board that can be taken back.' },
} as const satisfies Parameters
const boardParameters = {
  page: page(50),
  note: { schema: z.string().max(64), description: 'The frame whose note is edited.' },
  arrange: { schema: z.literal('1'), description: 'Each frame has the buttons that move it.' },
  shared: { schema: z.literal('1'), description: 'Shows the share link.' },
} as const satisfies Parameters

const WITH_BOARD = { ...WITH_FRAMES, current: 'boards', modules: [...WITH_FRAMES.modules, 'board.js'] } as const

/** `/boards`, `/boards/{id}` and `/saves` of the signed-in person. */
export function addCollectionPages(actions: Actions, deps: PageDeps): void {
  const { db, search } = deps

  const saves = { parameters: { page: page(100_000) }, price: 'search' } as const
  actions.page('/saves', 'person', saves, async ({ visitor, query }) => {
    const accountId = visitor.account.id
    const total = await countSaves(db, accountId)
    const page = lastPage(total, query.page)
    const { saves } = await listSaves(db, accountId, { limit: BOARD_PAGE, skip: (page - 1) * BOARD_PAGE })
    const pins = await withFrames(search, saves)
    return { ...WITH_BOARD, title: 'Saved', body: boardPage({ visitor, pins, total, page }) }
  })

  actions.page('/boards', 'person', { parameters: boardsParameters }, async ({ visitor, query }) => {
    const { after, deleted } = query
    const { boards: stored, next } = await listBoards(db, visitor.account.id, { limit: BOARDS_SHOWN, after })
    const boards = await toBoards(deps, stored)
    const saved = after === undefined ? await loadSaved(deps, visitor, COVERS) : undefined
    const body = boardsPage({ visitor, saved, boards, after, next, deleted })
    return { title: 'Boards', current: 'boards', wide: true, body }
  })

  actions.page('/boards/:id', 'person', { parameters: boardParameters, price: 'search' }, (asked) =>
    showBoard(deps, asked),
  )
}

/** Asks on which board to put frames. */
export async function boardChoices(deps: PageDeps, visitor: Visitor, frameIds: readonly string[]) {
  const of = { accountId: visitor.account.id, frameIds }
  const [stored, saved, held] = await Promise.all([
    listBoardChoices(deps.db, of),
    loadSaved(deps, visitor, 1),
    savedAmong(deps.db, of),
  ])
  const covered = stored.map((board) => ({ ...board, coverFrameIds: board.coverFrameIds.slice(0, 1) }))
  const boards = await toBoards(deps, covered)
  const choices = boards.map((board, n) => ({ ...board, held: stored[n]!.held }))
  return chooseBoard(visitor, { frameIds, saved: { ...saved, held: held.length }, boards: choices })
}

/** What is saved, as a board. */
async function loadSaved(deps: PageDeps, { account }: Visitor, covers: number) {
  const { saves } = await listSaves(deps.db, account.id, { limit: covers })
  const frames = await toSavedFrames(deps, saves)
  const item_count = await countSaves(deps.db, account.id)
  return { item_count, cover_urls: frames.map(({ thumb_url }) => thumb_url) }
}

/** Rows with their frames, in order. What the library no longer has is left out. */
export async function withFrames(
  search: Pick<LibrarySearch, 'framesByIds'>,
  rows: readonly { frameId: string; note?: string | null }[],
): Promise<ShownPin[]> {
  const found = await search.framesByIds(rows.map(({ frameId }) => frameId))
  const frames = new Map(found.map((frame) => [frame.id, frame]))
  return rows.flatMap(({ frameId, note = null }) => {
    const frame = frames.get(frameId)
    return frame ? [{ frame, note }] : []
  })
}

async function showBoard(deps: PageDeps, { visitor, param, query }: Asked & { query: Values<typeof boardParameters> }) {
  const { db, search } = deps
  const { page: asked = 1, note, arrange, shared } = query
  const at = { accountId: visitor.account.id, boardId: param('id') }
  if (note !== undefined) {
    const { board } = await loadBoard(db, at, { limit: 0 })
    const [pin] = await withFrames(search, await loadPins(db, board, [note]))
    const page = lastPage(board.itemCount, asked)
    if (pin) return { current: 'boards' as const, title: board.name, body: noteForm({ visitor, page }, board, pin) }
  }
  const { page, stored } = await loadPage(db, at, asked)
  const { board } = stored
  const token = board.sharedAt === null ? null : await findShareToken(db, at)
  const body = boardPage({
    visitor,
    board,
    pins: await withFrames(search, stored.pins),
    total: board.itemCount,
    page,
    arranging: arrange !== undefined,
    link: token && `${deps.publicUrl}/shared/${token}`,
    showLink: shared !== undefined,
  })
  return { ...WITH_BOARD, title: board.name, body }
}

/** Behind the last page is the last one: its frames may just have been removed. */
const lastPage = (total: number, asked = 1) => Math.max(1, Math.min(asked, Math.ceil(total / BOARD_PAGE)))

async function loadPage(db: Db, at: OnBoard, asked: number): Promise<{ page: number; stored: LoadedBoard }> {
  const stored = await loadBoard(db, at, { limit: BOARD_PAGE, skip: (asked - 1) * BOARD_PAGE })
  const page = lastPage(stored.board.itemCount, asked)
  return page === asked ? { page, stored } : loadPage(db, at, page)
}
