import { UNSTORABLE } from '../../clean-text.ts'
import { invalid } from '../../errors.ts'
import { type SQL, sql } from '../../sql/orm.ts'
import type { CursorPage, DocumentKind, FrameDocument, LibraryDocuments, LibrarySearch } from '../library-search.ts'
import { nameKey } from '../text/tokens.ts'
import { DOCUMENTS, ENTRIES, type Executor, FRAMES, rowsOf, storable } from './tables.ts'

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
  if (UNSTORABLE.test(videoId)) return undefined
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
  if (UNSTORABLE.test(id)) return undefined
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
  { after, limit, author, platform }: Parameters<LibrarySearch['videos']>[0],
): Promise<CursorPage<LibraryDocuments['videos']>> {
  if (author !== undefined && UNSTORABLE.test(author)) return { items: [], next: null }
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
  { after, limit }: Parameters<LibrarySearch['brands']>[0],
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

/** A page of lists read with one item more than `limit`. `keyOf`: where the next page begins. */
function cursorPage<T>(items: T[], limit: number, keyOf: (last: T) => [string | number, string]): CursorPage<T> {
  const page = items.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    next: items.length > limit && last ? toCursor(keyOf(last)) : null,
  }
}

/** A place in a list. Callers pass it on as it is. */
export function toCursor(key: [string | number, string]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/** `first`: the type of the key's first half. @throws AppError invalid_request for anything but a cursor of ours. */
export function readCursor(after: string, first: 'integer' | 'number' | 'string'): [string | number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(after, 'base64url').toString())
    if (
      Array.isArray(value) &&
      value.length === 2 &&
      typeof value[0] === (first === 'integer' ? 'number' : first) &&
      typeof value[1] === 'string'
    ) {
      const [key, id] = value as [string | number, string]
      if (storable([String(key), id]).length === 2 && (first !== 'integer' || Number.isSafeInteger(key)))
        return [key, id]
    }
  } catch {}
  throw invalid('after', '`after` must be the `next` of an earlier response')
}
