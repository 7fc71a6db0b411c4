import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { videos } from '../../db/schema/videos.ts'
import { type BrandDocument, brandIdOf, type VideoDocument } from '../../search/library-search.ts'
import { LIVE, rowsOf } from '../../search/postgres/tables.ts'
import { applyToReadModel } from '../../search/postgres/write.ts'
import { type GroupSummary, toBrandDocument, toVideoDocument } from './document.ts'
import { loadPublicVideos, loadTechniques } from './load.ts'

/**
 * Videos, brands and techniques are summarised from the frames of the read model, so that they match what search finds.
 */

export interface Groups {
  videos: Set<string>
  authors: Set<string>
  techniques: Set<string>
  /**
   * By how many frames each author and technique has grown since its document was written, under the same lock.
   * Without it the frames are counted, which takes longer the larger the library is.
   */
  growth?: Growth
}

export interface Growth {
  authors: Map<string, number>
  techniques: Map<string, number>
}

const noGroups = (): Groups => ({ videos: new Set(), authors: new Set(), techniques: new Set() })

/** Adds the authors of the videos to `groups`. The caller holds the lock of the live read model. */
export async function projectGroups(tx: Tx, groups: Groups, schema: string = LIVE): Promise<void> {
  await projectVideos(tx, groups, schema)
  const authors = [...groups.authors]
  const slugs = [...groups.techniques]
  const brands = await loadBrands(tx, authors, { schema, growth: groups.growth?.authors })
  const known = await countsKnown(tx, { kind: 'techniques', keys: slugs, schema, growth: groups.growth?.techniques })
  const bySlug = await summaries(tx, schema, 'technique', slugs, known)
  const techniques = await loadTechniques(tx, slugs, (slug) => bySlug.get(slug) ?? NO_FRAMES)
  const names = new Set(brands.map(({ name }) => name))
  const current = new Set(techniques.map(({ slug }) => slug))
  const gone = {
    brands: authors.filter((name) => !names.has(name)).map(brandIdOf),
    techniques: slugs.filter((slug) => !current.has(slug)),
  }
  await applyToReadModel(tx, { put: { brands, techniques }, remove: gone }, schema)
}

async function projectVideos(tx: Tx, groups: Groups, schema: string): Promise<void> {
  const ids = [...groups.videos]
  const rows = await loadPublicVideos(tx, ids)
  const byVideo = await summaries(tx, schema, 'video_id', [...rows.keys()])
  const put: VideoDocument[] = [...rows.values()].map((row) => toVideoDocument(row, byVideo.get(row.id) ?? NO_FRAMES))
  for (const { author } of put) if (author !== null) groups.authors.add(author)
  await applyToReadModel(tx, { put: { videos: put }, remove: { videos: ids.filter((id) => !rows.has(id)) } }, schema)
}

/** The brands among the authors: those with a video in the read model. */
async function loadBrands(
  tx: Tx,
  authors: string[],
  { schema, growth }: { schema: string; growth: Map<string, number> | undefined },
): Promise<BrandDocument[]> {
  const known = await countsKnown(tx, { kind: 'brands', keys: authors, schema, growth })
  const byAuthor = await summaries(tx, schema, 'author', authors, known)
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

/** How many frames brands or techniques have by their documents and growth. Without both, one is not in the result. */
async function countsKnown(
  tx: Tx,
  given: {
    kind: 'brands' | 'techniques'
    keys: readonly string[]
    schema: string
    growth: Map<string, number> | undefined
  },
): Promise<Map<string, number>> {
  const { kind, keys, schema, growth } = given
  if (!growth || keys.length === 0) return new Map()
  const keyOf = new Map(keys.map((key) => [kind === 'brands' ? brandIdOf(key) : key, key]))
  const held = await rowsOf<{ id: string; n: number }>(
    tx,
    sql`select id, (doc->>'frame_count')::int as n from ${sql.raw(schema)}.documents
         where kind = ${kind} and id = any(${sql.param([...keyOf.keys()])}) and doc is not null`,
  )
  return new Map(
    held.map(({ id, n }) => {
      const key = keyOf.get(id)!
      return [key, n + (growth.get(key) ?? 0)]
    }),
  )
}

const NO_FRAMES: GroupSummary = { frameCount: 0, imagePath: null, strength: 0 }

/** Those that have frames. What is not in `known` is counted. */
async function summaries(
  tx: Tx,
  schema: string,
  column: 'video_id' | 'author' | 'technique',
  keys: readonly string[],
  known: ReadonlyMap<string, number> = new Map(),
): Promise<Map<string, GroupSummary>> {
  if (keys.length === 0) return new Map()
  const by = sql.raw(column)
  const model = sql.raw(schema)
  const rows = await rowsOf<{ key: string; n: number; strength: number; image: string }>(
    tx,
    sql`select k.key, coalesce(k.known, c.n) as n, best.strength, d.doc->>'image_path' as image
          from unnest(${sql.param([...keys])}::text[],
                      ${sql.param(keys.map((key) => known.get(key) ?? null))}::int[]) as k(key, known)
          cross join lateral (select count(*)::int as n from ${model}.frames
                               where k.known is null and ${by} = k.key) c
          cross join lateral (select id, strength from ${model}.frames where ${by} = k.key
                               order by strength desc, id limit 1) best
          join ${model}.documents d on d.kind = 'frames' and d.id = best.id`,
  )
  return new Map(rows.map(({ key, n, strength, image }) => [key, { frameCount: n, imagePath: image, strength }]))
}

/** Every public video and technique, and those in the read model, for a rebuild or a reconciliation. */
export async function allGroups(tx: Tx, schema: string = LIVE): Promise<Groups> {
  const rows = await tx
    .select({ id: videos.id, author: videos.author })
    .from(videos)
    .where(sql`first_ready_at is not null`)
  const held = await rowsOf<{ kind: string; id: string; name: string | null }>(
    tx,
    sql`select kind, id, doc->>'name' as name from ${sql.raw(schema)}.documents
         where kind <> 'frames' and doc is not null`,
  )
  const slugs = await rowsOf<{ slug: string }>(tx, sql`select slug from techniques`)
  const heldOf = (kind: string) => held.filter((one) => one.kind === kind)
  return {
    videos: new Set([...rows.map(({ id }) => id), ...heldOf('videos').map(({ id }) => id)]),
    authors: new Set([
      ...rows.flatMap(({ author }) => author ?? []),
      ...heldOf('brands').map(({ name }) => String(name)),
    ]),
    techniques: new Set([...slugs.map(({ slug }) => slug), ...heldOf('techniques').map(({ id }) => id)]),
  }
}

const GROUPS_AT_ONCE = 500

/** Videos in pieces, then brands and techniques in one: they are few, and their counts need all videos. */
export function* groupPieces({ videos, authors, techniques }: Groups): Iterable<Groups> {
  const list = [...videos]
  for (let from = 0; from < list.length; from += GROUPS_AT_ONCE)
    yield { ...noGroups(), videos: new Set(list.slice(from, from + GROUPS_AT_ONCE)) }
  yield { ...noGroups(), authors, techniques }
}
