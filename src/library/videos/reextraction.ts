import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { type VideoRow, videos } from '../../db/schema/videos.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { findSource } from '../../video/source/source.ts'
import type { Platform } from '../../vocabulary.ts'
import { idArray } from '../ids.ts'
import { frameIdOf } from './identity.ts'
import { HELD_BY_PEOPLE } from './record-extraction.ts'
import type { ResolvedSource } from './submit.ts'

/** Ready videos whose frames another version of the extraction picked, oldest first. */
export function videosOfOtherVersion(db: Db, version: string, ids?: readonly string[]): Promise<VideoRow[]> {
  return db
    .select()
    .from(videos)
    .where(
      and(
        eq(videos.status, 'ready'),
        ne(sql`coalesce(${videos.detector}->>'version', '')`, version),
        ids && inArray(videos.id, ids),
      ),
    )
    .orderBy(videos.addedAt, videos.id)
}

/** Why a video's source cannot be read again; undefined when it can. */
export async function whyUnreadable(
  { uploadKey, sourceUrl, sourceKey, platform }: VideoRow,
  store: MediaStore,
  fetchable: (source: ResolvedSource) => string | undefined,
): Promise<string | undefined> {
  if (uploadKey !== null) return (await store.stat(uploadKey)) ? undefined : 'The uploaded file is lost.'
  if (sourceUrl === null) return 'It has neither a file nor a URL.'
  const named = { platform: platform as Platform, canonicalUrl: sourceUrl, key: sourceKey }
  return fetchable(findSource(sourceUrl) ?? named)
}

/** What a new extraction would do to a video's frames. */
export interface FrameChange {
  now: number
  after: number
  /** The same instant is kept again. */
  same: number
  added: number
  removed: number
  /** Not picked again, but a person saved, pinned or corrected them. */
  held: number
}

export async function compareFrames(db: Db, videoId: string, instantsMs: readonly number[]): Promise<FrameChange> {
  const picked = [...new Set(instantsMs.map((tMs) => frameIdOf(videoId, tMs)))]
  const { rows } = await db.execute<{ now: string; same: string; held: string }>(sql`
    select count(*) as now,
           count(*) filter (where f.id = any(${idArray(picked)})) as same,
           count(*) filter (where not (f.id = any(${idArray(picked)})) and ${HELD_BY_PEOPLE}) as held
      from ${frames} f where f.video_id = ${videoId}`)
  const [now, same, held] = [Number(rows[0]!.now), Number(rows[0]!.same), Number(rows[0]!.held)]
  return { now, after: picked.length + held, same, added: picked.length - same, removed: now - same - held, held }
}

/** Frames of these videos, and how many of them people saved, pinned or corrected. */
export async function countFrames(db: Db, ids: readonly string[]): Promise<{ frames: number; held: number }> {
  const { rows } = await db.execute<{ frames: string; held: string }>(sql`
    select count(*) as frames, count(*) filter (where ${HELD_BY_PEOPLE}) as held
      from ${frames} f where f.video_id = any(${idArray(ids)})`)
  return { frames: Number(rows[0]!.frames), held: Number(rows[0]!.held) }
}
