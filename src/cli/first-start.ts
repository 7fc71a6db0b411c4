import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type Config, isLoopback } from '../config.ts'
import { type Db, isConnectionLoss } from '../db/client.ts'
import { videos } from '../db/schema/videos.ts'
import { ensureAccount, findAccountByEmail } from '../library/accounts/accounts.ts'
import { createKey } from '../library/accounts/keys.ts'
import { createSignInCode } from '../library/accounts/sessions.ts'
import { recordNotes } from '../library/frames/record-annotations.ts'
import { videoIdOf } from '../library/ids.ts'
import { submitUpload } from '../library/videos/submit.ts'
import { reportVideo, type VideoReport } from '../library/videos/video-status.ts'
import { OVER } from '../library/videos/videos.ts'
import type { MediaStore } from '../media/media-store.ts'
import { inArray } from '../sql/orm.ts'
import { PLATFORMS, SHOTS, SUBJECTS, SURFACES } from '../vocabulary.ts'
import { signInUrl } from '../web/sign-in.ts'
import { say } from './terminal.ts'

export const OPERATOR_EMAIL = 'operator@localhost'

/** How long the link that `frames start` prints may wait for its one use. */
const START_LINK_SEC = 12 * 60 * 60

/**
 * A one-time link that signs the person at this terminal in as the operator. Undefined where others could read the
 * terminal's output or reach the service: unless it listens on loopback and PUBLIC_URL names this machine.
 */
export async function operatorLink(
  db: Db,
  { config, host }: { config: Pick<Config, 'publicUrl' | 'production' | 'trustProxy'>; host: string | undefined },
): Promise<string | undefined> {
  const { publicUrl, production, trustProxy } = config
  if (production || trustProxy > 0 || !isLoopback(host) || !isLoopback(new URL(publicUrl).hostname)) return undefined
  const account = await findAccountByEmail(db, OPERATOR_EMAIL)
  if (account?.role !== 'operator') return undefined
  const made = await createSignInCode(db, { email: OPERATOR_EMAIL, newPlan: null, lifetimeSec: START_LINK_SEC })
  return made && signInUrl(publicUrl, made.code)
}

/**
 * Creates the operator's account on the first start, and a key with every scope in `$DATA_DIR/operator-key`.
 * The file is written before the rows are committed, so every key that exists can be read. `created`: this was the
 * first start.
 */
export async function ensureOperator(db: Db, dataDir: string): Promise<{ created: boolean }> {
  return db.transaction(async (tx) => {
    const { account, created } = await ensureAccount(tx, { email: OPERATOR_EMAIL, plan: 'pro', role: 'operator' })
    if (!created) return { created }
    const { key } = await createKey(tx, { accountId: account.id, name: 'first start' })
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const file = join(dataDir, 'operator-key')
    writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return { created }
  })
}

const folder = new URL('../../samples/', import.meta.url)

/** Who wrote the notes of samples.json, as frames name them. A new edition describes every frame again. */
const AUTHOR = 'frame-library-team@2'

const Samples = z.array(
  z.object({
    file: z.string(),
    title: z.string(),
    author: z.string().optional(),
    platform: z.enum(PLATFORMS).optional(),
    /** What people saw, in order of time: see `recordNotes`. */
    notes: z.array(
      z.object({
        at: z.number(),
        subject: z.enum(SUBJECTS),
        surface: z.enum(SURFACES),
        shot: z.enum(SHOTS),
        technique: z.string(),
        caption: z.string(),
        composition: z.string(),
        steal: z.string(),
        on_screen_text: z.string().optional(),
      }),
    ),
  }),
)
type Sample = z.infer<typeof Samples>[number]

/**
 * Adds the sample videos to an empty library and describes their frames by the notes that come with them. Prints the
 * progress until each video is ready or has failed. In a library with videos it adds none, and goes on with those that
 * an interrupted start has left.
 */
export async function addSamples(
  { db, store, config }: { db: Db; store: MediaStore; config: Pick<Config, 'maxUploadBytes'> },
  signal: AbortSignal,
): Promise<void> {
  const samples = Samples.parse(JSON.parse(readFileSync(new URL('samples.json', folder), 'utf8')))
  const isEmpty = (await db.select({ id: videos.id }).from(videos).limit(1)).length === 0
  if (!isEmpty) return goOn(db, new Map(samples.map((sample) => [idOf(sample), sample])), signal)
  if (signal.aborted) return
  say(`The library is empty: adding ${samples.length} sample videos.`)
  const added = new Map<string, Sample>()
  for (const sample of samples) {
    const { file, title, author, platform } = sample
    const body = createReadStream(fileURLToPath(new URL(file, folder)))
    const { video } = await submitUpload(db, store, body, {
      filename: file,
      maxBytes: config.maxUploadBytes,
      details: () => ({ title, author, platform }),
    })
    added.set(video.id, sample)
  }
  await follow(db, added, signal)
}

/** Describes the samples of an earlier start, and follows those that it left unfinished. */
async function goOn(db: Db, samples: ReadonlyMap<string, Sample>, signal: AbortSignal): Promise<void> {
  const unfinished = new Map<string, Sample>()
  const found = await db
    .select({ id: videos.id })
    .from(videos)
    .where(inArray(videos.id, [...samples.keys()]))
  for (const { id } of found) {
    const sample = samples.get(id)!
    await describeFrames(db, id, sample)
    if (!OVER.includes((await reportVideo(db, id)).status)) unfinished.set(id, sample)
  }
  if (unfinished.size === 0) return
  say(`Going on with ${unfinished.size} sample videos of the last start.`)
  await follow(db, unfinished, signal)
}

function idOf({ file }: Sample): string {
  const bytes = readFileSync(new URL(file, folder))
  return videoIdOf(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
}

function describeFrames(db: Db, videoId: string, { notes }: Sample) {
  return recordNotes(db, { videoId, author: AUTHOR, notes })
}

async function follow(db: Db, added: ReadonlyMap<string, Sample>, signal: AbortSignal): Promise<void> {
  const working = new Map([...added.keys()].map((id) => [id, 'queued' as VideoReport['status']]))
  while (working.size > 0 && !signal.aborted) {
    await sleep(300, undefined, { signal }).catch(() => undefined)
    for (const [id, shown] of working) {
      try {
        const report = await reportVideo(db, id)
        if (report.status === shown) continue
        if (report.status === 'annotating' || report.status === 'ready') await describeFrames(db, id, added.get(id)!)
        say(`  ${report.title}: ${describe(report)}`)
        working.set(id, report.status)
        if (OVER.includes(report.status)) working.delete(id)
      } catch (error) {
        // The database is being restarted. The next round asks again.
        if (!isConnectionLoss(error)) throw error
      }
    }
  }
}

function describe({ status, frame_count, failure }: VideoReport): string {
  if (status === 'ready') return `ready, ${frame_count} frames`
  return failure ? `failed, ${failure.message}` : status
}
