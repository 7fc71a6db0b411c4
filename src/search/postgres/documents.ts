import { type SQL, sql } from 'drizzle-orm'
import type { Platform } from '../../vocabulary.ts'
import type { CursorPage, DocumentKind, FrameDocument, LibraryDocuments } from '../library-search.ts'
import { nameKey } from '../text/tokens.ts'
import { cursorPage, readCursor } from './cursor.ts'
import { DOCUMENTS, ENTRIES, type Executor, FRAMES, rowsOf } from './tables.ts'
import { isStorable, storable } from './where.ts'

/** Documents by id, and lists in a stored order. */

async function documentRows<K extends DocumentKind>(db: Executor, query: SQL): Promise<LibraryDocuments[K][]> {
  return (await rowsOf<{ doc: LibraryDocuments[K] }>(db, query)).map(({ doc }) => doc)
}

export async function documentsOf<K extends DocumentKind>(
  db: Executor,
  kind: K,
  ids: readonly string[],
): Promise<Map<string, LibraryDocuments[K]>> {
  const known = storable(ids)
  if (known.length === 0) return new Map()
  const rows = await rowsOf<{ id: string; doc: LibraryDocuments[K] }>(
    db,
    sql`select id, doc from ${DOCUMENTS} where kind = ${kind} and id = any(${sql.param(known)}) and doc is not null`,
  )
  return new Map(rows.map(({ id, doc }) => [id, doc]))
}

export async function findVideo(db: Executor, id: string): Promise<LibraryDocuments['videos'] | undefined> {
  return (await documentsOf(db, 'videos', [id])).get(id)
}

export async function loadVideoFrames(db: Executor, videoId: string): Promise<FrameDocument[] | undefined> {
  if (!isStorable(videoId)) return undefined
  const frames = await documentRows<'frames'>(
    db,
    sql`
    select d.doc from ${FRAMES} f join ${DOCUMENTS} d on d.kind = 'frames' and d.id = f.id
     where f.video_id = ${videoId} order by f.t_ms`,
  )
  if (frames.length > 0) return frames
  return (await findVideo(db, videoId)) ? [] : undefined
}

export async function findFrame(
  db: Executor,
  id: string,
): Promise<{ frame: FrameDocument; previous: FrameDocument | null; next: FrameDocument | null } | undefined> {
  if (!isStorable(id)) return undefined
  const frames = await documentRows<'frames'>(
    db,
    sql`
    with me as (select id, video_id, t_ms from ${FRAMES} where id = ${id}),
    near as (
      select id, 0 as place from me
      union all (select f.id, -1 from ${FRAMES} f, me
                  where f.video_id = me.video_id and f.t_ms < me.t_ms order by f.t_ms desc limit 1)
      union all (select f.id, 1 from ${FRAMES} f, me
                  where f.video_id = me.video_id and f.t_ms > me.t_ms order by f.t_ms limit 1))
    select d.doc from near join ${DOCUMENTS} d on d.kind = 'frames' and d.id = near.id order by near.place`,
  )
  const at = frames.findIndex((frame) => frame.id === id)
  const frame = frames[at]
  return frame && { frame, previous: frames[at - 1] ?? null, next: frames[at + 1] ?? null }
}

export async function loadVideos(
  db: Executor,
  {
    after,
    limit,
    author,
    platform,
  }: { after: string | undefined; limit: number; author?: string | undefined; platform?: Platform | undefined },
): Promise<CursorPage<LibraryDocuments['videos']>> {
  if (author !== undefined && !isStorable(author)) return { items: [], next: null }
  const cursor = after === undefined ? undefined : readCursor(after, 'integer')
  const items = await documentRows<'videos'>(
    db,
    sql`
    select d.doc from (
      select id, added_ms from ${ENTRIES} where kind = 'videos'
        ${author === undefined ? sql`` : sql`and author = ${author}`}
        ${platform === undefined ? sql`` : sql`and platform = ${platform}`}
        ${cursor ? sql`and (added_ms < ${cursor[0]} or (added_ms = ${cursor[0]} and id > ${cursor[1]}))` : sql``}
       order by added_ms desc, id limit ${limit + 1}) e
      join ${DOCUMENTS} d on d.kind = 'videos' and d.id = e.id order by e.added_ms desc, e.id`,
  )
  return cursorPage(items, limit, (last) => [last.added_ms, last.id])
}

export async function loadBrands(
  db: Executor,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<CursorPage<LibraryDocuments['brands']>> {
  const cursor = after === undefined ? undefined : readCursor(after, 'string')
  const items = await documentRows<'brands'>(
    db,
    sql`
    select d.doc from (
      select id, name from ${ENTRIES} where kind = 'brands'
        ${cursor ? sql`and (name, id) > (${cursor[0]}, ${cursor[1]})` : sql``}
       order by name, id limit ${limit + 1}) e
      join ${DOCUMENTS} d on d.kind = 'brands' and d.id = e.id order by e.name, e.id`,
  )
  return cursorPage(items, limit, (last) => [nameKey(last.name), last.id])
}

export function loadTechniques(db: Executor): Promise<LibraryDocuments['techniques'][]> {
  return documentRows<'techniques'>(
    db,
    sql`select doc from ${DOCUMENTS} where kind = 'techniques' and doc is not null order by id`,
  )
}
