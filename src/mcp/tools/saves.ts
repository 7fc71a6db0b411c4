import { z } from 'zod'
import { plural } from '../../clean-text.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { countSaves, listSaves, saveFrames } from '../../library/collections/saves.ts'
import { CompactFrame, moreWith, toCompactFrame, VideoNames } from '../present.ts'
import { ADDS, defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { limitArgument } from '../values.ts'
import { accountOf, frameIdList, frameIdsArgument, presentRows, rightsOf, withCursorNamed } from './collection.ts'
import { cursorArgument } from './library.ts'

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
    input: z.strictObject({ limit: limitArgument(20, 100), cursor: cursorArgument }),
    output: z.object({
      frames: z.array(CompactFrame),
      videos: VideoNames,
      total: z.number(),
      next_cursor: z.string().nullable(),
    }),
    async run(args, context) {
      const accountId = accountOf(context)
      const [{ saves, next }, total] = await Promise.all([
        withCursorNamed(args.cursor, listSaves(deps.db, accountId, { limit: args.limit, after: args.cursor })),
        countSaves(deps.db, accountId),
      ])
      const heading =
        total === 0 ? 'No saved frames. save_frame saves some.' : `${plural(total, 'saved frame')}${moreWith(next)}`
      const { shown, text, links, videos } = await presentRows(deps, saves, heading)
      const frames = shown.map(({ frame }) => toCompactFrame(frame, deps.publicUrl))
      return { text, links, structured: { frames, videos, total, next_cursor: next } }
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
