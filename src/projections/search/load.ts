import type { DbOrTx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { techniqueRedirects, techniques } from '../../db/schema/techniques.ts'
import { videos } from '../../db/schema/videos.ts'
import type { FrameDocument, TechniqueDocument } from '../../search/library-search.ts'
import { LIVE } from '../../search/postgres/tables.ts'
import { and, asc, eq, getTableColumns, gt, inArray, isNotNull, sql } from '../../sql/orm.ts'
import { type DeepLink, type GroupSummary, toFrameDocument, toTechniqueDocument, type VideoRow } from './document.ts'

/** The current state of the domain tables. */

const { reason, rest, imageKey, thumbKey, imageBytes, createdAt, updatedAt, ...columns } = getTableColumns(frames)
/** Within a transition an instant belongs to the shot before. */
const shotMs = sql<[number, number] | null>`(
  select array[s.clean_from_ms, s.clean_to_ms] from shots s
   where s.video_id = frames.video_id and s.clean_from_ms <= frames.t_ms order by s.n desc limit 1)`
/** Its vector in the space of a generation. */
const shownIn = (schema: string) => ({
  ...columns,
  shotMs,
  vector: sql<Buffer | null>`(
    select v.q8 from frame_vectors v
     where v.frame_id = frames.id and v.space = (select name from ${sql.raw(schema)}.space))`,
})

/** A video is public from the first time it is ready. */
export async function loadPublicVideos(db: DbOrTx, ids: readonly string[]): Promise<Map<string, VideoRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .select()
    .from(videos)
    .where(and(inArray(videos.id, ids), isNotNull(videos.firstReadyAt)))
  return new Map(rows.map((row) => [row.id, row]))
}

const VIDEOS_AT_ONCE = 25

/** The ids of all public videos, some at a time. */
export async function* publicVideoIds(db: DbOrTx, signal: AbortSignal | undefined): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    signal?.throwIfAborted()
    const rows = await db
      .select({ id: videos.id })
      .from(videos)
      .where(and(isNotNull(videos.firstReadyAt), sql`${videos.id} collate "C" > ${after}`))
      .orderBy(sql`${videos.id} collate "C"`)
      .limit(VIDEOS_AT_ONCE)
    if (rows.length === 0) return
    yield rows.map(({ id }) => id)
    after = rows.at(-1)!.id
  }
}

/** Reads each video once, not once per frame. */
export async function loadFramesOfVideos(
  db: DbOrTx,
  videoIds: readonly string[],
  deepLink: DeepLink,
  schema: string = LIVE,
): Promise<FrameDocument[]> {
  const byId = await loadPublicVideos(db, videoIds)
  if (byId.size === 0) return []
  const rows = await db
    .select(shownIn(schema))
    .from(frames)
    .where(inArray(frames.videoId, [...byId.keys()]))
  return rows.map((row) => toFrameDocument(row, byId.get(row.videoId)!, deepLink))
}

export async function loadFramesByIds(
  db: DbOrTx,
  ids: readonly string[],
  deepLink: DeepLink,
  schema: string = LIVE,
): Promise<FrameDocument[]> {
  if (ids.length === 0) return []
  const rows = await db.select(shownIn(schema)).from(frames).where(inArray(frames.id, ids))
  const byId = await loadPublicVideos(db, [...new Set(rows.map((row) => row.videoId))])
  return rows.flatMap((row) => {
    const video = byId.get(row.videoId)
    return video ? [toFrameDocument(row, video, deepLink)] : []
  })
}

export async function loadFrameIdsOfTechnique(db: DbOrTx, slug: string): Promise<string[]> {
  const rows = await db.select({ id: frames.id }).from(frames).where(eq(frames.technique, slug))
  return rows.map(({ id }) => id)
}

/** These techniques, or all. A retired one is included while a frame still has it. */
export async function loadTechniques(
  db: DbOrTx,
  slugs: readonly string[] | 'all',
  summaryOf: (slug: string) => GroupSummary,
): Promise<TechniqueDocument[]> {
  if (slugs !== 'all' && slugs.length === 0) return []
  const rows = await db
    .select()
    .from(techniques)
    .where(slugs === 'all' ? gt(techniques.slug, '') : inArray(techniques.slug, slugs))
  const old = await db.select().from(techniqueRedirects).orderBy(asc(techniqueRedirects.oldSlug))
  return rows
    .map((row) => ({ row, summary: summaryOf(row.slug) }))
    .filter(({ row, summary }) => row.retiredAt === null || summary.frameCount > 0)
    .map(({ row, summary }) =>
      toTechniqueDocument(
        row,
        old.filter(({ slug }) => slug === row.slug).map(({ oldSlug }) => oldSlug),
        summary,
      ),
    )
}
