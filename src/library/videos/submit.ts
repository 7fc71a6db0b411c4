import { createHash, randomBytes, randomInt } from 'node:crypto'
import { finished, type Readable, Transform } from 'node:stream'
import type { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import type { Db } from '../../db/client.ts'
import { type VideoRow, videos } from '../../db/schema/videos.ts'
import { AppError, invalid, MediaError } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { checkUrl } from '../../outbound/checked-url.ts'
import { and, eq, inArray } from '../../sql/orm.ts'
import { toShownAddress } from '../../video/source/shown-address.ts'
import { decodePercent, findSource, needsYtDlp, siteOf } from '../../video/source/source.ts'
import { MAX_TEXT, type Platform } from '../../vocabulary.ts'
import { videoIdOf } from '../ids.ts'
import { changedBy, type NewDetails, toColumns } from './details.ts'
import { aboutVideo, lockMedia, setVideo } from './videos.ts'

export interface SubmissionDetails extends z.output<typeof NewDetails> {
  backfill?: boolean | undefined
  priority?: number | undefined
}

/** A video URL as `video/source` resolves it. */
export interface ResolvedSource {
  platform: Platform
  canonicalUrl: string
  key: string
}

interface VideoSubmission {
  /** `youtube:<id>`, `url:<canonical>` or `sha256:<hex>`: two submissions with the same key are the same video. */
  sourceKey: string
  sourceUrl: string | null
  uploadKey: string | null
  platform: Platform
  /** Title from the source or the file name, for a submission without a title. */
  fallbackTitle: string
  details: SubmissionDetails
}

export interface Submitted {
  video: VideoRow
  created: boolean
  /** Details that were given and differ from those of a video that the library had: they stay as they were. */
  unchanged: string[]
}

/**
 * Queues a video. A repeated source returns the same video, and appends no event. Only one that failed gets an address
 * that says more: an unlisted video can be reached with its hash alone.
 */
async function submitVideo(db: Db, submission: VideoSubmission): Promise<Submitted> {
  const { sourceKey, sourceUrl, uploadKey, platform, fallbackTitle, details } = submission
  const { backfill, priority } = details
  const given = toColumns(details)
  const id = videoIdOf(sourceKey)
  return db.transaction(async (tx) => {
    await lockMedia(tx, id)
    const [created] = await tx
      .insert(videos)
      .values({
        id,
        sourceKey,
        sourceUrl,
        uploadKey,
        platform,
        title: fallbackTitle.slice(0, MAX_TEXT),
        ...given,
        backfill,
        priority,
        // A source that is added again after a deletion has the same id. The random revision rejects its old jobs.
        revision: randomInt(1, 2 ** 30),
      })
      .onConflictDoNothing()
      .returning()
    if (created) {
      const facts = { revision: created.revision, reason: 'added' as const }
      await appendEvent(tx, { type: 'video.submitted', ...aboutVideo(created, facts) })
      return { video: created, created: true, unchanged: [] }
    }
    const [existing] = await tx.select().from(videos).where(eq(videos.sourceKey, sourceKey))
    if (!existing) throw new Error('the video was deleted while it was submitted')
    const saysMore = sourceUrl?.startsWith(`${existing.sourceUrl}/`) ?? false
    const isMended = existing.status === 'failed' && saysMore
    const video = isMended ? await setVideo(tx, id, { sourceUrl }) : existing
    return { video, created: false, unchanged: Object.keys(changedBy(video, given)) }
  })
}

/**
 * Streams a file into the media store and queues it. The same bytes give the same video, and the second copy is
 * deleted.
 * @throws AppError payload_too_large, invalid_request for an empty file; then nothing of it is kept
 */
export async function submitUpload(
  db: Db,
  store: MediaStore,
  body: Readable,
  { filename, maxBytes, details: detailsOf }: FileOptions,
): Promise<Submitted> {
  // Every copy gets its own key, so removing one never removes another submission's bytes.
  const uploadKey = `uploads/${randomBytes(16).toString('hex')}`
  const hash = createHash('sha256')
  const hashed = through(body, (chunk) => hash.update(chunk))
  const { bytes } = await store.put(uploadKey, hashed, 'application/octet-stream', { maxBytes })
  let details: SubmissionDetails
  try {
    if (bytes === 0) throw invalid('file', 'The file is empty. Use another one.')
    details = await detailsOf()
  } catch (error) {
    await store.delete(uploadKey)
    throw error
  }
  // If this fails, the row may still exist (connection lost at commit). If it does not, garbage collection removes the
  // file.
  const submitted = await submitVideo(db, {
    sourceKey: `sha256:${hash.digest('hex')}`,
    sourceUrl: null,
    uploadKey,
    platform: 'web',
    fallbackTitle: titleFromFilename(filename),
    details,
  })
  const { video, created } = submitted
  if (!created && !(await replacesLostUpload(db, store, video, uploadKey))) await store.delete(uploadKey)
  return submitted
}

interface FileOptions {
  filename: string
  maxBytes: number
  /** Called once the bytes are stored, because a form may send its fields after the file. */
  details: () => SubmissionDetails | Promise<SubmissionDetails>
}

/** The same body. `see` gets each chunk first. */
function through(body: Readable, see: (chunk: Buffer) => void): Readable {
  const seen = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      see(chunk)
      done(null, chunk)
    },
  })
  // The upload may fail before the media store reads it. The store sees the error once it does.
  seen.on('error', () => undefined)
  // Also when its sender has gone already: then no event comes, and the store would wait for ever.
  finished(body, { writable: false }, (error) => error && seen.destroy(error))
  return body.pipe(seen)
}

/** A video that the library has already. */
export type KnownVideo = Pick<VideoRow, 'id' | 'title' | 'status'>

/** The videos that the library has already, by their source keys (`ResolvedSource.key`, `sha256:<hex>`). */
export async function findKnown(db: Db, keys: readonly string[]): Promise<Map<string, KnownVideo>> {
  if (keys.length === 0) return new Map()
  const rows = await db
    .select({ key: videos.sourceKey, id: videos.id, title: videos.title, status: videos.status })
    .from(videos)
    .where(inArray(videos.sourceKey, keys))
  return new Map(rows.map(({ key, ...video }) => [key, video]))
}

/**
 * The new copy replaces the first one if that is no longer in the media store. False also when the upload changed
 * meanwhile.
 */
async function replacesLostUpload(db: Db, store: MediaStore, video: VideoRow, uploadKey: string): Promise<boolean> {
  if (video.uploadKey === null || (await store.stat(video.uploadKey))) return false
  const { rowCount } = await db
    .update(videos)
    .set({ uploadKey, updatedAt: new Date() })
    .where(and(eq(videos.id, video.id), eq(videos.uploadKey, video.uploadKey)))
  return rowCount === 1
}

/** @throws AppError invalid_request for a URL that no video can come from. */
export async function submitUrl(
  db: Db,
  url: string,
  { ytdlp, ...details }: SubmissionDetails & { ytdlp: boolean },
): Promise<Submitted> {
  const source = findSource(url)
  if (!source)
    throw invalid(
      'url',
      'Not a supported video URL. Use an https link to a video file or to a platform such as YouTube or Vimeo.',
    )
  const refusal = whyUnfetchable(source, ytdlp)
  if (refusal) throw new AppError('invalid_request', refusal, { details: [{ path: 'url', message: refusal }] })
  return submitVideo(db, {
    sourceKey: source.key,
    sourceUrl: source.canonicalUrl,
    uploadKey: null,
    platform: source.platform,
    fallbackTitle: titleFromUrl(toShownAddress(source.canonicalUrl)),
    details,
  })
}

/** The id of the video behind an address; undefined for what is none. */
export function videoIdAt(address: string): string | undefined {
  const source = findSource(address)
  return source && videoIdOf(source.key)
}

/** `my-launch_film.mp4` → `my launch film`. */
function titleFromFilename(filename: string): string {
  const base = filename.split(/[\\/]/).at(-1) ?? ''
  return cleanText(base.replace(/\.[a-z0-9]{1,5}$/i, '').replace(/[_-]+/g, ' '), 300) || 'Untitled'
}

function titleFromUrl(url: string): string {
  const { hostname, pathname } = new URL(url)
  const last = pathname.split('/').filter(Boolean).at(-1)
  return last && /\.[a-z0-9]{2,5}$/i.test(last)
    ? titleFromFilename(decodePercent(last))
    : `${hostname.replace(/^www\./, '')}${pathname === '/' ? '' : pathname}`
}

/**
 * Why this installation, with or without an operator's yt-dlp, cannot fetch a source; undefined when it can. Files need
 * nothing, a platform's pages need yt-dlp, and private networks are refused.
 */
export function whyUnfetchable(source: ResolvedSource, ytdlp: boolean): string | undefined {
  if (needsYtDlp(source))
    return ytdlp
      ? undefined
      : `Videos on ${siteOf(source)} need yt-dlp: an operator installs it and sets YTDLP_PATH. Or upload the file.`
  try {
    checkUrl(source.canonicalUrl)
    return undefined
  } catch (error) {
    if (error instanceof MediaError) return error.message
    throw error
  }
}
