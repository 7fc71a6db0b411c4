import { z } from 'zod'
import { plural } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { unshareBoard } from '../../library/collections/board-settings.ts'
import { deleteBoard, loadBoard } from '../../library/collections/boards.ts'
import { MAX_NOTE, MAX_PINS, pinFrames, unpinFrames } from '../../library/collections/pins.ts'
import { countSaves, listSaves, saveFrames, unsaveFrames } from '../../library/collections/saves.ts'
import { moreWith } from '../present.ts'
import { ADDS, defineTool, READS, REMOVES, type Tool, type ToolApp, type ToolContext } from '../tool.ts'
import { flagArgument, formatArgument, limitArgument, someNumber } from '../values.ts'
import { boardAt, boardIdArgument, boardLine } from './boards.ts'
import { accountOf, frameIdList, frameIdsArgument, presentRows, rightsOf, withCursorNamed } from './collection.ts'
import { FrameListing } from './frames.ts'
import { briefDetailArgument, cursorArgument } from './library.ts'

export function saveTools(deps: ToolApp): Tool[] {
  return [listSavesTool(deps), saveFrame(deps)]
}

function listSavesTool(deps: ToolApp): Tool {
  return defineTool({
    name: 'list_saves',
    title: 'List your saved frames',
    description: 'Frames this account has saved, newest save first.',
    annotations: READS,
    ...rightsOf('listSavedFrames'),
    inGallery: true,
    input: z.strictObject({
      limit: limitArgument(20, 100),
      cursor: cursorArgument,
      detail: briefDetailArgument,
      format: formatArgument,
    }),
    output: FrameListing,
    async run(args, context) {
      const accountId = accountOf(context)
      const [{ saves, next }, total] = await Promise.all([
        withCursorNamed(args.cursor, listSaves(deps.db, accountId, { limit: args.limit, after: args.cursor })),
        countSaves(deps.db, accountId),
      ])
      const heading =
        total === 0 ? 'No saved frames. save_frame saves some.' : `${plural(total, 'saved frame')}${moreWith(next)}`
      const { answer, listed } = await presentRows(deps, saves, heading, args.detail)
      return { ...answer, structured: { ...listed, total, next_cursor: next } }
    },
  })
}

function saveFrame({ db }: ToolApp): Tool {
  return defineTool({
    name: 'save_frame',
    title: 'Save frames',
    description: `Save up to ${MOST_ITEMS} frames as favourites of this account. A repeat changes nothing.`,
    annotations: ADDS,
    ...rightsOf('saveFrame'),
    input: z.strictObject({ frame_ids: frameIdsArgument }),
    output: z.object({ saved: frameIdList, already_saved: frameIdList }),
    async run({ frame_ids }, context) {
      const { saved, already } = await saveFrames(db, { accountId: accountOf(context), frameIds: frame_ids })
      const before = already.length > 0 ? ` ${already.length} saved before.` : ''
      const text = `Saved ${plural(saved.length, 'frame')}.${before}`
      return { text, structured: { saved, already_saved: already } }
    },
  })
}

export function pinFrame(deps: ToolApp): Tool {
  return defineTool({
    name: 'pin_frame',
    title: 'Pin frames to a board',
    description:
      `Put up to ${MOST_ITEMS} frames on a board, at its end or from position on. ` +
      'Frames already there get the note, and move to a given position.',
    annotations: ADDS,
    ...rightsOf('pinFrames'),
    input: z.strictObject({
      board_id: boardIdArgument,
      frame_ids: frameIdsArgument,
      note: z.string().max(MAX_NOTE).optional().describe('Why, for each of them; empty removes it'),
      position: someNumber({ min: 0, max: MAX_PINS }).describe('0 is the top'),
    }),
    output: z.object({
      pinned: frameIdList,
      already_pinned: frameIdList,
      note_changed: frameIdList,
      moved: frameIdList,
    }),
    async run({ board_id, frame_ids, note, position }, context) {
      const at = await boardAt(deps, board_id, context)
      const { pinned, already, noted, moved } = await pinFrames(deps.db, { ...at, frameIds: frame_ids, note, position })
      const text = [
        `Pinned ${plural(pinned.length, 'frame')}.`,
        already.length > 0 ? `${already.length} pinned before.` : '',
        noted.length > 0 ? `Changed the note of ${noted.length} of them.` : '',
        moved.length > 0 ? `Moved ${moved.length} of them.` : '',
      ]
      const structured = { pinned, already_pinned: already, note_changed: noted, moved }
      return { text: text.filter(Boolean).join(' '), structured }
    },
  })
}

/** All that takes back. So hosts ask their person before this tool alone, and it stays open on every plan. */
export function removeTool(deps: ToolApp): Tool {
  return defineTool({
    name: 'remove',
    title: 'Unsave, unpin, end a link or delete a board',
    description:
      'frame_ids alone unsaves them; with board_id unpins them from that board. board_id alone deletes the board ' +
      'with its notes: without confirm it only says what would go. link: true ends its public link instead.',
    annotations: REMOVES,
    ...rightsOf('unpinFrame'),
    scope: ['saves:write', 'boards:write'],
    needs: ({ board_id }) => (board_id === undefined ? 'saves:write' : 'boards:write'),
    raises: ({ frame_ids, board_id, link }) => board_id !== undefined && !frame_ids && !link && 'heavy',
    input: z.strictObject({
      frame_ids: frameIdsArgument.optional(),
      board_id: boardIdArgument.optional(),
      confirm: flagArgument(),
      link: flagArgument(),
    }),
    output: z.object({ removed: frameIdList, missing: frameIdList, deleted: z.boolean().optional() }),
    async run({ frame_ids: frameIds, board_id, confirm, link }, context) {
      const kinds = [frameIds && 'frame_ids', confirm && 'confirm', link && 'link'].filter(Boolean)
      if (kinds.length > 1) throw invalid('link', `One call removes one kind. Pass one of ${kinds.join(', ')}.`)
      if (frameIds) return removeFrames(deps, { frameIds, board_id }, context)
      if (board_id === undefined) throw invalid('frame_ids', 'Pass frame_ids or board_id: what to remove.')
      const at = await boardAt(deps, board_id, context)
      const { board } = await loadBoard(deps.db, at, { limit: 0 })
      const told = { removed: [], missing: [] }
      if (link) {
        await unshareBoard(deps.db, at)
        const was = board.sharedAt ? 'Its public link has ended' : 'It had no public link'
        return { text: `${was}: ${boardLine(board)}`, structured: told }
      }
      if (confirm) await deleteBoard(deps.db, at)
      const text = confirm
        ? `Deleted ${boardLine(board)}.`
        : `Not deleted: ${boardLine(board)}. Call remove again with confirm: true if its owner wants that.`
      return { text, structured: { ...told, deleted: confirm } }
    },
  })
}

async function removeFrames(
  deps: ToolApp,
  { frameIds, board_id }: { frameIds: string[]; board_id: string | undefined },
  context: ToolContext,
) {
  const at = board_id === undefined ? undefined : await boardAt(deps, board_id, context)
  const removed = at
    ? (await unpinFrames(deps.db, { ...at, frameIds })).unpinned.map(({ frameId }) => frameId)
    : (await unsaveFrames(deps.db, { accountId: accountOf(context), frameIds })).removed
  const missing = frameIds.filter((id) => !removed.includes(id))
  const done = at ? `Unpinned ${plural(removed.length, 'frame')}.` : `Removed ${plural(removed.length, 'save')}.`
  const why = `${missing.length === 1 ? 'was' : 'were'} ${at ? 'not on the board' : 'not saved'}`
  const named = missing.length > 0 ? ` ${missing.length} ${why}: ${missing.slice(0, 5).join(', ')}.` : ''
  return { text: done + named, structured: { removed, missing } }
}
