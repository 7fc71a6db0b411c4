import { z } from 'zod'
import { plural } from '../../clean-text.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { MAX_NOTE, MAX_PINS, pinFrames } from '../../library/collections/pins.ts'
import { ADDS, defineTool, type Tool, type ToolApp } from '../tool.ts'
import { someNumber } from '../values.ts'
import { boardAt, boardIdArgument } from './boards.ts'
import { frameIdList, frameIdsArgument, rightsOf } from './collection.ts'

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
