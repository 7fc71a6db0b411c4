import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { AppError } from '../errors.ts'
import { reportVideo, type VideoReport } from '../library/videos/video-status.ts'
import { complain, isTerminal, type Line, openRedraw, say } from './terminal.ts'
import { videoTable } from './video-lines.ts'

const LOOK_EVERY_MS = 300
const OVER: readonly VideoReport['status'][] = ['ready', 'failed', 'cancelled']
/** 128 and the number of SIGINT, as shells count. */
const INTERRUPTED = 130

/**
 * Waits until no video is in progress. On a terminal it draws their state again and again. In a pipe it prints a line
 * whenever a video's status changes. Ctrl-C ends the waiting, and says that the work goes on.
 */
export async function followVideos(
  db: Db,
  ids: readonly string[],
  { quiet = false }: { quiet?: boolean } = {},
): Promise<VideoReport[]> {
  const show = quiet ? undefined : await openView()
  const interrupted = () => {
    show?.end()
    complain('Stopped waiting. The work goes on: frames status shows how far it is.')
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', interrupted)
  try {
    for (;;) {
      const reports = await reportAll(db, ids)
      // Undefined while the database restarts.
      if (reports) show?.draw(reports)
      if (reports?.every(({ status }) => OVER.includes(status))) return reports
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    process.off('SIGINT', interrupted)
    show?.end()
  }
}

async function reportAll(db: Db, ids: readonly string[]): Promise<VideoReport[] | undefined> {
  const reports: VideoReport[] = []
  try {
    for (const id of ids) {
      const report = await reportVideo(db, id).catch((error: unknown) => {
        // Deleted in the meantime.
        if (error instanceof AppError) return undefined
        throw error
      })
      if (report) reports.push(report)
    }
    return reports
  } catch (error) {
    if (isConnectionLoss(error)) return undefined
    throw error
  }
}

interface View {
  draw(reports: readonly VideoReport[]): void
  end(): void
}

async function openView(): Promise<View> {
  // A terminal without a size, as of a container, shows no drawing.
  return isTerminal() && process.stdout.rows > 0 ? openDrawing() : openLines()
}

async function openDrawing(): Promise<View> {
  const screen = await openRedraw(process.stdout)
  return {
    draw: (reports) => screen.draw(fitted(reports, process.stdout.rows - 2)),
    end: screen.end,
  }
}

/** The lines that fit on the screen: videos in progress, and counts of the others. */
function fitted(reports: readonly VideoReport[], rows: number): Line[] {
  if (reports.length + 1 <= rows) return videoTable(reports)
  const working = reports.filter(({ status }) => !OVER.includes(status))
  const counts = OVER.map((status) => [reports.filter((report) => report.status === status).length, status] as const)
  const over = counts.filter(([count]) => count > 0).map(([count, status]) => `${count} ${status}`)
  const shown = working.slice(0, Math.max(1, rows - 2))
  return [...videoTable(shown), [...over, `${working.length} in progress`].join(', ')]
}

function openLines(): View {
  const known = new Map<string, string>()
  return {
    draw(reports) {
      const changed = reports.filter(({ id, status }) => known.get(id) !== status)
      for (const { id, status } of changed) known.set(id, status)
      say(...videoTable(changed))
    },
    end: () => undefined,
  }
}
