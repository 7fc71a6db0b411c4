import { z } from 'zod'
import { inTransactionOf } from '../../db/client.ts'
import { invalid, notFound } from '../../errors.ts'
import { refusalOf } from '../../library/accounts/key-checks.ts'
import { shareBoard, unshareBoard } from '../../library/collections/board-settings.ts'
import {
  type Board,
  countBoards,
  createBoard,
  deleteBoard,
  ensureBoard,
  findBoardIds,
  listBoards,
  loadBoard,
  MAX_BOARD_DESCRIPTION,
  MAX_BOARD_NAME,
  updateBoard,
} from '../../library/collections/boards.ts'
import { toPinnedFrames } from '../../views/collections.ts'
import { CSV_HEAD, toCsvLines, toExportRow } from '../../views/export.ts'
import { readCursor, toCursor } from '../arguments.ts'
import { CompactFrame, moreWith, plural, quote, toCompactFrame, VideoNames } from '../present.ts'
import { ADDS, defineTool, READS, REMOVES, type Tool, type ToolApp, type ToolContext } from '../tool.ts'
import { flagArgument, limitArgument } from '../values.ts'
import { accountOf, presentRows, rightsOf, withCursorNamed } from './collection.ts'
import { cursorArgument } from './library.ts'

export const boardIdArgument = z.string().trim().min(1).max(300).describe('Id or unique name')
const boardName = z.string().min(1).max(MAX_BOARD_NAME)
const BoardSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().optional(),
  item_count: z.number(),
  shared: z.boolean(),
  updated_at: z.string(),
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
  if (boardId === undefined)
    throw notFound(`board: ${quote(given, 60)}. list_boards names yours, create_board makes one`)
  if (more.length === 0) return { accountId, boardId }
  const ids = [boardId, ...more].slice(0, 5).join(', ')
  throw invalid('board_id', `board_id: ${more.length + 1} boards have this name. Pass the id of one: ${ids}.`)
}

export function boardTools(deps: ToolApp): Tool[] {
  return [
    listBoardsTool(deps),
    getBoard(deps),
    createBoardTool(deps),
    updateBoardTool(deps),
    deleteBoardTool(deps),
    exportBoard(deps),
  ]
}

function listBoardsTool({ db }: ToolApp): Tool {
  return defineTool({
    name: 'list_boards',
    title: 'List your boards',
    description: 'Boards of this account with their frame counts, newest first.',
    annotations: READS,
    ...rightsOf('listBoards'),
    input: z.strictObject({ limit: limitArgument(50, 100), cursor: cursorArgument }),
    output: z.object({ boards: z.array(BoardSummary), total: z.number(), next_cursor: z.string().nullable() }),
    async run(args, context) {
      const accountId = accountOf(context)
      const [{ boards, next }, total] = await Promise.all([
        withCursorNamed(args.cursor, listBoards(db, accountId, { limit: args.limit, after: args.cursor })),
        countBoards(db, accountId),
      ])
      const heading = total === 0 ? 'No boards. create_board makes one.' : `${plural(total, 'board')}${moreWith(next)}`
      return {
        text: [heading, ...boards.map(boardLine)].join('\n'),
        structured: { boards: boards.map(toSummary), total, next_cursor: next },
      }
    },
  })
}

function getBoard(deps: ToolApp): Tool {
  return defineTool({
    name: 'get_board',
    title: 'Open a board',
    description: 'A board’s frames in their order, with the note of each.',
    annotations: READS,
    ...rightsOf('getBoard'),
    inGallery: true,
    input: z.strictObject({ board_id: boardIdArgument, limit: limitArgument(40, 100), cursor: cursorArgument }),
    output: z.object({
      board: BoardSummary,
      frames: z.array(CompactFrame.extend({ note: z.string().nullable(), pinned_at: z.string() })),
      videos: VideoNames,
      total: z.number(),
      next_cursor: z.string().nullable(),
    }),
    async run(args, context) {
      const { page } = readCursor('get_board', args, args.cursor)
      const skip = (page - 1) * args.limit
      const at = await boardAt(deps, args.board_id, context)
      const { board, pins, next: more } = await loadBoard(deps.db, at, { limit: args.limit, skip })
      const next = more === null ? null : toCursor('get_board', args, page + 1)
      const { shown, text, links, videos } = await presentRows(deps, pins, boardLine(board) + moreWith(next))
      const frames = shown.map(({ row, frame }) => ({
        ...toCompactFrame(frame, deps.publicUrl),
        note: row.note,
        pinned_at: row.pinnedAt.toISOString(),
      }))
      return {
        text,
        links,
        structured: { board: toSummary(board), frames, videos, total: board.itemCount, next_cursor: next },
      }
    },
  })
}

function createBoardTool({ db }: ToolApp): Tool {
  return defineTool({
    name: 'create_board',
    title: 'Create a board',
    description:
      'Make a board. If the account has one of this name, returns that one and changes nothing; ' +
      'with another: true it makes a second.',
    annotations: { ...ADDS, idempotentHint: false },
    ...rightsOf('createBoard'),
    input: z.strictObject({ name: boardName, another: flagArgument() }),
    output: z.object({ board: BoardSummary, created: z.boolean() }),
    async run({ name, another }, context) {
      const wanted = { accountId: accountOf(context), name }
      const { board, created } = another
        ? { board: await createBoard(db, wanted), created: true }
        : await ensureBoard(db, wanted)
      return {
        text: created
          ? `Created ${boardLine(board)}`
          : `Already exists: ${boardLine(board)}. another: true makes a second one of this name.`,
        structured: { board: toSummary(board), created },
      }
    },
  })
}

function updateBoardTool(deps: ToolApp): Tool {
  const { db, publicUrl } = deps
  return defineTool({
    name: 'update_board',
    title: 'Rename, describe or share a board',
    description: 'Change a board. share: new_link makes its public link, and an earlier one ends; end ends it.',
    annotations: { ...ADDS, idempotentHint: false },
    ...rightsOf('renameBoard'),
    // Ending a share takes back. The rest asks for the plan itself.
    allowLapsedPlan: true,
    input: z.strictObject({
      board_id: boardIdArgument,
      name: boardName.optional(),
      description: z.string().max(MAX_BOARD_DESCRIPTION).optional().describe('Empty removes it'),
      share: z.enum(['new_link', 'end']).optional(),
    }),
    output: z.object({ board: BoardSummary, changed: z.array(z.string()), url: z.string().optional() }),
    async run({ board_id, share, ...changes }, context) {
      const isChange = Object.keys(changes).length > 0
      if (!isChange && share === undefined) throw invalid('name', 'Pass name, description or share: what to change.')
      const refused = isChange || share === 'new_link' ? refusalOf(context.caller!, 'boards:write') : undefined
      if (refused) throw refused
      const at = await boardAt(deps, board_id, context)
      return inTransactionOf(at.accountId, db, async (tx) => {
        const { board, changed: done } = await updateBoard(tx, { ...at, ...changes })
        const changed: string[] = [...done]
        const wasShared = board.sharedAt !== null
        if (share === 'end' && wasShared) changed.push('share')
        if (share === 'end') await unshareBoard(tx, at)
        const link = share === 'new_link' ? await shareBoard(tx, at) : undefined
        const url = link && `${publicUrl}/shared/${link.token}`
        const shown = { ...toSummary(board), shared: share === undefined ? wasShared : share === 'new_link' }
        const lines = [
          changed.length > 0 ? `Changed ${changed.join(', ')}: ${boardLine(board)}` : '',
          url ? `Everyone with this link sees it. The board’s page shows it again: ${url}` : '',
          changed.length === 0 && !url ? `Nothing changed: ${boardLine(board)} was so already.` : '',
        ]
        return { text: lines.filter(Boolean).join('\n'), structured: { board: shown, changed, url } }
      })
    },
  })
}

function deleteBoardTool(deps: ToolApp): Tool {
  return defineTool({
    name: 'delete_board',
    title: 'Delete a board',
    description:
      'Delete a board with its pins and notes, permanently. Without confirm it only says what would be deleted.',
    annotations: REMOVES,
    ...rightsOf('deleteBoard'),
    input: z.strictObject({ board_id: boardIdArgument, confirm: flagArgument() }),
    output: z.object({ board: BoardSummary, deleted: z.boolean() }),
    async run({ board_id, confirm = false }, context) {
      const at = await boardAt(deps, board_id, context)
      const { board } = await loadBoard(deps.db, at, { limit: 0 })
      if (confirm) await deleteBoard(deps.db, at)
      const text = confirm
        ? `Deleted ${boardLine(board)}.`
        : `Not deleted: ${boardLine(board)}. Call delete_board again with confirm: true if its owner wants that.`
      return { text, structured: { board: toSummary(board), deleted: confirm } }
    },
  })
}

/** Longer files are not put into the context of a model. */
const MAX_FILE = 60_000

function exportBoard(deps: ToolApp): Tool {
  return defineTool({
    name: 'export_board',
    title: 'Export a board',
    description: 'A board as a file with the credit of every frame.',
    annotations: READS,
    ...rightsOf('exportBoard'),
    input: z.strictObject({ board_id: boardIdArgument, type: z.enum(['csv', 'json']).default('csv') }),
    output: z.object({ board: BoardSummary, file: z.string() }),
    async run({ board_id, type }, context) {
      const at = await boardAt(deps, board_id, context)
      const { board, pins } = await loadBoard(deps.db, at, { limit: MAX_FILE / 100 })
      const rows = (await toPinnedFrames(deps, pins)).map(toExportRow)
      const file = type === 'csv' ? CSV_HEAD.slice(1) + toCsvLines(rows) : JSON.stringify(rows)
      if (pins.length < board.itemCount || file.length > MAX_FILE)
        throw invalid(
          'board_id',
          `board_id: the file of ${boardLine(board)} is too long for a result. ` +
            `Download ${deps.publicUrl}/api/boards/${board.id}/export?format=${type} with the same key.`,
        )
      return { text: file, structured: { board: toSummary(board), file } }
    },
  })
}

function toSummary(board: Board): z.infer<typeof BoardSummary> {
  const { id, name, description, itemCount, sharedAt, updatedAt } = board
  return {
    id,
    name,
    description: description ?? undefined,
    item_count: itemCount,
    shared: sharedAt !== null,
    updated_at: updatedAt.toISOString(),
  }
}

function boardLine({ id, name, itemCount }: Board): string {
  return `board ${id} ${quote(name, 120)} (${plural(itemCount, 'frame')})`
}
