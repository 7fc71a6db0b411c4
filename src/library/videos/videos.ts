import { type DbOrTx, MEDIA_REMOVAL_LOCK, type Tx } from '../../db/client.ts'
import { type VideoRow, type VideoStatus, videos } from '../../db/schema/videos.ts'
import { notFound } from '../../errors.ts'
import { and, eq, isNotNull, type PgUpdateSetSource, sql } from '../../sql/orm.ts'

export async function findVideo(db: DbOrTx, id: string): Promise<VideoRow | undefined> {
  const [video] = await db.select().from(videos).where(eq(videos.id, id))
  return video
}

/** The key of a public video's kept file; null or undefined where there is none. */
export async function findFileKey(db: DbOrTx, id: string): Promise<string | null | undefined> {
  const isPublic = and(eq(videos.id, id), isNotNull(videos.firstReadyAt))
  const [video] = await db.select({ key: videos.uploadKey }).from(videos).where(isPublic)
  return video?.key
}

/** @throws AppError not_found. */
export async function requireVideo(db: DbOrTx, id: string): Promise<VideoRow> {
  const video = await findVideo(db, id)
  if (!video) throw notFound('video')
  return video
}

export async function lockVideo(tx: Tx, id: string): Promise<VideoRow | undefined> {
  const [video] = await tx.select().from(videos).where(eq(videos.id, id)).for('update')
  return video
}

/**
 * Held while a video's files are removed, and while a row that will own them is created. So the files of a source that
 * is added again are never removed.
 */
export async function lockMedia(tx: Tx, videoId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`media ${videoId}`}, 0))`)
}

/**
 * False while a backup copies the files that its snapshot names. Otherwise no backup begins before this transaction
 * ends.
 */
export async function mayRemoveMedia(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute<{ free: boolean }>(
    sql`select pg_try_advisory_xact_lock_shared(${MEDIA_REMOVAL_LOCK}) as free`,
  )
  return rows[0]!.free
}

export async function setVideo(tx: Tx, id: string, columns: PgUpdateSetSource<typeof videos>): Promise<VideoRow> {
  const [video] = await tx
    .update(videos)
    .set({ updatedAt: new Date(), ...columns })
    .where(eq(videos.id, id))
    .returning()
  return video!
}

/** An event about a video that the service caused: the facts that all of them have, and `own`. */
export function aboutVideo<Own>({ id, title, author, platform }: VideoRow, own: Own) {
  return { subject: id, accountId: null, data: { video_id: id, title, author, platform, ...own } }
}

/**
 * Statuses in which an ingest job may still write. A job that is delivered twice runs twice, until one run records its
 * frames; from then on the other must not touch the video.
 */
export const INGEST_STATUSES = ['queued', 'fetching', 'extracting'] as const satisfies VideoStatus[]

/** The statuses of videos that are no longer in work. */
export const OVER: readonly VideoStatus[] = ['ready', 'failed', 'cancelled']

function isIngesting(status: VideoStatus): boolean {
  return (INGEST_STATUSES as readonly VideoStatus[]).includes(status)
}

/** False when a newer revision (cancelled, retried) or another run of the same job was first. */
export function takesIngest(video: VideoRow | undefined, revision: number): video is VideoRow {
  return video !== undefined && video.revision === revision && isIngesting(video.status)
}
