import { z } from 'zod'
import { invalid, notFound } from '../../errors.ts'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import {
  type Board,
  ensureBoard,
  findBoardIds,
  listBoards,
  loadBoard,
  MAX_BOARD_NAME,
} from '../../library/collections/boards.ts'
import { MAX_NOTE, pinFrames, unpinFrames } from '../../library/collections/pins.ts'
import { readCursor, toCursor } from '../cursor.ts'
import { CompactFrame, clip, moreWith, plural, toCompactFrame, VideoNames } from '../present.ts'
import { ADDS, defineTool, READS, REMOVES, type Tool, type ToolContext } from '../tool.ts'
import { limitArgument } from '../values.ts'
import {
  type AccountToolDeps,
  accountOf,
  frameIdList,
  frameIdsArgument,
  MAX_IDS,
  pointsOfFrames,
  presentRows,
  withCursorNamed,
} from './collection.ts'
import { cursorArgument } from './frame-arguments.ts'

const boardIdArgument = z.string().trim().min(1).max(300).describe('Id, or name where only one board has it')
const BoardSummary = z.object({ id: z.string(), name: z.string(), item_count: z.number(), updated_at: z.string() })

/**
 * The board that `board_id` means, as the calling account's.
 * @throws AppError not_found, also for another account's board; invalid_request where several boards have the name.
 */
async function boardAt(
  { db }: AccountToolDeps,
  given: string,
  context: ToolContext,
): Promise<{ accountId: string; boardId: string }> {
  const accountId = accountOf(context)
  const [boardId, ...more] = await findBoardIds(db, { accountId, idOrName: given })
  if (boardId === undefined)
    throw notFound(`board: "${clip(given, 60)}". list_boards names yours, create_board makes one`)
  if (more.length === 0) return { accountId, boardId }
  const ids = [boardId, ...more].slice(0, 5).join(', ')
  throw invalid('board_id', `board_id: ${more.length + 1} boards have this name. Pass the id of one: ${ids}.`)
}

export function boardTools(deps: AccountToolDeps): Tool[] {
  return [listBoardsTool(deps), getBoard(deps), createBoard(deps), pinFrame(deps), unpinFrame(deps)]
}

function listBoardsTool({ db }: AccountToolDeps): Tool {
  return defineTool({
    name: 'list_boards',
    title: 'List your boards',
    description: 'Boards of this account with their frame counts, newest first.',
    annotations: READS,
    points: POINTS.read,
    scope: 'boards:read',
    cacheable: false,
    input: z.strictObject({ limit: limitArgument(50, 100), cursor: cursorArgument }),
    output: z.object({ boards: z.array(BoardSummary), next_cursor: z.string().nullable() }),
    async run(args, context) {
      const { boards, next } = await withCursorNamed(
        args.cursor,
        listBoards(db, accountOf(context), { limit: args.limit, after: args.cursor }),
      )
      const heading =
        boards.length === 0
          ? 'No boards. create_board makes one.'
          : `${plural(boards.length, 'board')}${moreWith(next)}`
      return {
        text: [heading, ...boards.map(boardLine)].join('\n'),
        structured: { boards: boards.map(toSummary), next_cursor: next },
      }
    },
  })
}

function getBoard(deps: AccountToolDeps): Tool {
  return defineTool({
    name: 'get_board',
    title: 'Open a board',
    description: 'A board’s frames in their order, with the note of each.',
    annotations: READS,
    points: POINTS.read,
    scope: 'boards:read',
    cacheable: false,
    input: z.strictObject({ board_id: boardIdArgument, limit: limitArgument(40, 100), cursor: cursorArgument }),
    output: z.object({
      board: BoardSummary,
      frames: z.array(CompactFrame.extend({ note: z.string().nullable(), pinned_at: z.string() })),
      videos: VideoNames,
      next_cursor: z.string().nullable(),
    }),
    async run(args, context) {
      const page = readCursor('get_board', args, args.cursor)
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
      return { text, links, structured: { board: toSummary(board), frames, videos, next_cursor: next } }
    },
  })
}

function createBoard({ db }: AccountToolDeps): Tool {
  return defineTool({
    name: 'create_board',
    title: 'Create a board',
    description:
      'Make a board. If the account has one of this name, returns that one and changes nothing; ' +
      'the HTTP API would make a second.',
    annotations: ADDS,
    points: POINTS.write,
    scope: 'boards:write',
    cacheable: false,
    input: z.strictObject({ name: z.string().min(1).max(MAX_BOARD_NAME) }),
    output: z.object({ board: BoardSummary, created: z.boolean() }),
    async run({ name }, context) {
      const { board, created } = await ensureBoard(db, { accountId: accountOf(context), name })
      return {
        text: `${created ? 'Created' : 'Already exists:'} ${boardLine(board)}`,
        structured: { board: toSummary(board), created },
      }
    },
  })
}

function pinFrame(deps: AccountToolDeps): Tool {
  return defineTool({
    name: 'pin_frame',
    title: 'Pin frames to a board',
    description:
      `Put up to ${MAX_IDS} frames at the end of a board, in the order given. ` +
      'Frames already there stay as they are; unpin_frame undoes it.',
    annotations: ADDS,
    points: POINTS.write,
    pointsOf: pointsOfFrames,
    scope: 'boards:write',
    cacheable: false,
    input: z.strictObject({
      board_id: boardIdArgument,
      frame_ids: frameIdsArgument,
      note: z.string().max(MAX_NOTE).optional().describe('Why, for each newly pinned frame'),
    }),
    output: z.object({ pinned: frameIdList, already_pinned: frameIdList }),
    async run({ board_id, frame_ids, note }, context) {
      const at = await boardAt(deps, board_id, context)
      const { pinned, already } = await pinFrames(deps.db, { ...at, frameIds: frame_ids, note })
      const before = already.length > 0 ? ` ${already.length} pinned before.` : ''
      const text = `Pinned ${plural(pinned.length, 'frame')}.${before}`
      return { text, structured: { pinned, already_pinned: already } }
    },
  })
}

function unpinFrame(deps: AccountToolDeps): Tool {
  return defineTool({
    name: 'unpin_frame',
    title: 'Unpin frames',
    description:
      'Remove frames and their notes from a board. Frames that are not on it are skipped. ' +
      'pin_frame puts them back at its end.',
    annotations: REMOVES,
    points: POINTS.write,
    pointsOf: pointsOfFrames,
    scope: 'boards:write',
    everyPlan: true,
    cacheable: false,
    input: z.strictObject({ board_id: boardIdArgument, frame_ids: frameIdsArgument }),
    output: z.object({ unpinned: frameIdList }),
    async run({ board_id, frame_ids }, context) {
      const at = await boardAt(deps, board_id, context)
      const { unpinned } = await unpinFrames(deps.db, { ...at, frameIds: frame_ids })
      return { text: `Unpinned ${plural(unpinned.length, 'frame')}.`, structured: { unpinned } }
    },
  })
}

function toSummary({ id, name, itemCount, updatedAt }: Board): z.infer<typeof BoardSummary> {
  return { id, name, item_count: itemCount, updated_at: updatedAt.toISOString() }
}

function boardLine({ id, name, itemCount }: Board): string {
  return `board ${id} "${clip(name, 120)}" (${plural(itemCount, 'frame')})`
}
