import { z } from 'zod'
import { plural } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { unshareBoard } from '../../library/collections/board-settings.ts'
import { deleteBoard, loadBoard } from '../../library/collections/boards.ts'
import { unpinFrames } from '../../library/collections/pins.ts'
import { unsaveFrames } from '../../library/collections/saves.ts'
import { defineTool, REMOVES, type Tool, type ToolApp, type ToolContext } from '../tool.ts'
import { flagArgument } from '../values.ts'
import { boardAt, boardIdArgument, boardLine } from './boards.ts'
import { accountOf, frameIdList, frameIdsArgument, rightsOf } from './collection.ts'

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
