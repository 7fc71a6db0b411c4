import { z } from 'zod'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { MAX_NOTE, MAX_PINS, pinFrames, unpinFrames } from '../../library/collections/pins.ts'
import { plural } from '../present.ts'
import { ADDS, defineTool, REMOVES, type Tool, type ToolApp } from '../tool.ts'
import { someNumber } from '../values.ts'
import { boardAt, boardIdArgument } from './boards.ts'
import { frameIdList, frameIdsArgument, removalText, rightsOf } from './collection.ts'

export function pinTools(deps: ToolApp): Tool[] {
  return [pinFrame(deps), unpinFrame(deps)]
}

function pinFrame(deps: ToolApp): Tool {
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

function unpinFrame(deps: ToolApp): Tool {
  return defineTool({
    name: 'unpin_frame',
    title: 'Unpin frames',
    description: 'Remove frames and their notes from a board. Says which were not on it.',
    annotations: REMOVES,
    ...rightsOf('unpinFrame'),
    input: z.strictObject({ board_id: boardIdArgument, frame_ids: frameIdsArgument }),
    output: z.object({ unpinned: frameIdList, not_pinned: frameIdList }),
    async run({ board_id, frame_ids }, context) {
      const at = await boardAt(deps, board_id, context)
      const { unpinned: pins } = await unpinFrames(deps.db, { ...at, frameIds: frame_ids })
      const unpinned = pins.map(({ frameId }) => frameId)
      const not_pinned = frame_ids.filter((id) => !unpinned.includes(id))
      const text = removalText(`Unpinned ${plural(unpinned.length, 'frame')}.`, not_pinned, 'not on the board')
      return { text, structured: { unpinned, not_pinned } }
    },
  })
}
