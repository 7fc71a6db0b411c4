import type { Response } from 'express'
import { z } from 'zod'
import { pointsForItems } from '../../http/rate-limit/budgets.ts'
import type { Routes } from '../../http/routes.ts'
import { findShareToken } from '../../library/collections/board-settings.ts'
import {
  BOARD_CURSOR,
  BOARD_PAGE,
  type BoardChoice,
  findBoard,
  listBoardChoices,
  listBoards,
  loadBoard,
} from '../../library/collections/boards.ts'
import { countSaves, listSaves } from '../../library/collections/saves.ts'
import type { Parameters, Values } from '../../parameters.ts'
import { toBoards, toBoardWithItems, toSavedFrames } from '../../views/collections.ts'
import { type Actions, type Asked, actionRouter } from '../actions.ts'
import type { PageDeps } from '../page-deps.ts'
import { boardPage, noteForm } from './board-view.ts'
import { boardsPage } from './boards-view.ts'
import { addBoardActions, addPinActions, addSaveActions } from './collection-actions.ts'
import { addExports } from './exports.ts'
import { savesPage } from './saves-view.ts'

/** Boards on a page: with their covers they are as many pictures as a page of the wall. */
const BOARDS_SHOWN = 24

const cursor = (pattern: RegExp) => ({ schema: z.string().regex(pattern), description: 'Where the page begins.' })
const undo = { schema: z.string().regex(/^[0-9A-Za-z]{1,64}$/), description: 'A removal that can be taken back.' }
const lost = { schema: z.coerce.number().int().min(1), description: 'Frames that did not come back.' }
const savesParameters = { after: cursor(/^\d{1,15}$/), undo, lost } as const satisfies Parameters
const boardsParameters = { after: cursor(BOARD_CURSOR), undo, lost } as const satisfies Parameters
const boardParameters = {
  undo,
  lost,
  page: { schema: z.coerce.number().int().min(1).max(50), description: `Page of ${BOARD_PAGE} frames.` },
  note: { schema: z.string().max(64), description: 'The frame whose note is edited.' },
  arrange: { schema: z.literal('1'), description: 'Each frame has the buttons that move it.' },
  shared: { schema: z.literal('1'), description: 'Shows the share link.' },
} as const satisfies Parameters

/** `/saves`, `/boards` and `/boards/{id}` of the signed-in person, their actions and exports. */
export function collectionRouter(deps: PageDeps): Routes {
  return actionRouter(deps, addPages, addSaveActions, addBoardActions, addPinActions, addExports)
}

function addPages(actions: Actions, deps: PageDeps): void {
  const { db } = deps

  actions.page(
    '/saves',
    'person',
    { parameters: savesParameters, cost: pointsForItems(BOARD_PAGE) },
    async ({ visitor, query }) => {
      const { after, ...told } = query
      const { saves, next } = await listSaves(db, visitor.account.id, { limit: BOARD_PAGE, after })
      const frames = await toSavedFrames(deps, saves)
      const total = await countSaves(db, visitor.account.id)
      const body = savesPage({ visitor, frames, total, next, after, told })
      return { title: 'Saves', current: 'saves', wide: true, modules: ['collections.js'], body }
    },
  )

  actions.page('/web/boards', 'person', { parameters: {} }, async ({ visitor, res }) => {
    return sendBoards(res, await listBoardChoices(db, visitor.account.id))
  })

  actions.page('/boards', 'person', { parameters: boardsParameters }, async ({ visitor, query }) => {
    const { after, ...told } = query
    const { boards: stored, next } = await listBoards(db, visitor.account.id, { limit: BOARDS_SHOWN, after })
    const boards = await toBoards(deps, stored)
    const body = boardsPage({ visitor, boards, after, next, told })
    return { title: 'Boards', current: 'boards', wide: true, modules: ['collections.js'], body }
  })

  actions.page('/boards/:id', 'person', { parameters: boardParameters, cost: pointsForItems(BOARD_PAGE) }, (asked) =>
    showBoard(deps, asked),
  )
}

/** For the scripts of other pages: which boards there are to pin to. */
function sendBoards(res: Response, stored: readonly BoardChoice[]): undefined {
  const boards = stored.map(({ id, name, itemCount }) => ({ id, name, item_count: itemCount }))
  res.set('Cache-Control', 'no-store').json({ boards })
}

async function showBoard(deps: PageDeps, asked: Asked & { query: Values<typeof boardParameters> }) {
  const { db } = deps
  const { visitor, param, query } = asked
  const { page = 1, note, arrange, shared, ...told } = query
  const at = { accountId: visitor.account.id, boardId: param('id') }
  // The version comes first, so that a change in between is detected and not overwritten.
  const { version } = await findBoard(db, at)
  const skip = (page - 1) * BOARD_PAGE
  const stored = await loadBoard(db, at, { limit: BOARD_PAGE, skip })
  const board = await toBoardWithItems(deps, stored)
  const token = board.shared_at === null ? null : await findShareToken(db, at)
  const noted = note === undefined ? undefined : board.items.find((item) => item.id === note)
  const body = noted
    ? noteForm(visitor, board, noted)
    : boardPage({
        visitor,
        board,
        total: stored.board.itemCount,
        version,
        page,
        first: skip,
        arranging: arrange !== undefined,
        link: token && `${deps.publicUrl}/shared/${token}`,
        showLink: shared !== undefined,
        told,
      })
  return {
    title: board.name,
    current: 'boards' as const,
    wide: noted === undefined,
    modules: ['collections.js', 'board.js'],
    body,
  }
}
