import type { AnnotatorStatus } from '../library/annotator/annotator-status.ts'
import type { VideoReport } from '../library/videos/video-status.ts'
import { ageOf, duration } from './age.ts'
import { type Column, isTerminal, type Line, type Style, table } from './terminal.ts'

type Stage = VideoReport['stages'][number]

const STYLES: Partial<Record<VideoReport['status'], Style>> = { ready: 'green', failed: 'red', cancelled: 'dim' }

const COLUMNS: readonly Column<VideoReport>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'STATUS', cell: ({ status }) => ({ text: status, style: STYLES[status] ?? 'cyan' }) },
  { heading: 'PROGRESS', cell: toOutcome },
  { heading: 'AGE', cell: ({ added_at }) => ageOf(added_at), align: 'right', terminalOnly: true },
  { heading: 'TITLE', cell: ({ title }) => title },
]

/** A line for each video: id, status, how far it is or what it gave, title. */
export const videoTable = (videos: readonly VideoReport[]): Line[] => table(videos, COLUMNS)

function toOutcome({ status, frame_count, failure, stages }: VideoReport): string {
  if (status === 'ready') return `${frame_count} ${frame_count === 1 ? 'frame' : 'frames'}`
  if (failure) return `${failure.code}: ${failure.message}`
  const stage = stages.at(-1)
  if (stage?.stage !== status) return '–'
  return toProgress(stage) + (stage.left_sec ? `, about ${duration(stage.left_sec)} left` : '')
}

/** Everything about one video. */
export function describeVideo(video: VideoReport): Line[] {
  const { costs } = video
  const tokens = costs.input_tokens + costs.output_tokens
  const lines: Line[] = [
    // Everything: nothing is cut to the width of the terminal.
    ...table([video], COLUMNS, isTerminal(), Number.POSITIVE_INFINITY),
    `  source    ${video.source_url ?? 'a file'} (${video.platform}${video.author ? `, ${video.author}` : ''})`,
    `  attempts  ${video.attempts}${video.backfill ? ', back-fill' : ''}`,
  ]
  if (video.reannotating > 0) lines.push(`  again     ${video.reannotating} frames wait for a new description`)
  lines.push(...video.stages.map(toStageLine))
  if (video.detector) lines.push(`  detector  ${video.detector.version}`)
  if (video.annotator) lines.push(`  annotator ${video.annotator}`)
  if (costs.calls > 0) lines.push(`  cost      ${costs.calls} calls, ${tokens} tokens, $${costs.cost_usd.toFixed(4)}`)
  return lines
}

/** One line with the problem when frames cannot be described, then what is waiting and what it has cost. */
export function describeAnnotator({ present, problem, waiting, last_24_h }: AnnotatorStatus): string[] {
  const lines: string[] = []
  if (problem) lines.push(`! ${problem.code}: ${problem.message} (since ${problem.since})`)
  if (waiting > 0) lines.push(`${waiting} frames wait to be described again by ${present ?? 'a worker'}`)
  if (last_24_h.calls > 0) lines.push(`${last_24_h.calls} calls in 24 hours, $${last_24_h.cost_usd.toFixed(4)}`)
  return lines
}

function toStageLine(stage: Stage): string {
  const end = stage.finished_at ? new Date(stage.finished_at) : new Date()
  const seconds = (end.getTime() - new Date(stage.started_at).getTime()) / 1000
  const rate = stage.rate_per_sec ? `, ${stage.rate_per_sec} a second` : ''
  const running = stage.finished_at ? '' : ', running'
  return `  ${stage.stage.padEnd(10)} ${toProgress(stage)}  ${seconds.toFixed(1)} s${rate}${running}`
}

function toProgress({ done, total }: Stage): string {
  return total === null ? String(done) : `${done} of ${total}`
}
