import { type Command, Option } from 'commander'
import { VIDEO_STATUSES, type VideoStatus } from '../db/schema/videos.ts'
import { findAnnotatorStatus } from '../library/annotator/annotator-status.ts'
import { explainFrames, listVideos, reportVideo } from '../library/videos/video-status.ts'
import { type CommandContext, parseInteger, withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { print } from './terminal.ts'
import { describeAnnotator, describeVideo, videoTable } from './video-lines.ts'

interface StatusOptions {
  explain?: boolean
  status?: VideoStatus
  limit: string
  json?: boolean
}

export function defineStatus(command: Command): void {
  addExamples(command, 'status', 'status --status failed', 'status <video> --explain')
    .argument('[video]', 'video id')
    .option('--explain', 'say for each frame why it was kept')
    .addOption(new Option('--status <status>', 'only videos with this status').choices(VIDEO_STATUSES))
    .option('--limit <n>', 'number of videos', '20')
    .option('--json', 'print one JSON object')
    .action((id: string | undefined, options: StatusOptions) =>
      withContext((context) => (id === undefined ? showVideos(context, options) : showVideo(context, id, options))),
    )
}

async function showVideos({ db }: CommandContext, options: StatusOptions): Promise<void> {
  const limit = parseInteger('--limit', options.limit, { min: 1, max: 1_000 })
  const videos = await listVideos(db, { statuses: options.status && [options.status], limit })
  const annotator = await findAnnotatorStatus(db)
  print(options.json, { annotator, videos }, () => [
    ...describeAnnotator(annotator),
    ...(videos.length === 0 ? ['No videos yet: frames add <file> --wait'] : videoTable(videos)),
  ])
}

async function showVideo({ db }: CommandContext, id: string, options: StatusOptions): Promise<void> {
  const video = await reportVideo(db, id)
  const frames = options.explain ? await explainFrames(db, id) : undefined
  print(options.json, { video, ...(frames ? { frames } : {}) }, () => [
    ...describeVideo(video),
    ...(frames ?? []).map((frame) => `  ${toClock(frame.t_ms)}  ${frame.kind.padEnd(5)}  ${frame.id}  ${frame.reason}`),
  ])
}

/** `mm:ss.mmm` */
function toClock(ms: number): string {
  const minutes = String(Math.floor(ms / 60_000)).padStart(2, '0')
  const seconds = String(Math.floor(ms / 1_000) % 60).padStart(2, '0')
  return `${minutes}:${seconds}.${String(ms % 1_000).padStart(3, '0')}`
}
