import { createHash, randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import type { Db } from '../../db/client.ts'
import { AppError, invalid, MediaError } from '../../errors.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { checkUrl } from '../../video/source/fetch-source.ts'
import { decode, needsYtDlp } from '../../video/source/source.ts'
import type { Platform } from '../../vocabulary.ts'
import { replaceUpload, submitVideo, type VideoRow } from './videos.ts'

export interface SubmissionDetails {
  title?: string | undefined
  author?: string | undefined
  platform?: Platform | undefined
  backfill?: boolean | undefined
  priority?: number | undefined
}

/** A video's address as `video/source.ts` understands it. */
export interface ResolvedSource {
  platform: Platform
  canonicalUrl: string
  key: string
}

/**
 * Streams a file straight into the store and queues it. The same bytes again give the same video; the second copy is dropped. `details` is asked once the bytes
 * are in: a form may name them behind the file, and answers when it has ended.
 * @throws AppError payload_too_large, invalid_request for an empty file
 */
export async function submitUpload(
  db: Db,
  store: MediaStore,
  body: Readable,
  {
    filename,
    maxBytes,
    details: read,
  }: { filename: string; maxBytes: number; details: () => SubmissionDetails | Promise<SubmissionDetails> },
): Promise<{ video: VideoRow; created: boolean }> {
  const hash = createHash('sha256')
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  body.once('error', (error) => hashing.destroy(error))
  // It may break off before the store reads from it; the store is told when it does.
  hashing.on('error', () => undefined)
  // A name of its own for every copy: whatever is removed, no other submission's bytes go with it.
  const uploadKey = `uploads/${randomBytes(16).toString('hex')}`
  const { bytes } = await store.put(uploadKey, body.pipe(hashing), 'application/octet-stream', { maxBytes })
  let details: SubmissionDetails
  try {
    if (bytes === 0) throw invalid('file', 'The file is empty.')
    details = await read()
  } catch (error) {
    await store.delete(uploadKey)
    throw error
  }
  // When this fails the row may be there all the same (a connection lost at the commit): a file that no row names goes with the garbage.
  const { video, created } = await submitVideo(db, {
    sourceKey: `sha256:${hash.digest('hex')}`,
    sourceUrl: null,
    uploadKey,
    platform: details.platform ?? 'web',
    title: details.title,
    author: details.author,
    fallbackTitle: titleFromFilename(filename),
    ...(details.backfill === undefined ? {} : { backfill: details.backfill }),
    ...(details.priority === undefined ? {} : { priority: details.priority }),
  })
  if (!created && !(await mendsLostUpload(db, store, video, uploadKey))) await store.delete(uploadKey)
  return { video, created }
}

/** The same file again when the first copy is no longer in the store: this one takes its place. */
async function mendsLostUpload(db: Db, store: MediaStore, video: VideoRow, uploadKey: string): Promise<boolean> {
  if (video.uploadKey === null || (await store.stat(video.uploadKey))) return false
  return replaceUpload(db, video.id, { from: video.uploadKey, to: uploadKey })
}

/** @throws AppError invalid_request when the address is none a video can come from */
export async function submitUrl(
  db: Db,
  url: string,
  resolve: (url: string) => ResolvedSource | undefined,
  details: SubmissionDetails & { fetchable: (source: ResolvedSource) => string | undefined },
): Promise<{ video: VideoRow; created: boolean }> {
  const source = resolve(url)
  if (!source)
    throw invalid(
      'url',
      'This is no video address: an https URL of YouTube, X, Vimeo, LinkedIn or a video file is needed.',
    )
  const refusal = details.fetchable(source)
  if (refusal) throw new AppError('invalid_request', refusal, { details: [{ path: 'url', message: refusal }] })
  return submitVideo(db, {
    sourceKey: source.key,
    sourceUrl: source.canonicalUrl,
    uploadKey: null,
    platform: details.platform ?? source.platform,
    title: details.title,
    author: details.author,
    fallbackTitle: titleFromUrl(source.canonicalUrl),
    ...(details.backfill === undefined ? {} : { backfill: details.backfill }),
    ...(details.priority === undefined ? {} : { priority: details.priority }),
  })
}

/** `my-launch_film.mp4` → `my launch film`. */
export function titleFromFilename(filename: string): string {
  const base = filename.split(/[\\/]/).at(-1) ?? ''
  const words = base
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replace(/[_-]+/g, ' ')
    .replace(/\p{Cc}/gu, '')
    .trim()
  return words === '' ? 'Untitled' : words.slice(0, 300)
}

function titleFromUrl(url: string): string {
  const { hostname, pathname } = new URL(url)
  const last = pathname.split('/').filter(Boolean).at(-1)
  return last && /\.[a-z0-9]{2,5}$/i.test(last)
    ? titleFromFilename(decode(last))
    : `${hostname.replace(/^www\./, '')}${pathname === '/' ? '' : pathname}`
}

/**
 * Which sources this installation can fetch: files by itself, a platform's pages only with an operator's yt-dlp, nothing of a private network. Answers why not,
 * undefined when it can.
 */
export function fetchability({ ytdlp }: { ytdlp: boolean }): (source: ResolvedSource) => string | undefined {
  return (source) => {
    if (needsYtDlp(source))
      return ytdlp
        ? undefined
        : `Videos on ${source.platform} need yt-dlp: an operator installs it and sets YTDLP_PATH. Or upload the file.`
    try {
      checkUrl(source.canonicalUrl)
      return undefined
    } catch (error) {
      if (error instanceof MediaError) return error.message
      throw error
    }
  }
}
