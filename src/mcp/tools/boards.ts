import { z } from 'zod'
import { plural, quote } from '../../clean-text.ts'
import { inTransactionOf, type Tx } from '../../db/client.ts'
import { invalid, notFound } from '../../errors.ts'
import { findShareToken, shareBoard } from '../../library/collections/board-settings.ts'
import {
  type Board,
  countBoards,
  createBoard,
  ensureBoard,
  findBoardIds,
  listBoards,
  loadBoard,
  MAX_BOARD_DESCRIPTION,
  MAX_BOARD_NAME,
  updateBoard,
} from '../../library/collections/boards.ts'
import { boardBrief, MOST_PANELS } from '../../views/brief.ts'
import { toPinnedFrames } from '../../views/collections.ts'
import { CSV_HEAD, toCsvLines, toExportRow } from '../../views/export.ts'
import { readCursor, toCursor } from '../arguments.ts'
import { type Detail, DetailedFrame, moreWith, VideoNames } from '../present.ts'
import { ADDS, defineTool, READS, type Tool, type ToolApp, type ToolContext } from '../tool.ts'
import { flagArgument, formatArgument, limitArgument } from '../values.ts'
import { accountOf, presentRows, rightsOf, withCursorNamed } from './collection.ts'
import { briefDetailArgument, cursorArgument } from './library.ts'

export const boardIdArgument = z.string().trim().min(1).max(300).describe('Id or unique name')
const boardName = z.string().min(1).max(MAX_BOARD_NAME)
const BoardSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().optional(),
  item_count: z.number(),
  shared: z.boolean(),
})

/**
 * The board that `board_id` means, as the calling account's.
 * @throws AppError not_found, also for another account's board; invalid_request where several boards have the name.
 */
export async function boardAt(
  { db }: ToolApp,
  given: string,
  context: ToolContext,
): Promise<{ accountId: string; boardId: string }> {
  const accountId = accountOf(context)
  const [boardId, ...more] = await findBoardIds(db, { accountId, idOrName: given })
  if (boardId === undefined) throw notFound(`board: ${quote(given, 60)}. get_board names yours, edit_board makes one`)
  if (more.length === 0) return { accountId, boardId }
  const ids = [boardId, ...more].slice(0, 5).join(', ')
  throw invalid('board_id', `board_id: ${more.length + 1} boards have this name. Pass the id of one: ${ids}.`)
}

export function boardTools(deps: ToolApp): Tool[] {
  return [getBoard(deps), editBoard(deps), exportBoard(deps)]
}

function getBoard(deps: ToolApp): Tool {
  return defineTool({
    name: 'get_board',
    title: 'Open a board, or list yours',
    description: 'A board’s frames in their order, with the note of each. Without board_id: your boards, newest first.',
    annotations: READS,
    ...rightsOf('listBoards'),
    raises: ({ board_id }) => board_id !== undefined && 'search',
    inGallery: true,
    input: z.strictObject({
      board_id: boardIdArgument.optional(),
      limit: limitArgument(40, 100),
      cursor: cursorArgument,
      detail: briefDetailArgument,
      format: formatArgument,
    }),
    output: z.object({
      boards: z.array(BoardSummary).optional(),
      board: BoardSummary.optional(),
      frames: z.array(DetailedFrame).optional(),
      videos: VideoNames.optional(),
      total: z.number(),
      next_cursor: z.string().nullable(),
    }),
    run: ({ board_id, ...page }, context) =>
      board_id === undefined ? listOwn(deps, page, context) : openBoard(deps, { ...page, board_id }, context),
  })
}

type Page = { limit: number; cursor?: string | undefined; detail: Detail }

async function listOwn({ db }: ToolApp, { limit, cursor }: Page, context: ToolContext) {
  const accountId = accountOf(context)
  const [{ boards, next }, total] = await Promise.all([
    withCursorNamed(cursor, listBoards(db, accountId, { limit, after: cursor })),
    countBoards(db, accountId),
  ])
  const heading = total === 0 ? 'No boards. edit_board makes one.' : `${plural(total, 'board')}${moreWith(next)}`
  return {
    text: [heading, ...boards.map(ownLine)].join('\n'),
    structured: { boards: boards.map(toSummary), total, next_cursor: next },
  }
}

async function openBoard(deps: ToolApp, args: Page & { board_id: string }, context: ToolContext) {
  const { page } = readCursor('get_board', args, args.cursor)
  const skip = (page - 1) * args.limit
  const at = await boardAt(deps, args.board_id, context)
  const { board, pins, next: more } = await loadBoard(deps.db, at, { limit: args.limit, skip })
  const next = more === null ? null : toCursor('get_board', args, page + 1)
  const end = page > 1 && pins.length === 0 ? '; no more frames' : moreWith(next)
  const { answer, listed } = await presentRows(deps, pins, ownLine(board) + end, args.detail)
  return { ...answer, structured: { board: toSummary(board), ...listed, total: board.itemCount, next_cursor: next } }
}

function editBoard(deps: ToolApp): Tool {
  const { db, publicUrl } = deps
  return defineTool({
    name: 'edit_board',
    title: 'Make, rename, describe or share a board',
    description:
      'Without board_id: the board of this name, made if there is none; another: true makes a second one. ' +
      'With board_id: name renames it. description and share change either. share: new_link makes its public link, ' +
      'or tells the present one.',
    annotations: { ...ADDS, idempotentHint: false },
    ...rightsOf('renameBoard'),
    input: z.strictObject({
      // Before board_id: a board by a name that fits both is this one, and made where there is none.
      name: boardName.optional(),
      board_id: boardIdArgument.optional(),
      description: z.string().max(MAX_BOARD_DESCRIPTION).optional().describe('Empty removes it'),
      share: z.enum(['new_link']).optional(),
      another: flagArgument(),
    }),
    output: z.object({
      board: BoardSummary,
      created: z.boolean(),
      changed: z.array(z.string()),
      url: z.string().optional(),
    }),
    async run({ board_id, name, description, share, another }, context) {
      if (board_id === undefined && name === undefined)
        throw invalid('name', 'Pass name to make a board, or board_id to change one.')
      if (board_id !== undefined && another)
        throw invalid('another', 'another makes a board, and board_id changes one: pass one of them.')
      if (board_id !== undefined && [name, description, share].every((value) => value === undefined))
        throw invalid('name', 'Pass name, description or share: what to change.')
      const accountId = accountOf(context)
      const at = board_id === undefined ? undefined : await boardAt(deps, board_id, context)
      return inTransactionOf(accountId, db, async (tx) => {
        const { boardId, created } = at
          ? { ...at, created: false }
          : await boardNamed(tx, { accountId, name: name! }, another)
        const own = { accountId, boardId }
        const { board, changed } = await updateBoard(tx, { ...own, name: at && name, description })
        const token = share && ((await findShareToken(tx, own)) ?? (await shareBoard(tx, own)).token)
        const url = token && `${publicUrl}/shared/${token}`
        const did = created ? 'Created' : `Changed ${changed.join(', ')}:`
        const isDone = created || changed.length > 0
        const was = at ? 'was so already' : 'is there already; another: true makes a second one of this name'
        const lines = [
          ...(isDone ? [`${did} ${boardLine(board)}`] : []),
          ...(isDone || url ? [] : [`Nothing changed: ${boardLine(board)} ${was}.`]),
          ...(url ? [`Everyone with this link sees it. The board’s page shows it again: ${url}`] : []),
        ]
        const shown = { ...toSummary(board), shared: board.sharedAt !== null || url !== undefined }
        return { text: lines.join('\n'), structured: { board: shown, created, changed, url } }
      })
    },
  })
}

async function boardNamed(tx: Tx, wanted: { accountId: string; name: string }, another: boolean) {
  if (another) return { boardId: (await createBoard(tx, wanted)).id, created: true }
  const { board, created } = await ensureBoard(tx, wanted)
  return { boardId: board.id, created }
}

/** Longer files are not put into the context of a model. */
const MAX_FILE = 60_000

function exportBoard(deps: ToolApp): Tool {
  return defineTool({
    name: 'export_board',
    title: 'Export a board',
    description: 'A board as a file with the credit of every frame, or as a storyboard to build from.',
    annotations: READS,
    ...rightsOf('exportBoard'),
    input: z.strictObject({ board_id: boardIdArgument, type: z.enum(['csv', 'json', 'storyboard']).default('csv') }),
    output: z.object({ board: BoardSummary, file: z.string() }),
    async run({ board_id, type }, context) {
      const at = await boardAt(deps, board_id, context)
      const isBrief = type === 'storyboard'
      const { board, pins } = await loadBoard(deps.db, at, { limit: isBrief ? MOST_PANELS : MAX_FILE / 100 })
      const rows = isBrief ? [] : (await toPinnedFrames(deps, pins)).map(toExportRow)
      const table = type === 'csv' ? CSV_HEAD.slice(1) + toCsvLines(rows) : JSON.stringify(rows)
      const file = isBrief ? (await boardBrief(deps, { board, pins })).page : table
      if ((!isBrief && pins.length < board.itemCount) || file.length > MAX_FILE)
        throw invalid(
          'board_id',
          `board_id: the file of ${boardLine(board)} is too long for a result. ` +
            `People find it on ${deps.publicUrl}/boards/${board.id}, programs with an API key at ` +
            `${deps.publicUrl}/api/boards/${board.id}/${isBrief ? 'brief.md' : `export?format=${type}`}.`,
        )
      return { text: file, structured: { board: toSummary(board), file } }
    },
  })
}

function toSummary(board: Board): z.infer<typeof BoardSummary> {
  const { id, name, description, itemCount, sharedAt } = board
  return { id, name, description: description ?? undefined, item_count: itemCount, shared: sharedAt !== null }
}

function ownLine(board: Board): string {
  const about = board.description ? `, about ${quote(board.description, 300)}` : ''
  return `${boardLine(board)}${board.sharedAt ? ', shared' : ''}${about}`
}

export function boardLine({ id, name, itemCount }: Board): string {
  return `board ${id} ${quote(name, 120)} (${plural(itemCount, 'frame')})`
}
