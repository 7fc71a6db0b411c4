import type { DbOrTx, Tx } from '../../db/client.ts'
import { type BrandDocument, brandIdOf, type VideoDocument } from '../../search/library-search.ts'
import { LIVE, rowsOf } from '../../search/postgres/tables.ts'
import { applyToReadModel } from '../../search/postgres/write.ts'
import { sql } from '../../sql/orm.ts'
import { type GroupSummary, toBrandDocument, toVideoDocument } from './document.ts'
import { loadPublicVideos, loadTechniques } from './load.ts'

/**
 * Videos, brands and techniques are summarised from the frames of the read model, so that they match what search finds.
 */

/** The brands and techniques that are counted anew at the end of a batch. */
export interface Groups {
  authors: Set<string>
  techniques: Set<string>
}

export const noGroups = (): Groups => ({ authors: new Set(), techniques: new Set() })

/** Writes the videos of these ids, and adds their authors to `groups`. The caller holds the lock of the read model. */
export async function projectVideos(
  tx: Tx,
  ids: readonly string[],
  groups: Groups,
  schema: string = LIVE,
): Promise<VideoDocument[]> {
  const put = await loadVideoDocuments(tx, ids, schema)
  const current = new Set(put.map(({ id }) => id))
  for (const { author } of put) if (author !== null) groups.authors.add(author)
  const gone = ids.filter((id) => !current.has(id))
  await applyToReadModel(tx, { put: { videos: put }, remove: { videos: gone } }, schema)
  return put
}

export async function loadVideoDocuments(
  tx: DbOrTx,
  ids: readonly string[],
  schema: string = LIVE,
): Promise<VideoDocument[]> {
  const rows = await loadPublicVideos(tx, ids)
  const byVideo = await summaries(tx, schema, 'video_id', [...rows.keys()])
  return [...rows.values()].map((row) => toVideoDocument(row, byVideo.get(row.id) ?? NO_FRAMES))
}

/**
 * Marks groups that lost a frame or a video, in the transaction that takes it: where the batch does not come to its
 * end, the next one counts them.
 */
export async function markGroups(tx: Tx, { authors, techniques }: Groups, schema: string): Promise<void> {
  if (authors.size + techniques.size === 0) return
  const brands = [...authors].map(brandIdOf)
  await tx.execute(sql`
    update ${sql.raw(schema)}.documents set revision = '' where doc is not null
       and (kind = 'brands' and id = any(${sql.param(brands)})
            or kind = 'techniques' and id = any(${sql.param([...techniques])}))`)
}

/** Counts these groups and the marked ones. The caller holds the lock of the read model. */
export async function countGroups(tx: Tx, groups: Groups, schema: string = LIVE): Promise<void> {
  const marked = await rowsOf<{ kind: string; id: string; name: string }>(
    tx,
    sql`select kind, id, doc->>'name' as name from ${sql.raw(schema)}.documents
         where kind in ('brands', 'techniques') and revision = '' and doc is not null`,
  )
  const of = (kind: string) => marked.filter((one) => one.kind === kind)
  const authors = [...new Set([...groups.authors, ...of('brands').map(({ name }) => name)])]
  const slugs = [...new Set([...groups.techniques, ...of('techniques').map(({ id }) => id)])]
  const brands = await loadBrands(tx, authors, schema)
  const bySlug = await summaries(tx, schema, 'technique', slugs)
  const techniques = await loadTechniques(tx, slugs, (slug) => bySlug.get(slug) ?? NO_FRAMES)
  const names = new Set(brands.map(({ name }) => name))
  const current = new Set(techniques.map(({ slug }) => slug))
  const gone = {
    brands: authors.filter((name) => !names.has(name)).map(brandIdOf),
    techniques: slugs.filter((slug) => !current.has(slug)),
  }
  await applyToReadModel(tx, { put: { brands, techniques }, remove: gone }, schema)
}

/** The brands among the authors: those with a video in the read model. */
async function loadBrands(tx: Tx, authors: string[], schema: string): Promise<BrandDocument[]> {
  const byAuthor = await summaries(tx, schema, 'author', authors)
  const counts = await rowsOf<{ author: string; n: number }>(
    tx,
    sql`select author, count(*)::int as n from ${sql.raw(schema)}.entries
         where kind = 'videos' and author = any(${sql.param(authors)}) group by author`,
  )
  const videoCounts = new Map(counts.map(({ author, n }) => [author, n]))
  return authors.flatMap((name) => {
    const videoCount = videoCounts.get(name)
    return videoCount === undefined ? [] : toBrandDocument(name, { ...(byAuthor.get(name) ?? NO_FRAMES), videoCount })
  })
}

const NO_FRAMES: GroupSummary = { frameCount: 0, imagePath: null, strength: 0 }

/** Those that have frames. */
async function summaries(
  tx: DbOrTx,
  schema: string,
  column: 'video_id' | 'author' | 'technique',
  keys: readonly string[],
): Promise<Map<string, GroupSummary>> {
  if (keys.length === 0) return new Map()
  const by = sql.raw(column)
  const model = sql.raw(schema)
  const rows = await rowsOf<{ key: string; n: number; strength: number; image: string }>(
    tx,
    sql`select k.key, c.n, best.strength, d.doc->>'image_path' as image
          from unnest(${sql.param([...keys])}::text[]) as k(key)
          cross join lateral (select count(*)::int as n from ${model}.frames where ${by} = k.key) c
          cross join lateral (select id, strength from ${model}.frames where ${by} = k.key
                               order by strength desc, id limit 1) best
          join ${model}.documents d on d.kind = 'frames' and d.id = best.id`,
  )
  return new Map(rows.map(({ key, n, strength, image }) => [key, { frameCount: n, imagePath: image, strength }]))
}

/** Every brand and technique, and those in the read model. */
export async function allGroups(tx: Tx, schema: string = LIVE): Promise<Groups> {
  const rows = await rowsOf<{ author: string | null; slug: string | null }>(
    tx,
    sql`select author, null as slug from videos where first_ready_at is not null
        union select null, slug from techniques
        union select doc->>'name', null from ${sql.raw(schema)}.documents where kind = 'brands' and doc is not null
        union select null, id from ${sql.raw(schema)}.documents where kind = 'techniques' and doc is not null`,
  )
  return {
    authors: new Set(rows.flatMap(({ author }) => author ?? [])),
    techniques: new Set(rows.flatMap(({ slug }) => slug ?? [])),
  }
}
