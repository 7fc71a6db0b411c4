import { z } from 'zod'
import { quote } from '../../clean-text.ts'
import { AppError } from '../../errors.ts'
import { DETAILS, NewDetails } from '../../library/videos/details.ts'
import { submitUrl, videoIdAt } from '../../library/videos/submit.ts'
import { reportVideos } from '../../library/videos/video-status.ts'
import { leftOf, lineOf, openTask, statusLine } from '../tasks.ts'
import { ADDS, defineTool, READS, type Tool, type ToolApp } from '../tool.ts'
import { severalOf } from '../values.ts'
import { rightsOf } from './collection.ts'
import { findVideo } from './library.ts'

/** What operators add to the library, and how far it is. */

const MAX_VIDEOS = 20

const Status = z.object({ video_id: z.string(), title: z.string(), status: z.string() })
const Added = Status.extend({ created: z.boolean(), unchanged: z.array(z.string()) })

export function addVideoTools(deps: ToolApp): Tool[] {
  return [addVideo(deps), videoStatus(deps)]
}

function addVideo({ db, ytdlp }: ToolApp): Tool {
  return defineTool({
    name: 'add_video',
    title: 'Add videos',
    description:
      'Queue videos by their addresses. Answers at once with the id of each; video_status tells when it is ready. ' +
      'A video that the library has stays as it is.',
    annotations: { ...ADDS, openWorldHint: true },
    ...rightsOf('submitVideo'),
    input: z.strictObject({
      url: severalOf(z.string().min(1).max(2_000), MAX_VIDEOS).describe('Pages or files, up to 20'),
      ...NewDetails.shape,
      title: DETAILS.title.optional().describe('Of a single video'),
      author: DETAILS.author.optional().describe('Brand or channel'),
    }),
    output: z.object({
      videos: z.array(Added),
      refused: z.array(z.object({ url: z.string(), why: z.string() })),
    }),
    async run({ url: urls, title, ...shared }) {
      const videos: z.infer<typeof Added>[] = []
      const refused: { url: string; why: string }[] = []
      for (const url of urls) {
        const details = { ...shared, title: urls.length === 1 ? title : undefined, ytdlp }
        try {
          const { video, ...outcome } = await submitUrl(db, url, details)
          videos.push({ video_id: video.id, title: video.title, status: video.status, ...outcome })
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error
          refused.push({ url, why: error.message })
        }
      }
      const isDropped = urls.length > 1 && title !== undefined
      const notes = isDropped ? ['title was left out: it is of a single video. Call add_video for each.'] : []
      const lines = [
        ...videos.map(({ created, unchanged, ...video }) => {
          const stays = unchanged.length > 0 ? `; as before, until an operator edits it: ${unchanged.join(', ')}` : ''
          return `${created ? 'queued' : 'already there'}: ${lineOf(video)}${stays}`
        }),
        ...refused.map(({ url, why }) => `refused: ${quote(url, 200)}: ${why}`),
        ...notes,
      ]
      return { text: lines.join('\n'), structured: { videos, refused }, notes }
    },
    // A task tells of its videos alone, so what is refused, or there already, is told at once.
    async toTask({ structured: { videos, refused }, notes = [] }, { caller }) {
      if (refused.length + notes.length > 0 || videos.some(({ created }) => !created)) return undefined
      const ids = videos.map(({ video_id }) => video_id)
      return openTask(db, caller!.account.id, ids)
    },
  })
}

function videoStatus(deps: ToolApp): Tool {
  return defineTool({
    name: 'video_status',
    title: 'Progress of videos',
    description: 'How far videos are: queued, fetching, extracting, annotating, ready, failed or cancelled.',
    annotations: READS,
    ...rightsOf('getVideoStatus'),
    input: z.strictObject({ video_id: severalOf(z.string().min(1).max(2_000), MAX_VIDEOS) }),
    output: z.object({
      videos: z.array(
        Status.extend({
          frame_count: z.number(),
          left_sec: z.number().nullable(),
          failure: z.object({ code: z.string(), message: z.string() }).nullable(),
        }),
      ),
      unknown: z.array(z.string()),
    }),
    async run({ video_id: given }) {
      // What is not ready yet has no other name than its id and its address.
      const asked: { one: string; id: string }[] = []
      for (const one of given) asked.push({ one, id: (await findVideo(deps, one)) ?? videoIdAt(one) ?? one })
      const reports = await reportVideos(
        deps.db,
        asked.map(({ id }) => id),
      )
      const videos = reports.map(({ id, title, status, frame_count, stages, failure }) => {
        return { video_id: id, title, status, frame_count, left_sec: leftOf(stages), failure }
      })
      const unknown = asked.filter(({ id }) => !reports.some((report) => report.id === id)).map(({ one }) => one)
      const lines = [
        ...reports.map(statusLine),
        ...unknown.map((one) => `${quote(one, 80)} is not there. Pass the id or the address of a video.`),
      ]
      return { text: lines.join('\n'), structured: { videos, unknown } }
    },
  })
}
