import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import type { Db } from '../../src/db/client.ts'
import { submitUpload } from '../../src/library/videos/submit.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { sql } from '../../src/sql/orm.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { until } from '../support/until.ts'
import { ffmpeg, QUICK } from '../video/ffmpeg.ts'

const entry = new URL('worker-process.ts', import.meta.url).pathname

export interface Library {
  db: Db
  databaseUrl: string
  redisUrl: string
  prefix: string
  dataDir: string
}

export interface WorkerProcess {
  readonly child: ChildProcess
  /** Resolves when it takes jobs. */
  working: Promise<void>
  /** Resolves at its end, with the exit code or the signal. */
  ended: Promise<number | NodeJS.Signals>
  log(): string
}

/** A worker process over this library. With `faultAt` it kills itself at that step. */
export function launchWorker(library: Library, faultAt = ''): WorkerProcess {
  const child = spawn(process.execPath, [entry, library.prefix], {
    env: {
      PATH: process.env.PATH,
      ...NODE_SETTINGS,
      DATABASE_URL: library.databaseUrl,
      REDIS_URL: library.redisUrl,
      DATA_DIR: library.dataDir,
      FAULT_AT: faultAt,
      LOG_LEVEL: 'info',
      WEBHOOK_ALLOW_PRIVATE: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  const working = new Promise<void>((resolve) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => {
        log += chunk.toString()
        if (log.includes('working')) resolve()
      })
    ended.then(() => resolve())
  })
  return { child, working, ended, log: () => log }
}

/** A folder of small, different clips of three shots, a second each. */
export function makeClips(count: number): { paths: string[]; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'frames-clips-'))
  const paths = Array.from({ length: count }, (_, n) => {
    const path = join(dir, `clip-${n}.mp4`)
    const hue = (shift: number) => `hue=h=${(n * 36 + shift) % 360}:b=${((n + shift) % 5) - 2}`
    ffmpeg(
      ...['testsrc2=s=192x108:r=12:d=1', 'smptebars=s=192x108:r=12:d=1'].flatMap((one) => ['-f', 'lavfi', '-i', one]),
      ...['-f', 'lavfi', '-i', 'mandelbrot=s=192x108:r=12:end_scale=0.3', '-filter_complex'],
      `[0]${hue(0)}[a];[1]${hue(90)}[b];[2]trim=duration=1,${hue(180)}[c];[a][b][c]concat=n=3`,
      ...[...QUICK, path],
    )
    return path
  })
  return { paths, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export async function addVideo(library: Library, path: string): Promise<string> {
  const store = openMediaStore(parseConfig({ DATA_DIR: library.dataDir }))
  const { video } = await submitUpload(library.db, store, createReadStream(path), {
    filename: path,
    maxBytes: 50_000_000,
    details: () => ({}),
  })
  return video.id
}

/** The final state of a library: the same for the same clips, however often its workers were killed. */
export async function outcomeOf({ db }: Library) {
  const rows = async (query: ReturnType<typeof sql>) => (await db.execute(query)).rows
  return {
    videos: await rows(sql`select id, status, failure_code, frames from videos v,
      lateral (select count(*)::int as frames from frames where video_id = v.id) f order by id collate "C"`),
    frames: await rows(sql`select id, video_id, t_ms, kind, image_key, caption from frames order by id collate "C"`),
    annotations: await rows(
      sql`select frame_id, annotator, status from annotations order by frame_id collate "C", annotator`,
    ),
    documents: await rows(
      sql`select id, doc->>'caption' as caption from library_search.documents
           where kind = 'frames' and doc is not null order by id collate "C"`,
    ),
    events: await rows(sql`select type, subject, count(*)::int as times from events
      where type in ('video.submitted', 'frames.extracted', 'video.ready', 'video.failed')
      group by 1, 2 order by type collate "C", subject collate "C"`),
    annotated: await rows(sql`select frame as id, count(*)::int as times from events,
      jsonb_array_elements_text(data->'frame_ids') frame
      where type = 'frames.annotated' group by 1 order by frame collate "C"`),
  }
}

export type Outcome = Awaited<ReturnType<typeof outcomeOf>>

/** Every video is ready, and every event was appended once. */
export function expectWhole(outcome: Outcome, videos: number): void {
  expect(outcome.videos).toHaveLength(videos)
  for (const video of outcome.videos) expect(video).toMatchObject({ status: 'ready', failure_code: null })
  expect(outcome.frames.length).toBeGreaterThanOrEqual(2 * videos)
  const once = (list: readonly Record<string, unknown>[]) => list.filter((row) => row.times !== 1)
  expect(once(outcome.events)).toEqual([])
  expect(outcome.events.map(({ type }) => type)).toEqual(
    ['frames.extracted', 'video.ready', 'video.submitted'].flatMap((type) => Array<string>(videos).fill(type)),
  )
  expect(once(outcome.annotated)).toEqual([])
  const ids = outcome.frames.map(({ id }) => id)
  expect(outcome.annotated.map(({ id }) => id)).toEqual(ids)
  expect(outcome.annotations.map(({ frame_id }) => frame_id)).toEqual(ids)
  expect(outcome.documents.map(({ id }) => id)).toEqual(ids)
}

/** Waits until no video is in progress and search has every frame. */
export async function settled({ db }: Library): Promise<void> {
  await until(async () => {
    const { rows } = await db.execute<{ left: number }>(sql`select
      (select count(*) from videos where status in ('queued', 'fetching', 'extracting', 'annotating'))
      + (select count(*) from frames) - (select count(*) from library_search.frames) as left`)
    return Number(rows[0]?.left) === 0
  })
}
