import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { sendJson } from '../http/compressed-body.ts'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import type { KeptAnswers } from '../http/kept-answers.ts'
import { POINTS, pointsForFrames, pointsForItems } from '../http/rate-limit/budgets.ts'
import { jsonText } from '../json-text.ts'
import type { Caller } from '../library/accounts/keys.ts'
import {
  BOARD_PAGE,
  type BoardVersion,
  createBoard,
  deleteBoard,
  findBoard,
  findSharedBoard,
  type LoadedBoard,
  listBoards,
  loadBoard,
  loadFoundBoard,
  loadPinnedIds,
  loadPins,
  MAX_BOARD_NAME,
  PIN_CURSOR,
  renameBoard,
  type Board as StoredBoard,
  shareBoard,
  unshareBoard,
} from '../library/collections/boards.ts'
import { MAX_NOTE, MAX_PINS, pinFrame, pinFrames, unpinFrames } from '../library/collections/pins.ts'
import type { Parameters } from '../parameters.ts'
import {
  Board,
  BoardWithItems,
  type CollectionDeps,
  toBoards,
  toBoardWithItems,
  toPinnedFrames,
} from '../views/collections.ts'
import { BATCH, exportParameters, sendDownload, sendList } from '../views/download.ts'
import { type ExportRow, exportShape, toExportRow } from '../views/export.ts'
import { frameIdSchema } from '../views/frame.ts'
import { OK, Ok } from '../views/ok.ts'
import { cursorParameter, LINK, linkNext, nextCursor, nextOf, pageParameters } from './paging.ts'

export interface BoardsDeps extends CollectionDeps {
  db: Db
  /** Cached pages of boards, keyed by the version of the board. */
  kept: KeptAnswers
}

const BoardBody = z.strictObject({ name: z.string().trim().min(1).max(MAX_BOARD_NAME) })
const note = z.string().max(MAX_NOTE).nullable().optional()
const boardAnswer = z.strictObject({ board: Board })

/** The board that a path names, as the calling account's. */
function boardOf({ caller, params }: { caller: Caller; params: { id: string } }) {
  return { accountId: caller.account.id, boardId: params.id }
}

const itemParameters = { after: cursorParameter(PIN_CURSOR) } as const satisfies Parameters

/** Sends a page of a board, from memory while board and library are unchanged. */
async function sendBoardPage(
  { db, kept, publicUrl }: BoardsDeps,
  { req, res, query: { after } }: { req: Request; res: Response; query: { after?: string | undefined } },
  board: BoardVersion,
  { kind, view }: { kind: string; view: (stored: LoadedBoard) => Promise<object> },
): Promise<undefined> {
  const { body, next } = await kept.find(`${kind} ${board.id} ${board.version} ${after ?? ''}`, async () => {
    const stored = await loadFoundBoard(db, board, { after, limit: BOARD_PAGE })
    return { text: JSON.stringify({ board: await view(stored), next: stored.next }), next: stored.next }
  })
  linkNext({ req, res }, publicUrl, { limit: undefined, next })
  await sendJson(req, res, body)
  return undefined
}

/** A board's rows in batches. Each is loaded when the previous one is sent. */
async function* rowsOf(deps: BoardsDeps, board: StoredBoard) {
  const ids = await loadPinnedIds(deps.db, board)
  for (let from = 0; from < ids.length; from += BATCH) {
    const pins = await loadPins(deps.db, board, ids.slice(from, from + BATCH))
    yield (await toPinnedFrames(deps, pins)).map(toExportRow)
  }
}

/** One board at a time: each may have 5,000 pins. */
async function* everyBoard(deps: BoardsDeps, accountId: string, stored: readonly StoredBoard[]) {
  for (const { id } of stored) {
    const found = await loadBoard(deps.db, { accountId, boardId: id }, { limit: 0 }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    })
    // Deleted meanwhile.
    if (!found) continue
    const [shown] = await toBoards(deps, [found.board])
    const items: ExportRow[] = []
    for await (const rows of rowsOf(deps, found.board)) items.push(...rows)
    yield [{ ...shown!, items }]
  }
}

const boards = [
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
      const about = { exported_at: jsonText(new Date()) }
      return sendList({ sendPieces }, about, 'boards', everyBoard(deps, account.id, stored))
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
      parameters: pageParameters(/^[0-9]{1,14}\.[0-9A-Za-z]{1,32}$/),
      answer: z.strictObject({ boards: z.array(Board), next: nextCursor.optional() }).meta({ id: 'BoardsAnswer' }),
      answerHeaders: LINK,
      long: true,
      scope: 'boards:read',
    },
    async ({ db, search, publicUrl }: BoardsDeps, { caller, query: { limit, after }, req, res, charge }) => {
      const { boards, next } = await listBoards(db, caller.account.id, { limit, after })
      await charge(pointsForItems(boards.length) - POINTS.read)
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
      sendBoardPage(deps, input, await findBoard(deps.db, boardOf(input)), {
        kind: 'own',
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
      const { board } = await loadBoard(db, boardOf(input), { limit: 0 })
      await input.charge(pointsForItems(board.itemCount) - POINTS.read)
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
        about: { board: jsonText(board) },
        batches: rowsOf(deps, stored),
      })
    },
  ),
]

const pins = [
  idempotentPost(
    {
      id: 'pinFrames',
      method: 'post',
      path: '/api/boards/:id/frames',
      tag: 'Account',
      summary: 'Pin many frames at once',
      body: z.strictObject({ frameIds: z.array(frameIdSchema).min(1).max(500), note }),
      example: { frameIds: ['k3v9x0aq7m2d-1a4c'], note: 'For the opening' },
      answer: z.strictObject({ ok: z.literal(true), pinned: z.array(z.string()), already: z.array(z.string()) }),
      scope: 'boards:write',
      errors: [404, 409],
    },
    async (_deps: BoardsDeps, input) => {
      const { pinned, already } = await pinFrames(input.tx, { ...boardOf(input), ...input.body })
      return { ok: true as const, pinned, already }
    },
    { pointsOf: ({ frameIds }) => pointsForFrames(frameIds.length) },
  ),

  endpoint(
    {
      id: 'pinFrame',
      method: 'put',
      path: '/api/boards/:id/frames/:frameId',
      tag: 'Account',
      summary: 'Pin a frame, move its pin, or change its note',
      body: z.strictObject({ note, position: z.int().min(0).max(MAX_PINS).optional() }),
      bodyOptional: true,
      example: { note: 'For the opening', position: 0 },
      answer: z.strictObject({ ok: z.literal(true), position: z.int() }),
      scope: 'boards:write',
      errors: [404, 409],
    },
    async ({ db }: BoardsDeps, input) => {
      const { note, position } = input.body
      const pin = await pinFrame(db, { ...boardOf(input), frameId: input.params.frameId, note, position })
      return { ok: true as const, position: pin.position }
    },
  ),

  endpoint(
    {
      id: 'unpinFrame',
      method: 'delete',
      path: '/api/boards/:id/frames/:frameId',
      tag: 'Account',
      summary: 'Unpin a frame; a second time changes nothing',
      answer: Ok,
      scope: 'boards:write',
      everyPlan: true,
      errors: [404],
    },
    async ({ db }: BoardsDeps, input) => {
      await unpinFrames(db, { ...boardOf(input), frameIds: [input.params.frameId] })
      return OK
    },
  ),
]

const sharing = [
  idempotentPost(
    {
      id: 'shareBoard',
      method: 'post',
      path: '/api/boards/:id/share',
      tag: 'Account',
      summary: 'Make a new share link; the previous one ends',
      body: z.strictObject({}),
      bodyOptional: true,
      example: {},
      answer: z.strictObject({ url: z.url(), json_url: z.url() }),
      status: 201,
      scope: 'boards:write',
      errors: [404],
    },
    async ({ publicUrl }: BoardsDeps, input) => {
      const { token } = await shareBoard(input.tx, boardOf(input))
      return { url: `${publicUrl}/shared/${token}`, json_url: `${publicUrl}/api/shared/${token}` }
    },
    { secret: true, locationOf: ({ json_url }) => new URL(json_url).pathname },
  ),

  endpoint(
    {
      id: 'unshareBoard',
      method: 'delete',
      path: '/api/boards/:id/share',
      tag: 'Account',
      summary: 'End the share link',
      answer: Ok,
      scope: 'boards:write',
      everyPlan: true,
      errors: [404],
    },
    async ({ db }: BoardsDeps, input) => {
      await unshareBoard(db, boardOf(input))
      return OK
    },
  ),

  endpoint(
    {
      id: 'getSharedBoard',
      method: 'get',
      path: '/api/shared/:token',
      tag: 'Account',
      summary: 'A shared board, for everyone who has the link',
      parameters: itemParameters,
      answer: z.strictObject({ board: BoardWithItems.omit({ shared_at: true }), next: nextCursor }),
      answerHeaders: LINK,
      long: true,
      errors: [404],
      // Not cached: the link ends as soon as it is revoked.
      headers: { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' },
    },
    async (deps: BoardsDeps, input) =>
      sendBoardPage(deps, input, await findSharedBoard(deps.db, input.params.token), {
        kind: 'shared',
        async view(stored) {
          const { shared_at: _, ...board } = await toBoardWithItems(deps, stored)
          return board
        },
      }),
  ),
]

export const boardEndpoints = [...boards, ...pins, ...sharing]
