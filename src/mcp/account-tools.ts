import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { AppError, invalid } from '../errors.ts'
import { POINTS } from '../http/rate-limit.ts'
import {
  type Board,
  ensureBoard,
  listBoards,
  loadBoard,
  MAX_BOARD_NAME,
  MAX_NOTE,
  pinFrames,
  unpinFrames,
} from '../library/collections/boards.ts'
import { listSaves, saveFrames, unsaveFrames } from '../library/collections/saves.ts'
import type { LibrarySearch, ShownFrame } from '../search/library-search.ts'
import { readCursor, toCursor } from './cursor.ts'
import { CompactFrame, clip, frameLines, plural, toCompactFrame, toLink } from './present.ts'
import { ADDS, atMost, defineTool, Id, READS, REMOVES, splitCommas, type Tool, type ToolContext } from './tool.ts'

export interface AccountToolDeps {
  db: Db
  search: LibrarySearch
  publicUrl: string
}

const MAX_IDS = 100
const frameIds = z
  .preprocess((value) => atMost(MAX_IDS, splitCommas(value)), z.array(Id).min(1).max(MAX_IDS))
  .describe('One or many frame ids')
const boardId = Id.describe('From list_boards')
const limit = (fallback: number) => z.number().int().min(1).max(100).default(fallback)
const cursor = z.string().max(100).optional().describe('next_cursor of the previous answer')
const ids = z.array(z.string())
const nextCursor = z.string().nullable()

const BoardSummary = z.object({ id: z.string(), name: z.string(), item_count: z.number(), updated_at: z.string() })

/** The tools of a person's own collection: the same library functions as over HTTP. Writes take many ids, all or none, and repeating one changes nothing. */
export function accountTools({ db, search, publicUrl }: AccountToolDeps): Tool[] {
  /** Frames in the order of `rows`. One that the read model does not hold yet is left out and counted. */
  async function withFrames<T extends { frameId: string }>(rows: readonly T[]) {
    const found = new Map((await search.framesByIds(rows.map((row) => row.frameId))).map((frame) => [frame.id, frame]))
    const shown: { row: T; frame: ShownFrame }[] = []
    for (const row of rows) {
      const frame = found.get(row.frameId)
      if (frame) shown.push({ row, frame })
    }
    return { shown, late: rows.length - shown.length }
  }

  const lines = (frame: ShownFrame) => frameLines(frame, publicUrl, { detail: 'compact', withVideo: true })
  const lateNote = (late: number) =>
    late > 0 ? [`(${plural(late, 'frame')} not shown: the library is still taking in the change.)`] : []

  return [
    defineTool({
      name: 'list_saves',
      title: 'List your saved frames',
      description: 'Frames this account has saved, newest save first.',
      annotations: READS,
      points: POINTS.read,
      scope: 'saves:read',
      cacheable: false,
      input: z.strictObject({ limit: limit(20), cursor }),
      output: z.object({ frames: z.array(CompactFrame.extend({ saved_at: z.string() })), next_cursor: nextCursor }),
      async run(args, context) {
        const { saves, next } = await asCursor(
          listSaves(db, accountOf(context), { limit: args.limit, after: args.cursor }),
        )
        const { shown, late } = await withFrames(saves)
        const heading =
          saves.length === 0
            ? 'No saved frames. save_frame saves some.'
            : `${plural(saves.length, 'saved frame')}${next ? `; more with cursor ${next}` : ''}`
        return {
          text: [heading, ...shown.map(({ frame }) => lines(frame)), ...lateNote(late)].join('\n'),
          links: shown.map(({ frame }) => toLink(frame, publicUrl)),
          structured: {
            frames: shown.map(({ row, frame }) => ({
              ...toCompactFrame(frame, publicUrl),
              saved_at: row.savedAt.toISOString(),
            })),
            next_cursor: next,
          },
        }
      },
    }),
    defineTool({
      name: 'save_frame',
      title: 'Save frames',
      description: `Save up to ${MAX_IDS} frames to this account. Saving twice changes nothing; unsave_frame undoes it.`,
      annotations: ADDS,
      points: POINTS.write,
      scope: 'saves:write',
      cacheable: false,
      input: z.strictObject({ frame_ids: frameIds }),
      output: z.object({ saved: ids, already_saved: ids }),
      async run({ frame_ids }, context) {
        const { saved, already } = await saveFrames(db, { accountId: accountOf(context), frameIds: frame_ids })
        const text = `Saved ${plural(saved.length, 'frame')}${already.length > 0 ? `; ${already.length} saved before` : ''}.`
        return { text, structured: { saved, already_saved: already } }
      },
    }),
    defineTool({
      name: 'unsave_frame',
      title: 'Take saves back',
      description: 'Remove frames from the saved ones; those that are not saved are passed over. save_frame undoes it.',
      annotations: REMOVES,
      points: POINTS.write,
      scope: 'saves:write',
      cacheable: false,
      input: z.strictObject({ frame_ids: frameIds }),
      output: z.object({ removed: ids }),
      async run({ frame_ids }, context) {
        const { removed } = await unsaveFrames(db, { accountId: accountOf(context), frameIds: frame_ids })
        return { text: `Took back ${plural(removed.length, 'save')}.`, structured: { removed } }
      },
    }),
    defineTool({
      name: 'list_boards',
      title: 'List your boards',
      description: 'Boards of this account with their frame counts, newest first.',
      annotations: READS,
      points: POINTS.read,
      scope: 'boards:read',
      cacheable: false,
      input: z.strictObject({ limit: limit(50), cursor }),
      output: z.object({ boards: z.array(BoardSummary), next_cursor: nextCursor }),
      async run(args, context) {
        const { boards, next } = await asCursor(
          listBoards(db, accountOf(context), { limit: args.limit, after: args.cursor }),
        )
        const heading =
          boards.length === 0
            ? 'No boards. create_board makes one.'
            : `${plural(boards.length, 'board')}${next ? `; more with cursor ${next}` : ''}`
        return {
          text: [heading, ...boards.map(boardLine)].join('\n'),
          structured: { boards: boards.map(toSummary), next_cursor: next },
        }
      },
    }),
    defineTool({
      name: 'get_board',
      title: 'Open a board',
      description: 'A board’s frames in their order, with the note of each.',
      annotations: READS,
      points: POINTS.read,
      scope: 'boards:read',
      cacheable: false,
      input: z.strictObject({ board_id: boardId, limit: limit(40), cursor }),
      output: z.object({
        board: BoardSummary,
        frames: z.array(CompactFrame.extend({ note: z.string().nullable(), pinned_at: z.string() })),
        next_cursor: nextCursor,
      }),
      async run(args, context) {
        const page = readCursor('get_board', args, args.cursor)
        const { board, pins } = await loadBoard(db, { accountId: accountOf(context), boardId: args.board_id })
        const { shown, late } = await withFrames(pins.slice((page - 1) * args.limit, page * args.limit))
        const next = page * args.limit < pins.length ? toCursor('get_board', args, page + 1) : null
        const noted = shown.map(
          ({ row, frame }) => `${lines(frame)}${row.note ? `\n  note: ${clip(row.note, 300)}` : ''}`,
        )
        return {
          text: [`${boardLine(board)}${next ? `; more with cursor ${next}` : ''}`, ...noted, ...lateNote(late)].join(
            '\n',
          ),
          links: shown.map(({ frame }) => toLink(frame, publicUrl)),
          structured: {
            board: toSummary(board),
            frames: shown.map(({ row, frame }) => ({
              ...toCompactFrame(frame, publicUrl),
              note: row.note,
              pinned_at: row.pinnedAt.toISOString(),
            })),
            next_cursor: next,
          },
        }
      },
    }),
    defineTool({
      name: 'create_board',
      title: 'Create a board',
      description: 'Make a board. If the account has one of this name, that one is answered and nothing changes.',
      annotations: ADDS,
      points: POINTS.write,
      scope: 'boards:write',
      cacheable: false,
      input: z.strictObject({ name: z.string().min(1).max(MAX_BOARD_NAME) }),
      output: z.object({ board: BoardSummary, created: z.boolean() }),
      async run({ name }, context) {
        const { board, created } = await ensureBoard(db, { accountId: accountOf(context), name })
        return {
          text: `${created ? 'Created' : 'There already is'} ${boardLine(board)}`,
          structured: { board: toSummary(board), created },
        }
      },
    }),
    defineTool({
      name: 'pin_frame',
      title: 'Pin frames to a board',
      description: `Put up to ${MAX_IDS} frames at the end of a board, in the order given. Frames already there stay as they are; unpin_frame undoes it.`,
      annotations: ADDS,
      points: POINTS.write,
      scope: 'boards:write',
      cacheable: false,
      input: z.strictObject({
        board_id: boardId,
        frame_ids: frameIds,
        note: z.string().max(MAX_NOTE).optional().describe('Why, for each newly pinned frame'),
      }),
      output: z.object({ pinned: ids, already_pinned: ids }),
      async run({ board_id, frame_ids, note }, context) {
        const { pinned, already } = await pinFrames(db, {
          accountId: accountOf(context),
          boardId: board_id,
          frameIds: frame_ids,
          note,
        })
        const text = `Pinned ${plural(pinned.length, 'frame')}${already.length > 0 ? `; ${already.length} pinned before` : ''}.`
        return { text, structured: { pinned, already_pinned: already } }
      },
    }),
    defineTool({
      name: 'unpin_frame',
      title: 'Unpin frames',
      description:
        'Take frames, with their notes, off a board; those that are not on it are passed over. pin_frame undoes it.',
      annotations: REMOVES,
      points: POINTS.write,
      scope: 'boards:write',
      cacheable: false,
      input: z.strictObject({ board_id: boardId, frame_ids: frameIds }),
      output: z.object({ unpinned: ids }),
      async run({ board_id, frame_ids }, context) {
        const { unpinned } = await unpinFrames(db, {
          accountId: accountOf(context),
          boardId: board_id,
          frameIds: frame_ids,
        })
        return { text: `Unpinned ${plural(unpinned.length, 'frame')}.`, structured: { unpinned } }
      },
    }),
  ]
}

function accountOf({ caller }: ToolContext): string {
  if (!caller) throw new Error('an account tool ran without a caller')
  return caller.account.id
}

/** A bad cursor is told by the name it has here. */
async function asCursor<T>(list: Promise<T>): Promise<T> {
  try {
    return await list
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error
    throw invalid('cursor', 'cursor: unknown; pass next_cursor of the previous answer')
  }
}

function toSummary({ id, name, itemCount, updatedAt }: Board): z.infer<typeof BoardSummary> {
  return { id, name, item_count: itemCount, updated_at: updatedAt.toISOString() }
}

function boardLine({ id, name, itemCount }: Board): string {
  return `board ${id} "${clip(name, 120)}" (${plural(itemCount, 'frame')})`
}
