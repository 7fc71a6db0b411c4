import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Redis } from 'ioredis'
import sharp from 'sharp'
import { beforeAll, inject } from 'vitest'
import type { Config } from '../../src/config.ts'
import { type SubmissionDetails, submitUpload } from '../../src/library/videos/submit.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { DEFAULT_PREFIX } from '../../src/queue/queues.ts'
import { sql } from '../../src/sql/orm.ts'
import type { Extraction, ExtractOptions } from '../../src/video/extract/extract.ts'
import type { AnnotatedValue, Annotator, FrameAnnotation, FrameToAnnotate } from '../../src/vision/annotator.ts'
import type { Annotated } from '../../src/vocabulary.ts'
import { useOpened } from '../support/closing.ts'
import { runWith } from '../support/command-line.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { openService, type Service } from '../support/service.ts'
import type { Stores } from '../support/stores.ts'

/** The scripted answer about a frame. */
export type Answerer = (frame: FrameToAnnotate) => Partial<FrameAnnotation> | Promise<Partial<FrameAnnotation>>

export interface ScriptedAnnotator extends Annotator {
  /** Ids of the frames it was asked about, in order. */
  asked: string[]
  answer: Answerer
}

/** For all tests of a file: the pages of a library with one film of six frames. */
export function useLaunch(): { service: Service; frameIds: string[] } {
  const annotator = scriptedAnnotator('scripted@1', () => ({ values: values({ subject: 'ui' }) }))
  const service = useOpened(() => openScripted(annotator, { pages: true }))
  const frameIds: string[] = []
  beforeAll(async () => {
    const video = await addVideo(service, 6, { title: 'Launch' })
    await service.drain()
    frameIds.push(...(await frameRows(service, video)).map(({ id }) => id))
  })
  return { service, frameIds }
}

/** An annotator with scripted answers. Everything around it is real. */
export function scriptedAnnotator(version: string, answer: Answerer, { batchSize = 4 } = {}): ScriptedAnnotator {
  const annotator: ScriptedAnnotator = {
    version,
    model: version.split('@')[0]!,
    batchSize,
    asked: [],
    answer,
    async annotate(_video, frames, { signal, onAnnotated }) {
      const annotations: FrameAnnotation[] = []
      for (const frame of frames) {
        signal.throwIfAborted()
        annotator.asked.push(frame.id)
        const annotation: FrameAnnotation = {
          frameId: frame.id,
          status: 'annotated',
          values: {},
          issues: [],
          ...(await annotator.answer(frame)),
        }
        await onAnnotated?.(annotation)
        annotations.push(annotation)
      }
      return { annotations, calls: [] }
    },
    async [Symbol.asyncDispose]() {},
  }
  return annotator
}

export function values(
  given: Partial<Record<Annotated, string | null>>,
  source: AnnotatedValue['source'] = 'model',
  confidence = 0.8,
): FrameAnnotation['values'] {
  return Object.fromEntries(
    Object.entries(given).map(([attribute, value]) => [attribute, { value, source, confidence }]),
  )
}

/** The beginning of every film here: the command line looks at it before it adds a file. */
export const FILM_HEAD = '\0\0\0\x14ftypisom'

/** Extracts frames without a film: one a second, as many as the first line of the "file" says, all different. */
export async function extractFromNumber({ file, scratchDir, signal, loops }: ExtractOptions): Promise<Extraction> {
  signal.throwIfAborted()
  const { readFile } = await import('node:fs/promises')
  const [count, detector = 'counting-1', ...skipped] = (await readFile(file, 'utf8'))
    .replace(FILM_HEAD, '')
    .split('\n')[0]!
    .split(' ')
  const frames: Extraction['frames'] = []
  for (let n = 0; n < Number(count); n++) {
    if (skipped.includes(String(n))) continue
    const image = await pictureOf(n)
    const imagePath = join(scratchDir, `${n}.webp`)
    await writeFile(imagePath, image)
    frames.push({
      tMs: n * 1000,
      kind: n === 0 ? 'intro' : 'cut',
      reason: `cut: frame ${n}`,
      rest: null,
      width: 16,
      height: 9,
      luma: 20,
      tone: 'dark',
      darkShare: 1,
      palette: ['#000000', '#111111', '#222222', '#333333', '#444444'],
      paletteShares: [1, 0, 0, 0, 0],
      coloredShare: 0,
      sharpness: 10,
      motion: 1,
      phash: createHash('sha256').update(String(n)).digest('hex').slice(0, 16),
      placeholder: 'YTkGJwaRhWUIt4lbgnhZl3ath2BUBGYA',
      imagePath,
      imageBytes: image.length,
      imageSha256: createHash('sha256').update(image).digest('hex'),
      thumbPath: imagePath,
      loop: loops && n % 4 === 1 ? { path: imagePath, sha256: sha256('loop', image) } : null,
    })
  }
  return {
    probe: {
      durationSec: Number(count),
      width: 16,
      height: 9,
      fps: 30,
      frameRate: null,
      startTimecode: null,
      rotation: 0,
      codec: 'none',
      container: 'none',
      title: null,
    },
    shots: cutShots([Number(count)]),
    picture: filmPicture(),
    frames,
    passedOver: [],
    detector: { version: detector, parameters: {} },
  }
}

const sha256 = (name: string, bytes: Buffer) => createHash('sha256').update(name).update(bytes).digest('hex')

const pictures = new Map<number, Promise<Buffer>>()

/** No two neighbours look the same to an annotator, so that every call is about as many frames. */
function pictureOf(n: number): Promise<Buffer> {
  let picture = pictures.get(n)
  if (!picture) {
    const background = { r: n % 256, g: (n * 37) % 256, b: 90 }
    picture = sharp({ create: { width: 16, height: 9, channels: 3, background } })
      .webp({ lossless: true })
      .toBuffer()
    pictures.set(n, picture)
  }
  return picture
}

/** A service with scripted far ends: no decoding, no model. The reconciler runs only when a test calls it. */
export function openScripted(
  annotator: Annotator,
  options: NonNullable<Parameters<typeof openService>[0]> = {},
): Promise<Service> {
  return openService({
    ...options,
    annotator,
    workerOptions: { extract: extractFromNumber, reconcileMs: 3_600_000, ...options.workerOptions },
  })
}

let made = 0

/** Queues a "file" of so many frames. */
export async function addVideo(
  service: Pick<Service, 'stores' | 'config'>,
  frames: number | string,
  details: SubmissionDetails = {},
): Promise<string> {
  const body = Readable.from([Buffer.from(`${frames}\n${++made}`)])
  const { video } = await submitUpload(service.stores.db, openMediaStore(service.config), body, {
    filename: `video-${made}.mp4`,
    maxBytes: 1_000,
    details: () => details,
  })
  return video.id
}

export interface FrameState {
  id: string
  [column: string]: unknown
}

/** The frames' rows as the database has them, in time order. */
export async function frameRows(service: Pick<Service, 'stores'>, videoId: string): Promise<FrameState[]> {
  const { rows } = await service.stores.db.execute(sql`select * from frames where video_id = ${videoId} order by t_ms`)
  return rows as unknown as FrameState[]
}

export async function videoRow(
  service: Pick<Service, 'stores'>,
  videoId: string,
): Promise<Record<string, unknown> | undefined> {
  const { rows } = await service.stores.db.execute(sql`select * from videos where id = ${videoId}`)
  return rows[0]
}

export async function countOf(service: Pick<Service, 'stores'>, query: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await service.stores.db.execute<{ n: string }>(query)
  return Number(rows[0]!.n)
}

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
  json: any
}

/** A command that runs: resolves when it ends. */
export interface RunningCommand extends Promise<CommandResult> {
  child: ChildProcess
  /** What it has printed so far. */
  seen(): string
}

type Over = { stores: Pick<Stores, 'databaseUrl'>; config: Pick<Config, 'dataDir'> }
const settingsOf = ({ stores, config }: Over, redisUrl: string, env: Record<string, string>) => ({
  DATABASE_URL: stores.databaseUrl,
  REDIS_URL: redisUrl,
  DATA_DIR: config.dataDir,
  ...env,
})

/** A command over the service's stores, in this process. It is the only one of its time. */
export async function frames(
  service: Over,
  redisUrl: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const { code, out: stdout, err: stderr } = await runWith(settingsOf(service, redisUrl, env), ...args)
  return { code, stdout, stderr, json: jsonOf(stdout) }
}

/**
 * For all tests of a file: a service and commands over it. Commands use the default names in Redis, so a numbered
 * database keeps them apart from every other test.
 */
export function useCommands(database: number, annotator: Annotator, extract = extractFromNumber) {
  const redisUrl = `${inject('redisUrl').replace(/\/\d*$/, '')}/${database}`
  const service = useOpened(async () => {
    const redis = new Redis(redisUrl)
    // A run that was killed may have left jobs there, where Redis is kept between runs.
    await redis.flushdb()
    redis.disconnect()
    return openScripted(annotator, { workerOptions: { redisUrl, prefix: DEFAULT_PREFIX, extract } })
  })
  const withEnv = (env: Record<string, string>, ...args: string[]) => frames(service, redisUrl, args, env)
  return { redisUrl, service, withEnv, run: (...args: string[]) => withEnv({}, ...args) }
}

/** The same command as a process of its own. */
export function startFrames(
  service: Over,
  redisUrl: string,
  args: readonly string[],
  env: Record<string, string> = {},
): RunningCommand {
  const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env.PATH, ...NODE_SETTINGS, ...settingsOf(service, redisUrl, env) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text
    })
  const ended = new Promise<CommandResult>((resolve) => {
    child.once('close', (code) => resolve({ code: code ?? 1, ...said, json: jsonOf(said.stdout) }))
  })
  return Object.assign(ended, { child, seen: () => said.stdout })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not every answer is meant for a program.
    return undefined
  }
}
