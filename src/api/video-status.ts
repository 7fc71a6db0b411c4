import { z } from 'zod'
import type { VideoRow } from '../db/schema/videos.ts'
import type { VideoReport } from '../library/videos/video-status.ts'
import { toShownAddress } from '../video/source/shown-address.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'

/** Videos as operators see them: queued, worked on, done or failed. */

const stage = z.strictObject({
  stage: z.enum(['fetching', 'extracting', 'annotating']),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  done: z.number(),
  total: z.number().nullable(),
  rate_per_sec: z.number().nullable(),
  left_sec: z.number().nullable(),
})
const status = z.enum(['queued', 'fetching', 'extracting', 'annotating', 'ready', 'failed', 'cancelled'])
const failure = z.strictObject({ code: z.string(), message: z.string() }).nullable()
export const SubmittedVideo = z
  .strictObject({
    id: z.string(),
    status,
    title: z.string(),
    author: z.string().nullable(),
    platform: z.enum(PLATFORMS),
    source_url: z.string().nullable(),
    failure,
    added_at: z.iso.datetime(),
  })
  .meta({ id: 'SubmittedVideo' })
export const VideoStatusReport = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    author: z.string().nullable(),
    platform: z.enum(PLATFORMS),
    source_url: z.string().nullable(),
    status,
    failure,
    stages: z.array(stage),
    attempts: z.int(),
    backfill: z.boolean(),
    frame_count: z.int(),
    reannotating: z.int(),
    costs: z.strictObject({ calls: z.int(), input_tokens: z.int(), output_tokens: z.int(), cost_usd: z.number() }),
    added_at: z.iso.datetime(),
    ready_at: z.iso.datetime().nullable(),
    detector: z.strictObject({ version: z.string(), parameters: z.record(z.string(), z.number()) }).nullable(),
    annotator: z.string().nullable(),
  })
  .meta({ id: 'VideoStatusReport' })

export function toSubmitted(video: VideoRow): z.infer<typeof SubmittedVideo> {
  return {
    id: video.id,
    status: video.status,
    title: video.title,
    author: video.author,
    platform: video.platform as Platform,
    source_url: video.sourceUrl === null ? null : toShownAddress(video.sourceUrl),
    failure: video.failureCode === null ? null : { code: video.failureCode, message: video.failureMessage! },
    added_at: video.addedAt.toISOString(),
  }
}

export function toStatusReport(report: VideoReport): z.infer<typeof VideoStatusReport> {
  return { ...report, platform: report.platform as Platform }
}
