import type { Request, Response } from 'express'
import { z } from 'zod'
import { AppError } from '../errors.ts'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { MOST_ITEMS } from '../http/rate-limit/budgets.ts'
import { CompressibleBody, sendJson } from '../http/response-body.ts'
import type { Caller } from '../library/accounts/key-checks.ts'
import type { BoardVersion } from '../library/collections/board-settings.ts'
import {
  BOARD_CURSOR,
  BOARD_PAGE,
  createBoard,
  deleteBoard,
  findBoard,
  type LoadedBoard,
  listBoards,
  loadBoard,
  loadFoundBoard,
  MAX_BOARD_DESCRIPTION,
  MAX_BOARD_NAME,
  PIN_CURSOR,
  type Board as StoredBoard,
  updateBoard,
} from '../library/collections/boards.ts'
import { MAX_NOTE, MAX_PINS, pinFrame, pinFrames, unpinFrames } from '../library/collections/pins.ts'
import { jsonPieces } from '../library/json-pieces.ts'
import type { Parameters } from '../parameters.ts'
import { Board, BoardWithItems, pinnedBatches, toBoards, toBoardWithItems } from '../views/collections.ts'
import { asRows, exportParameters, exportShape, sendDownload, sendList } from '../views/export.ts'
import { frameIdSchema } from '../views/frame.ts'
import { OK, Ok } from '../views/resources.ts'
import type { App } from './app.ts'
import { cursorParameter, LINK, linkNext, MAX_LIMIT, nextCursor, nextOf, pageParameters } from './reads.ts'

/** What the endpoints of boards, pins and share links have in common. */

/** The board that a path names, as the calling account's. */
export function boardOf({ caller, params }: { caller: Caller; params: { id: string } }) {
  return { accountId: caller.account.id, boardId: params.id }
}

export const itemParameters = { after: cursorParameter(PIN_CURSOR) } as const satisfies Parameters

interface BoardPage {
  kind: 'own' | 'shared'
  /** Finds the board, or refuses. */
  look: () => Promise<BoardVersion>
  view: (stored: LoadedBoard) => Promise<object>
}

/** Sends a page of a board, from memory while board and library are unchanged. */
export async function sendBoardPage(
  { db, kept, publicUrl }: App,
  { req, res, query: { after } }: { req: Request; res: Response; query: { after?: string | undefined } },
  { kind, look, view }: BoardPage,
): Promise<undefined> {
  const board = await look()
  const { value } = await kept.getOrLoad(`${kind} board ${board.id} ${board.version} ${after ?? ''}`, async () => {
    const stored = await loadFoundBoard(db, board, { after, limit: BOARD_PAGE })
    const { next } = stored
    return { body: new CompressibleBody(JSON.stringify({ board: await view(stored), next })), next }
  })
  linkNext({ req, res }, publicUrl, { limit: undefined, next: value.next })
  await sendJson(req, res, value.body)
  return undefined
}

const name = z.string().trim().min(1).max(MAX_BOARD_NAME)
const BoardPatch = z
  .strictObject({ name, description: z.string().max(MAX_BOARD_DESCRIPTION).nullable() })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one of name, description')
  .meta({ minProperties: 1 })
const reading = { tag: 'Account', scope: 'boards:read' } as const
const writing = { tag: 'Account', scope: 'boards:write' } as const
const boardAnswer = z.strictObject({ board: Board })

async function* boardBatches(deps: App, accountId: string) {
  for (let after: string | null | undefined; after !== null; ) {
    const page = { limit: MOST_ITEMS, after }
    const { boards, next }: Awaited<ReturnType<typeof listBoards>> = await listBoards(deps.db, accountId, page)
    yield await toBoards(deps, boards)
    after = next
  }
}

/** One board at a time, in batches: each may have 5,000 pins. */
async function* everyBoard(deps: App, accountId: string, stored: readonly StoredBoard[]) {
  for (const { id } of stored) {
    const found = await loadBoard(deps.db, { accountId, boardId: id }, { limit: 0 }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    })
    // Deleted meanwhile.
    if (!found) continue
    const [shown] = await toBoards(deps, [found.board])
    yield jsonPieces(shown!, { items: asRows(pinnedBatches(deps, found.board)) })
  }
}

export const boardEndpoints = [
  // Declared before `/api/boards/:id`, which would take `export` for an id.
  endpoint(
    {
      ...reading,
      id: 'exportBoards',
      method: 'get',
      path: '/api/boards/export',
      summary: 'Every board with its notes and credits, as a file',
      parameters: {},
      answer: z
        .strictObject({
          exported_at: exportShape.exported_at,
          boards: z.array(Board.extend({ items: exportShape.items })),
        })
        .meta({ id: 'BoardsExport' }),
      price: 'heavy',
      allowLapsedPlan: true,
    },
    async (deps: App, { caller: { account }, res, sendPieces }) => {
      const { boards: stored } = await listBoards(deps.db, account.id)
      res.set('Content-Disposition', 'attachment; filename="boards.json"')
      const pieces = jsonPieces({ exported_at: new Date() }, { boards: everyBoard(deps, account.id, stored) })
      await sendPieces(pieces, 'application/json; charset=utf-8')
      return undefined
    },
  ),

  endpoint(
    {
      ...reading,
      id: 'listBoards',
      method: 'get',
      path: '/api/boards',
      summary: 'This account’s boards with their item counts, newest first',
      description: 'Everything at once; with `limit` a page, whose `next` leads to the one after.',
      parameters: pageParameters(BOARD_CURSOR),
      answer: z.strictObject({ boards: z.array(Board), next: nextCursor.optional() }).meta({ id: 'BoardsResponse' }),
      answerHeaders: LINK,
    },
    async (deps: App, { caller, query: { limit, after }, req, res, sendPieces }) => {
      const { db, search, publicUrl } = deps
      if (limit === undefined && after === undefined)
        return sendList({ sendPieces }, {}, 'boards', boardBatches(deps, caller.account.id))
      const { boards, next } = await listBoards(db, caller.account.id, { limit: limit ?? MAX_LIMIT, after })
      linkNext({ req, res }, publicUrl, { limit, next })
      return { boards: await toBoards({ search, publicUrl }, boards), ...nextOf({ limit, after }, next) }
    },
  ),

  idempotentPost(
    {
      ...writing,
      id: 'createBoard',
      path: '/api/boards',
      summary: 'Create a board',
      description:
        'Every call makes a board, also one of a name that the account has already. To repeat a call safely, send an ' +
        '`Idempotency-Key`. The tool `edit_board` returns the board of that name instead.',
      body: z.strictObject({ name }),
      example: { name: 'Logo reveals' },
      answer: boardAnswer,
      status: 201,
      errors: [409],
    },
    async ({ search, publicUrl }: App, { tx, caller, body }) => {
      const board = await createBoard(tx, { accountId: caller.account.id, name: body.name })
      return { board: (await toBoards({ search, publicUrl }, [board]))[0]! }
    },
    { locationOf: ({ board }) => `/api/boards/${board.id}` },
  ),

  endpoint(
    {
      ...reading,
      id: 'getBoard',
      method: 'get',
      path: '/api/boards/:id',
      summary: `One board with its frames in the owner’s order, ${BOARD_PAGE} a page`,
      parameters: itemParameters,
      price: 'search',
      answer: z.strictObject({ board: BoardWithItems, next: nextCursor }).meta({ id: 'BoardResponse' }),
      answerHeaders: LINK,
      errors: [404],
    },
    async (deps: App, input) =>
      sendBoardPage(deps, input, {
        kind: 'own',
        look: () => findBoard(deps.db, boardOf(input)),
        view: (stored) => toBoardWithItems(deps, stored),
      }),
  ),

  endpoint(
    {
      ...writing,
      id: 'renameBoard',
      method: 'patch',
      path: '/api/boards/:id',
      summary: 'Rename or describe a board',
      body: BoardPatch,
      example: { name: 'Best logo reveals', description: 'For the launch in May' },
      answer: boardAnswer,
      errors: [404],
    },
    async ({ db, search, publicUrl }: App, input) => {
      const { board } = await updateBoard(db, { ...boardOf(input), ...input.body })
      return { board: (await toBoards({ search, publicUrl }, [board]))[0]! }
    },
  ),

  endpoint(
    {
      ...writing,
      id: 'deleteBoard',
      method: 'delete',
      path: '/api/boards/:id',
      summary: 'Delete a board and its pins',
      answer: Ok,
      price: 'heavy',
      allowLapsedPlan: true,
      errors: [404],
    },
    async ({ db }: App, input) => {
      await deleteBoard(db, boardOf(input))
      return OK
    },
  ),

  endpoint(
    {
      ...reading,
      id: 'exportBoard',
      method: 'get',
      path: '/api/boards/:id/export',
      summary: 'A board with its credits, as a file',
      parameters: exportParameters,
      answer: z.strictObject({ board: Board, ...exportShape }).meta({ id: 'BoardExport' }),
      alternatives: ['text/csv'],
      price: 'heavy',
      allowLapsedPlan: true,
      errors: [404],
    },
    async (deps: App, input) => {
      const { board: stored } = await loadBoard(deps.db, boardOf(input), { limit: 0 })
      const [board] = await toBoards(deps, [stored])
      return sendDownload(input, {
        format: input.query.format,
        name: `board-${stored.id}`,
        about: { board },
        batches: pinnedBatches(deps, stored),
      })
    },
  ),
]

const note = z.string().max(MAX_NOTE).nullable().optional()
const position = z.int().min(0).max(MAX_PINS).optional()
const frameIds = z.array(z.string())

/** Frames on the boards of the calling account. */
export const pinEndpoints = [
  idempotentPost(
    {
      ...writing,
      id: 'pinFrames',
      path: '/api/boards/:id/frames',
      summary: 'Pin many frames at once',
      description: 'A note, or a position for the first of them, also changes frames that are pinned already.',
      body: z.strictObject({ frameIds: z.array(frameIdSchema).min(1).max(MOST_ITEMS), note, position }),
      example: { frameIds: ['k3v9x0aq7m2d-1a4c'], note: 'For the opening' },
      answer: z.strictObject({
        ok: z.literal(true),
        pinned: frameIds,
        already: frameIds,
        noted: frameIds,
        moved: frameIds,
      }),
      errors: [404, 409],
    },
    async (_deps: App, input) => {
      return { ok: true as const, ...(await pinFrames(input.tx, { ...boardOf(input), ...input.body })) }
    },
  ),

  endpoint(
    {
      ...writing,
      id: 'pinFrame',
      method: 'put',
      path: '/api/boards/:id/frames/:frameId',
      summary: 'Pin a frame, move its pin, or change its note',
      body: z.strictObject({ note, position }),
      bodyOptional: true,
      example: { note: 'For the opening', position: 0 },
      answer: z.strictObject({ ok: z.literal(true), position: z.int() }),
      errors: [404, 409],
    },
    async ({ db }: App, input) => {
      const { note, position } = input.body
      const pin = await pinFrame(db, { ...boardOf(input), frameId: input.params.frameId, note, position })
      return { ok: true as const, position: pin.position }
    },
  ),

  endpoint(
    {
      ...writing,
      id: 'unpinFrame',
      method: 'delete',
      path: '/api/boards/:id/frames/:frameId',
      summary: 'Unpin a frame; a second time changes nothing',
      answer: Ok,
      allowLapsedPlan: true,
      errors: [404],
    },
    async ({ db }: App, input) => {
      await unpinFrames(db, { ...boardOf(input), frameIds: [input.params.frameId] })
      return OK
    },
  ),
]
