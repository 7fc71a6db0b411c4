import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { and, asc, eq, sql } from 'drizzle-orm'
import pg from 'pg'
import type { Db } from '../../db/client.ts'
import { uploadParts, uploads, type VideoRow } from '../../db/schema/videos.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { type MediaStore, tooLarge } from '../../media/media-store.ts'
import { SPARE_MS } from './storage.ts'
import { type SubmissionDetails, submitUpload } from './submit.ts'
import { requireVideo } from './videos.ts'

/*
 * Uploads in parts, one request each. No proxy's body limit matters, and a reloaded page continues where it stopped.
 * Parts are in the media store and their numbers in the database, so every part may go to another process.
 */

/** The size of every part but the last: small enough to be sent again over a slow line. */
const PART_BYTES = 4 * 1024 * 1024
/** Unfinished uploads that an account may have. */
const MAX_UPLOADS = 20
/** An upload without a new part for this long is deleted. */
const UPLOAD_HOURS = 24

type UploadRow = typeof uploads.$inferSelect

export interface Upload extends Pick<UploadRow, 'id' | 'filename' | 'bytes' | 'sha256' | 'partBytes' | 'videoId'> {
  parts: number
  /** The numbers of the parts received. */
  received: number[]
}

interface Whose {
  accountId: string
  id: string
}

interface NewUpload {
  accountId: string
  filename: string
  bytes: number
  /** Of the whole file, hex. */
  sha256?: string | undefined
  maxBytes: number
  details: SubmissionDetails
}

/**
 * Begins an upload, or returns the account's unfinished upload of the same bytes.
 * @throws AppError invalid_request for an empty file, payload_too_large, conflict at MAX_UPLOADS.
 */
export async function openUpload(db: Db, given: NewUpload): Promise<Upload> {
  const { accountId, filename, bytes, sha256, maxBytes, details } = given
  if (!Number.isSafeInteger(bytes) || bytes < 1) throw invalid('bytes', 'The file is empty. Use another one.')
  if (bytes > maxBytes) throw tooLarge(maxBytes)
  const open = (await listUploads(db, accountId)).find((one) => sha256 !== undefined && one.sha256 === sha256)
  if (open?.bytes === bytes) return open
  return db.transactionOf(accountId, async (tx) => {
    await tx.execute(sql`select 1 from accounts where id = ${accountId} for no key update`)
    const { rows } = await tx.execute<{ open: number }>(sql`
      select count(*)::int as open from uploads
       where account_id = ${accountId} and video_id is null and expires_at > now()`)
    if (rows[0]!.open >= MAX_UPLOADS)
      throw new AppError('conflict', `At most ${MAX_UPLOADS} uploads may be unfinished. Finish or cancel one first.`)
    const id = randomBytes(16).toString('hex')
    await tx
      .insert(uploads)
      .values({ id, accountId, filename, bytes, sha256, partBytes: PART_BYTES, details: { ...details }, expiresAt })
    const announced = { id, filename, bytes, sha256: sha256 ?? null, partBytes: PART_BYTES }
    return { ...announced, parts: partsOf(bytes), received: [], videoId: null }
  })
}

const expiresAt = sql`now() + make_interval(hours => ${UPLOAD_HOURS})` as unknown as Date

function partsOf(bytes: number, partBytes = PART_BYTES): number {
  return Math.ceil(bytes / partBytes)
}

async function requireUpload(db: Db, { accountId, id }: Whose) {
  const [found] = await db
    .select()
    .from(uploads)
    .where(and(eq(uploads.id, id), eq(uploads.accountId, accountId), sql`${uploads.expiresAt} > now()`))
  if (!found) throw notFound('upload')
  return found
}

/** An upload with its received parts. @throws AppError not_found, also for another account's upload. */
export async function findUpload(db: Db, whose: Whose): Promise<Upload> {
  const { id, filename, bytes, sha256, partBytes, videoId } = await requireUpload(db, whose)
  const rows = await db.select().from(uploadParts).where(eq(uploadParts.uploadId, id)).orderBy(asc(uploadParts.n))
  const received = rows.map(({ n }) => n)
  return { id, filename, bytes, sha256, partBytes, parts: partsOf(bytes, partBytes), received, videoId }
}

/** The account's unfinished uploads, oldest first. */
export async function listUploads(db: Db, accountId: string): Promise<Upload[]> {
  const rows = await db
    .select({ id: uploads.id })
    .from(uploads)
    .where(and(eq(uploads.accountId, accountId), sql`${uploads.videoId} is null and ${uploads.expiresAt} > now()`))
    .orderBy(asc(uploads.createdAt))
  return Promise.all(rows.map(({ id }) => findUpload(db, { accountId, id })))
}

const folderOf = (id: string) => `parts/${id}/`

/**
 * Stores one part; a repeat replaces it.
 * @throws AppError not_found, conflict for a finished upload, invalid_request for a part that is not of this upload or
 * not of its length.
 */
export async function putPart(
  db: Db,
  store: MediaStore,
  { n, body, ...whose }: Whose & { n: number; body: Readable },
): Promise<void> {
  // Its sender may leave before the media store reads it. The store sees the error once it does.
  body.on('error', () => undefined)
  const { id, bytes, partBytes, videoId } = await requireUpload(db, whose)
  if (videoId !== null) throw new AppError('conflict', 'This upload is finished. Begin a new one.')
  const parts = partsOf(bytes, partBytes)
  if (!Number.isInteger(n) || n < 0 || n >= parts) throw invalid('part', `This upload has the parts 0 to ${parts - 1}.`)
  const expected = Math.min(partBytes, bytes - n * partBytes)
  const stored = await store.put(folderOf(id) + n, body, 'application/octet-stream', { maxBytes: expected })
  if (stored.bytes !== expected) {
    // It may have replaced a complete part.
    await db.delete(uploadParts).where(and(eq(uploadParts.uploadId, id), eq(uploadParts.n, n)))
    await store.delete(folderOf(id) + n)
    throw invalid('part', `Part ${n} has ${expected} bytes; ${stored.bytes} came. Send it again.`)
  }
  const kept = await db.transaction(async (tx) => {
    const { rowCount } = await tx.execute(
      sql`update uploads set expires_at = ${expiresAt} where id = ${id} and video_id is null`,
    )
    if (rowCount !== 1) return false
    await tx.insert(uploadParts).values({ uploadId: id, n, bytes: expected }).onConflictDoNothing()
    return true
  })
  if (!kept) await store.delete(folderOf(id) + n)
}

/** A proxy waits a little longer for an answer: a minute as a rule. */
const TURN_MS = 50_000

/**
 * Runs `act` in the turn of an upload, one at a time over all processes: who waited too little for a finish sends it
 * again. The lock has a connection of its own, because `act` uses those of the pool.
 * @throws AppError unavailable where the turn does not come in time.
 */
export async function inTurnOfUpload<T>(db: Db, id: string, act: () => Promise<T>): Promise<T> {
  const session = new pg.Client({ ...db.$client.options, statement_timeout: 0, lock_timeout: TURN_MS })
  // Whoever waits is told by the query. A join goes on without the lock, which only saves a second join.
  session.on('error', () => undefined)
  try {
    await session.connect()
    await session.query('select pg_advisory_lock(hashtextextended($1, 0))', [`upload ${id}`]).catch(refuseLate)
    return await act()
  } finally {
    await session.end()
  }
}

function refuseLate(error: Error): never {
  if (!('code' in error) || error.code !== LOCK_TIMEOUT) throw error
  const message = 'The parts of this upload are still joined. Send the finish again in a few seconds.'
  throw new AppError('unavailable', message, { retryAfterSec: 5 })
}

const LOCK_TIMEOUT = '55P03'

/**
 * Joins the parts and queues the video. The same bytes give the same video, as with every submission. A repeat gives
 * the same answer. @throws AppError not_found, conflict while parts are missing.
 */
export async function finishUpload(
  db: Db,
  store: MediaStore,
  whose: Whose & { maxBytes: number },
): Promise<{ video: VideoRow; created: boolean }> {
  const upload = await findUpload(db, whose)
  const { id, parts, received } = upload
  if (upload.videoId !== null) return { video: await requireVideo(db, upload.videoId), created: false }
  if (received.length < parts) {
    const missing = Array.from({ length: parts }, (_, n) => n).filter((n) => !received.includes(n))
    throw new AppError('conflict', `Parts are missing: ${missing.slice(0, 20).join(', ')}. Send them, then finish.`)
  }
  const { details } = await requireUpload(db, whose)
  const joining = joinParts(db, store, { upload, details: details as SubmissionDetails, maxBytes: whose.maxBytes })
  const found = await joining.catch(async (error: unknown) => {
    // Where the lock was lost with its connection, another join may have deleted the parts.
    const { videoId } = await requireUpload(db, whose)
    if (videoId === null) throw error
    return { video: await requireVideo(db, videoId), created: false }
  })
  await db.update(uploads).set({ videoId: found.video.id }).where(eq(uploads.id, id))
  await store.deletePrefix(folderOf(id))
  return found
}

/** Joins the parts. When the bytes differ from the announced ones, it deletes the parts: the sender starts again. */
async function joinParts(
  db: Db,
  store: MediaStore,
  { upload, details, maxBytes }: { upload: Upload; details: SubmissionDetails; maxBytes: number },
): Promise<{ video: VideoRow; created: boolean }> {
  const { id, filename, bytes, sha256, parts } = upload
  const body = Readable.from(joined(store, id, parts), { objectMode: false })
  try {
    const expected = { bytes, sha256 }
    return await submitUpload(db, store, body, { filename, maxBytes, details: () => details, expected })
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict')
      await db.delete(uploadParts).where(eq(uploadParts.uploadId, id))
    throw error
  }
}

async function* joined(store: MediaStore, id: string, parts: number): AsyncGenerator<Buffer> {
  for (let n = 0; n < parts; n++) {
    const part = await store.open(folderOf(id) + n)
    if (!part) throw new AppError('conflict', `Part ${n} is missing. Send it, then finish.`)
    yield* part as AsyncIterable<Buffer>
  }
}

/** Deletes an upload with its parts. Succeeds when there is none. */
export async function cancelUpload(db: Db, store: MediaStore, { accountId, id }: Whose): Promise<void> {
  const gone = await db
    .delete(uploads)
    .where(and(eq(uploads.id, id), eq(uploads.accountId, accountId)))
    .returning({ id: uploads.id })
  if (gone.length > 0) await store.deletePrefix(folderOf(id))
}

/** Folders of the media store whose files are put as streams. */
const STREAMED = ['parts/', 'uploads/', 'drafts/']

/**
 * Deletes expired uploads, parts that no upload names, and what killed processes left of files under way. Forgets parts
 * that the media store has lost. Safe at any time, in any process. Returns the number of uploads deleted.
 */
export async function sweepUploads(db: Db, store: MediaStore, { now = Date.now() } = {}): Promise<number> {
  const old = new Date(now - UPLOAD_HOURS * 60 * 60 * 1_000)
  for (const folder of STREAMED) await store.freeUnfinished?.(folder, old)
  const expired = await db
    .delete(uploads)
    .where(sql`${uploads.expiresAt} < ${new Date(now).toISOString()}::timestamptz`)
    .returning({ id: uploads.id })
  const gone = new Set(expired.map(({ id }) => id))
  await forgetLostParts(db, store)
  for await (const { key, modifiedAt } of store.list('parts/')) {
    const id = key.split('/')[1]!
    if (gone.has(id) || now - modifiedAt.getTime() < SPARE_MS) continue
    const { rows } = await db.execute(sql`select 1 from uploads where id = ${id} and video_id is null`)
    if (rows.length === 0) gone.add(id)
  }
  for (const id of gone) await store.deletePrefix(folderOf(id))
  return gone.size
}

/** A backup holds the rows of unfinished uploads and not their parts. The sender is asked for lost ones again. */
async function forgetLostParts(db: Db, store: MediaStore): Promise<void> {
  const { rows } = await db.execute<{ id: string; n: number }>(sql`
    select upload_id as id, n from upload_parts p join uploads u on u.id = p.upload_id where u.video_id is null`)
  for (const { id, n } of rows)
    if (!(await store.stat(folderOf(id) + n)))
      await db.delete(uploadParts).where(and(eq(uploadParts.uploadId, id), eq(uploadParts.n, n)))
}
