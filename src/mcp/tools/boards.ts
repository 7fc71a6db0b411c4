import { z } from 'zod'
import { POINTS } from '../../http/rate-limit/budgets.ts'
import { type Board, ensureBoard, listBoards, loadBoard, MAX_BOARD_NAME } from '../../library/collections/boards.ts'
import { MAX_NOTE, pinFrames, unpinFrames } from '../../library/collections/pins.ts'
import { readCursor, toCursor } from '../cursor.ts'
import { CompactFrame, clip, moreWith, plural, toCompactFrame, toLink } from '../present.ts'
import { ADDS, defineTool, Id, READS, REMOVES, type Tool } from '../tool.ts'
import {
  type AccountToolDeps,
  accountOf,
  frameIdList,
  frameIdsArgument,
  lateNote,
  linesOf,
  MAX_IDS,
  pointsOfFrames,
  withCursorNamed,
  withFrames,
} from './collection.ts'
import { cursorArgument, limitArgument } from './frame-arguments.ts'

const boardIdArgument = Id.describe('From list_boards')
const BoardSummary = z.object({ id: z.string(), name: z.string(), item_count: z.number(), updated_at: z.string() })

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

function getBoard({ db, search, publicUrl }: AccountToolDeps): Tool {
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
      next_cursor: z.string().nullable(),
    }),
    async run(args, context) {
      const page = readCursor('get_board', args, args.cursor)
      const skip = (page - 1) * args.limit
      const at = { accountId: accountOf(context), boardId: args.board_id }
      const { board, pins, next: more } = await loadBoard(db, at, { limit: args.limit, skip })
      const { shown, late } = await withFrames(search, pins)
      const next = more === null ? null : toCursor('get_board', args, page + 1)
      const lines = shown.map(({ row, frame }) => linesOf(frame, publicUrl) + noteLine(row.note))
      const frames = shown.map(({ row, frame }) => ({
        ...toCompactFrame(frame, publicUrl),
        note: row.note,
        pinned_at: row.pinnedAt.toISOString(),
      }))
      return {
        text: [boardLine(board) + moreWith(next), ...lines, ...lateNote(late)].join('\n'),
        links: shown.map(({ frame }) => toLink(frame, publicUrl)),
        structured: { board: toSummary(board), frames, next_cursor: next },
      }
    },
  })
}

function createBoard({ db }: AccountToolDeps): Tool {
  return defineTool({
    name: 'create_board',
    title: 'Create a board',
    description: 'Make a board. If the account has one of this name, returns that one and changes nothing.',
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

function pinFrame({ db }: AccountToolDeps): Tool {
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
      const accountId = accountOf(context)
      const { pinned, already } = await pinFrames(db, { accountId, boardId: board_id, frameIds: frame_ids, note })
      const before = already.length > 0 ? ` ${already.length} pinned before.` : ''
      const text = `Pinned ${plural(pinned.length, 'frame')}.${before}`
      return { text, structured: { pinned, already_pinned: already } }
    },
  })
}

function unpinFrame({ db }: AccountToolDeps): Tool {
  return defineTool({
    name: 'unpin_frame',
    title: 'Unpin frames',
    description:
      'Remove frames and their notes from a board. Frames that are not on it are skipped; pin_frame undoes it.',
    annotations: REMOVES,
    points: POINTS.write,
    pointsOf: pointsOfFrames,
    scope: 'boards:write',
    everyPlan: true,
    cacheable: false,
    input: z.strictObject({ board_id: boardIdArgument, frame_ids: frameIdsArgument }),
    output: z.object({ unpinned: frameIdList }),
    async run({ board_id, frame_ids }, context) {
      const accountId = accountOf(context)
      const { unpinned } = await unpinFrames(db, { accountId, boardId: board_id, frameIds: frame_ids })
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

function noteLine(note: string | null): string {
  return note ? `\n  note: ${clip(note, 300)}` : ''
}
