import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { plural } from '../clean-text.ts'
import type { VideoRow } from '../db/schema/videos.ts'
import { AppError, MediaError } from '../errors.ts'
import {
  compareFrames,
  countFrames,
  type FrameChange,
  videosOfOtherVersion,
  whyUnreadable,
} from '../library/videos/extraction.ts'
import { retryVideo } from '../library/videos/lifecycle.ts'
import { requireVideo } from '../library/videos/videos.ts'
import { EXTRACTION_VERSION } from '../video/shots/detector.ts'
import { answers, type CommandContext, parseInteger, type Result } from './context.ts'
import { addExamples } from './terminal.ts'

interface Options {
  video?: string[]
  sample: string
  dryRun?: boolean
}

/** `frames reextract`: picks the frames of old videos again with this version. A preview tells what would change. */
export function defineReextract(command: Command): void {
  addExamples(command, 'reextract --dry-run', 'reextract --dry-run --sample 10', 'reextract', 'reextract --video <id>')
  command
    .option('--video <id...>', 'only these videos')
    .option('--dry-run', 'read some of the videos again, tell what would change, and store nothing')
    .option('--sample <n>', 'videos that a dry run reads', '3')
  answers(command, reextract)
}

async function reextract(context: CommandContext, { video: ids, sample, dryRun }: Options): Promise<Result> {
  const { db } = context
  const limit = parseInteger('--sample', sample, { min: 1, max: 100 })
  for (const id of ids ?? []) await requireVideo(db, id)
  const old = await videosOfOtherVersion(db, EXTRACTION_VERSION, ids)
  const { readable, unreadable } = await sortOut(context, old)
  const found = {
    version: EXTRACTION_VERSION,
    videos: readable.length,
    ...(await countFrames(
      db,
      readable.map(({ id }) => id),
    )),
    unreadable,
  }
  const lines = [
    `${plural(found.videos, 'video')} with ${plural(found.frames, 'frame')} were read by another version than ` +
      `${found.version}. ${found.held} of the frames are saved, pinned or corrected: these stay.`,
    ...unreadable.map(({ id, reason }) => `  ${id}  stays as it is: ${reason}`),
  ]
  if (dryRun) {
    const preview: Preview[] = []
    for (const video of readable.slice(0, limit)) preview.push(await previewVideo(context, video))
    return [{ ...found, preview }, () => [...lines, ...preview.map(toLine), 'Nothing was stored.']]
  }
  let queued = 0
  for (const { id } of readable) queued += await queueAgain(db, id)
  const done = `${plural(queued, 'video')} queued behind live work.`
  return [{ ...found, queued }, () => [...lines, `${done} The old frames are shown until the new ones are there.`]]
}

async function sortOut({ config, store }: CommandContext, old: readonly VideoRow[]) {
  const readable: VideoRow[] = []
  const unreadable: { id: string; reason: string }[] = []
  for (const video of old) {
    const reason = await whyUnreadable(video, store, config.ytdlpPath !== undefined)
    if (reason === undefined) readable.push(video)
    else unreadable.push({ id: video.id, reason })
  }
  return { readable, unreadable }
}

/** A video that was deleted or queued meanwhile is left alone. */
async function queueAgain(db: CommandContext['db'], id: string): Promise<0 | 1> {
  try {
    await retryVideo(db, id, { again: true })
    return 1
  } catch (error) {
    if (error instanceof AppError) return 0
    throw error
  }
}

type Preview = { id: string; title: string } & (FrameChange | { failed: string })

/** Fetches and extracts a video as a worker does, and stores nothing. */
async function previewVideo({ config, db, store }: CommandContext, video: VideoRow): Promise<Preview> {
  const { extractInChild } = await import('../video/extract/run-extraction.ts')
  const { fetchVideo, makeScratch } = await import('../workers/attempt.ts')
  const { scratchRootOf } = await import('../workers/handlers.ts')
  const { id, title } = video
  const { ytdlpPath, maxUploadBytes: maxBytes, maxVideoSec: maxDurationSec } = config
  const folder = await makeScratch(scratchRootOf(config), id)
  const { signal } = new AbortController()
  try {
    const fetch = fetchVideo({ store, ytdlpPath, maxBytes, maxDurationSec })
    const { file } = await fetch(video, { scratchDir: folder, signal, onProgress: () => undefined })
    const scratchDir = join(folder, 'frames')
    await mkdir(scratchDir)
    const { frames } = await extractInChild({ file, scratchDir, signal, limits: { maxDurationSec } })
    const change = await compareFrames(
      db,
      id,
      frames.map(({ tMs }) => tMs),
    )
    return { id, title, ...change }
  } catch (error) {
    if (error instanceof MediaError) return { id, title, failed: error.message }
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toLine(one: Preview): string {
  if ('failed' in one) return `  ${one.id}  ${one.title}: cannot be read again. ${one.failed}`
  const { now, after, same, added, removed, held } = one
  const parts = [`${same} the same`, `${added} new`, `${removed} go`]
  if (held > 0) parts.push(`${held} stay for people`)
  return `  ${one.id}  ${one.title}: ${plural(now, 'frame')} now, ${after} after: ${parts.join(', ')}`
}
