import { z } from 'zod'
import { AppError } from '../errors.ts'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { POINTS, pointsForBoards, pointsForFrames, pointsForItems } from '../http/rate-limit/budgets.ts'
import {
  BOARD_CURSOR,
  BOARD_PAGE,
  boardSize,
  countBoards,
  createBoard,
  deleteBoard,
  findBoard,
  listBoards,
  loadBoard,
  MAX_BOARD_NAME,
  pinBatches,
  renameBoard,
  type Board as StoredBoard,
} from '../library/collections/boards.ts'
import { jsonPieces } from '../library/json-pieces.ts'
import { Board, BoardWithItems, toBoards, toBoardWithItems, toPinnedFrames } from '../views/collections.ts'
import { BATCH, exportParameters, sendDownload } from '../views/download.ts'
import { exportShape, toExportRow } from '../views/export.ts'
import { OK, Ok } from '../views/ok.ts'
import { type BoardsDeps, boardOf, itemParameters, sendBoardPage } from './board-page.ts'
import { LINK, linkNext, nextCursor, nextOf, pageParameters } from './paging.ts'

const BoardBody = z.strictObject({ name: z.string().trim().min(1).max(MAX_BOARD_NAME) })
const boardAnswer = z.strictObject({ board: Board })

async function* rowsOf(deps: BoardsDeps, board: StoredBoard) {
  for await (const pins of pinBatches(deps.db, board, BATCH)) yield (await toPinnedFrames(deps, pins)).map(toExportRow)
}

/** One board at a time, in batches: each may have 5,000 pins. */
async function* everyBoard(deps: BoardsDeps, accountId: string, stored: readonly StoredBoard[]) {
  for (const { id } of stored) {
    const found = await loadBoard(deps.db, { accountId, boardId: id }, { limit: 0 }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    })
    // Deleted meanwhile.
    if (!found) continue
    const [shown] = await toBoards(deps, [found.board])
    yield jsonPieces(shown!, { items: rowsOf(deps, found.board) })
  }
}

/** The boards of the calling account, and their exports. */
export const boardEndpoints = [
  // Declared before `/api/boards/:id`, which would take `export` for an id.
  endpoint(
    {
      id: 'exportBoards',
      method: 'get',
      path: '/api/boards/export',
      tag: 'Account',
      summary: 'Every board with its notes and credits, as a file',
      parameters: {},
      answer: z
        .strictObject({
          exported_at: exportShape.exported_at,
          boards: z.array(Board.extend({ items: exportShape.items })),
        })
        .meta({ id: 'BoardsExport' }),
      scope: 'boards:read',
      everyPlan: true,
    },
    async (deps: BoardsDeps, { caller: { account }, res, charge, hold, sendPieces }) => {
      hold('longAnswers')
      const { boards: stored } = await listBoards(deps.db, account.id)
      const points = stored.reduce((sum, { itemCount }) => sum + pointsForItems(itemCount), 0)
      await charge(points - POINTS.read)
      res.set('Content-Disposition', 'attachment; filename="boards.json"')
      const pieces = jsonPieces({ exported_at: new Date() }, { boards: everyBoard(deps, account.id, stored) })
      await sendPieces(pieces, 'application/json; charset=utf-8')
      return undefined
    },
  ),

  endpoint(
    {
      id: 'listBoards',
      method: 'get',
      path: '/api/boards',
      tag: 'Account',
      summary: 'This account’s boards with their item counts, newest first',
      description: 'Everything at once; with `limit` a page, whose `next` leads to the one after.',
      parameters: pageParameters(BOARD_CURSOR),
      answer: z.strictObject({ boards: z.array(Board), next: nextCursor.optional() }).meta({ id: 'BoardsAnswer' }),
      answerHeaders: LINK,
      long: true,
      scope: 'boards:read',
    },
    async ({ db, search, publicUrl }: BoardsDeps, { caller, query: { limit, after }, req, res, charge }) => {
      const size = Math.min(limit ?? Infinity, await countBoards(db, caller.account.id))
      await charge(pointsForBoards(size) - POINTS.read)
      const { boards, next } = await listBoards(db, caller.account.id, { limit, after })
      linkNext({ req, res }, publicUrl, { limit, next })
      return { boards: await toBoards({ search, publicUrl }, boards), ...nextOf({ limit, after }, next) }
    },
  ),

  idempotentPost(
    {
      id: 'createBoard',
      method: 'post',
      path: '/api/boards',
      tag: 'Account',
      summary: 'Create a board',
      description:
        'Every call makes a board, also one of a name that the account has already. To repeat a call safely, send an ' +
        '`Idempotency-Key`. The tool `create_board` returns the board of that name instead.',
      body: BoardBody,
      example: { name: 'Logo reveals' },
      answer: boardAnswer,
      status: 201,
      scope: 'boards:write',
      errors: [409],
    },
    async ({ search, publicUrl }: BoardsDeps, { tx, caller, body }) => {
      const board = await createBoard(tx, { accountId: caller.account.id, name: body.name })
      return { board: (await toBoards({ search, publicUrl }, [board]))[0]! }
    },
    { locationOf: ({ board }) => `/api/boards/${board.id}` },
  ),

  endpoint(
    {
      id: 'getBoard',
      method: 'get',
      path: '/api/boards/:id',
      tag: 'Account',
      summary: `One board with its frames in the owner’s order, ${BOARD_PAGE} a page`,
      parameters: itemParameters,
      answer: z.strictObject({ board: BoardWithItems, next: nextCursor }).meta({ id: 'BoardAnswer' }),
      answerHeaders: LINK,
      long: true,
      scope: 'boards:read',
      errors: [404],
    },
    async (deps: BoardsDeps, input) =>
      sendBoardPage(deps, input, {
        kind: 'own',
        look: () => findBoard(deps.db, boardOf(input)),
        view: (stored) => toBoardWithItems(deps, stored),
      }),
  ),

  endpoint(
    {
      id: 'renameBoard',
      method: 'patch',
      path: '/api/boards/:id',
      tag: 'Account',
      summary: 'Rename a board',
      body: BoardBody,
      example: { name: 'Best logo reveals' },
      answer: boardAnswer,
      scope: 'boards:write',
      errors: [404],
    },
    async ({ db, search, publicUrl }: BoardsDeps, input) => {
      const board = await renameBoard(db, { ...boardOf(input), name: input.body.name })
      return { board: (await toBoards({ search, publicUrl }, [board]))[0]! }
    },
  ),

  endpoint(
    {
      id: 'deleteBoard',
      method: 'delete',
      path: '/api/boards/:id',
      tag: 'Account',
      summary: 'Delete a board and its pins',
      answer: Ok,
      scope: 'boards:write',
      everyPlan: true,
      errors: [404],
    },
    async ({ db }: BoardsDeps, input) => {
      await input.charge(pointsForFrames(await boardSize(db, boardOf(input))) - POINTS.write)
      await deleteBoard(db, boardOf(input))
      return OK
    },
  ),

  endpoint(
    {
      id: 'exportBoard',
      method: 'get',
      path: '/api/boards/:id/export',
      tag: 'Account',
      summary: 'A board with its credits, as a file',
      parameters: exportParameters,
      answer: z.strictObject({ board: Board, ...exportShape }).meta({ id: 'BoardExport' }),
      alternatives: ['text/csv'],
      scope: 'boards:read',
      everyPlan: true,
      errors: [404],
    },
    async (deps: BoardsDeps, input) => {
      input.hold('longAnswers')
      const { board: stored } = await loadBoard(deps.db, boardOf(input), { limit: 0 })
      await input.charge(pointsForItems(stored.itemCount) - POINTS.read)
      const [board] = await toBoards(deps, [stored])
      return sendDownload(input, {
        format: input.query.format,
        name: `board-${stored.id}`,
        about: { board },
        batches: rowsOf(deps, stored),
      })
    },
  ),
]
