import { createReadStream, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import { videos } from '../db/schema/videos.ts'
import { submitUpload } from '../library/videos/submit.ts'
import { reportVideo, type VideoReport } from '../library/videos/video-status.ts'
import type { MediaStore } from '../media/media-store.ts'
import { PLATFORMS } from '../vocabulary.ts'
import { say } from './terminal.ts'

const folder = new URL('../../samples/', import.meta.url)

const Samples = z.array(
  z.object({
    file: z.string(),
    title: z.string(),
    author: z.string().optional(),
    platform: z.enum(PLATFORMS).optional(),
  }),
)

/**
 * Adds the sample videos to an empty library and prints their progress until each is ready or has failed.
 * Does nothing when the library has a video.
 */
export async function addSamples(
  { db, store, config }: { db: Db; store: MediaStore; config: Pick<Config, 'maxUploadBytes'> },
  signal: AbortSignal,
): Promise<void> {
  if ((await db.select({ id: videos.id }).from(videos).limit(1)).length > 0) return
  const samples = Samples.parse(JSON.parse(readFileSync(new URL('samples.json', folder), 'utf8')))
  say(`The library is empty: adding ${samples.length} sample videos.`)
  const ids: string[] = []
  for (const { file, ...details } of samples) {
    const body = createReadStream(fileURLToPath(new URL(file, folder)))
    const { video } = await submitUpload(db, store, body, {
      filename: file,
      maxBytes: config.maxUploadBytes,
      details: () => details,
    })
    ids.push(video.id)
  }
  await follow(db, ids, signal)
}

async function follow(db: Db, ids: readonly string[], signal: AbortSignal): Promise<void> {
  const shown = new Map<string, { status: string; percent: number }>()
  for (let working = ids.length; working > 0 && !signal.aborted; ) {
    await sleep(300, undefined, { signal }).catch(() => undefined)
    working = 0
    for (const id of ids) {
      const report = await reportVideo(db, id).catch((error: unknown) => {
        if (!isConnectionLoss(error)) throw error
        // The database is being restarted.
        return undefined
      })
      if (!report) {
        working++
        continue
      }
      if (!['ready', 'failed', 'cancelled'].includes(report.status)) working++
      // In steps of ten percent, and never backwards: more lines would hide the others.
      const percent = Math.floor(percentOf(report) / 10) * 10
      const last = shown.get(id)
      if (last && last.status === report.status && percent <= last.percent) continue
      shown.set(id, { status: report.status, percent })
      say(`  ${report.title}: ${describe(report, percent)}`)
    }
  }
}

function percentOf({ status, stages }: VideoReport): number {
  const stage = stages.findLast((candidate) => candidate.stage === status)
  return stage?.total ? Math.min(100, (100 * stage.done) / stage.total) : 0
}

function describe({ status, frame_count, failure }: VideoReport, percent: number): string {
  if (status === 'ready') return `ready, ${frame_count} frames`
  if (failure) return `failed, ${failure.message}`
  return percent > 0 ? `${status}, ${percent} %` : status
}
