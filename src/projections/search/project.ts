import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { videos } from '../../db/schema/videos.ts'
import type { EventType, StoredEvent } from '../../events/catalogue.ts'
import type { Commit, Consumer } from '../../events/consume.ts'
import type { BrandDocument, FrameDocument, VideoDocument } from '../../search/library-search.ts'
import { applyToReadModel, LIVE, lockReadModel, rowsOf } from '../../search/postgres/sink.ts'
import { brandIdOf, type DeepLink, type GroupSummary, toBrandDocument, toVideoDocument } from './document.ts'
import {
  loadFrameIdsOfTechnique,
  loadFramesByIds,
  loadFramesOfVideos,
  loadPublicVideos,
  loadTechniques,
} from './load.ts'

export interface ProjectionDeps {
  db: Db
  deepLink: DeepLink
}

/** Saves are not among them: their counts enter in batches (`refreshSaveCounts`). */
export const SEARCH_EVENTS = [
  'frame.corrected',
  'frames.extracted',
  'frames.annotated',
  'video.ready',
  'video.failed',
  'video.cancelled',
  'video.deleted',
  'technique.changed',
] as const satisfies readonly EventType[]

export const SAVE_EVENTS = ['frame.saved', 'frame.unsaved'] as const satisfies readonly EventType[]

/** What must be looked at again. Order and repeats of the events that said so do not matter. */
export interface Affected {
  /** Whole videos: frames may have come, changed or gone. */
  videos: Set<string>
  frames: Set<string>
  techniques: Set<string>
}

export function nothingAffected(): Affected {
  return { videos: new Set(), frames: new Set(), techniques: new Set() }
}

/** Pure but for techniques whose frames must be looked up. */
export async function affectedBy(db: Db | Tx, events: readonly StoredEvent[]): Promise<Affected> {
  const affected = nothingAffected()
  for (const { type, data } of events) {
    if (type === 'frame.corrected' || type === 'frame.saved' || type === 'frame.unsaved')
      affected.frames.add(String(data.frame_id))
    else if (type === 'frames.annotated') for (const id of data.frame_ids as string[]) affected.frames.add(id)
    else if (type === 'technique.changed') {
      const slugs = [String(data.slug), ...(data.previous_slug === null ? [] : [String(data.previous_slug)])]
      for (const slug of slugs) affected.techniques.add(slug)
      if (data.change === 'renamed' || data.change === 'merged') {
        for (const slug of slugs) {
          for (const id of await loadFrameIdsOfTechnique(db, slug)) affected.frames.add(id)
          const held = await rowsOf<{ id: string }>(
            db,
            sql`select id from ${sql.raw(LIVE)}.frames where technique = ${slug}`,
          )
          for (const { id } of held) affected.frames.add(id)
        }
      }
    } else if (type.startsWith('video.') || type === 'frames.extracted') affected.videos.add(String(data.video_id))
  }
  return affected
}

const VIDEOS_AT_ONCE = 20
const FRAMES_AT_ONCE = 2_000

/** Pieces that fit into one transaction: while one is open no reader of the event log gets past it. */
export function* piecesOf({ videos, frames, techniques }: Affected): Iterable<Affected> {
  const videoIds = [...videos]
  const frameIds = [...frames]
  const none = videoIds.length === 0 && frameIds.length === 0
  for (let from = 0; from < videoIds.length; from += VIDEOS_AT_ONCE)
    yield { ...nothingAffected(), videos: new Set(videoIds.slice(from, from + VIDEOS_AT_ONCE)) }
  for (let from = 0; from < frameIds.length; from += FRAMES_AT_ONCE)
    yield { ...nothingAffected(), frames: new Set(frameIds.slice(from, from + FRAMES_AT_ONCE)) }
  if (techniques.size > 0 || none) yield { ...nothingAffected(), techniques }
}

/**
 * The search projection: an event is a signal, what is written is read anew. The last piece commits with the checkpoint; pieces before it commit ahead, which a
 * repeat bears. While one piece is written the next is loaded.
 */
export function searchProjection({ db, deepLink }: ProjectionDeps): Consumer {
  return {
    name: 'search',
    types: SEARCH_EVENTS,
    batchSize: 500,
    async handle(events, signal): Promise<Commit> {
      const pieces = [...piecesOf(await affectedBy(db, events))]
      let ahead: LoadedAhead | undefined

      async function step(tx: Tx, n: number): Promise<LoadedAhead | undefined> {
        await lockReadModel(tx)
        const known = ahead && ahead.state === (await stateOf(tx)) ? await ahead.frames : undefined
        const frames = known ?? (await loadFrames(tx, deepLink, pieces[n]!))
        const next = pieces[n + 1]
        let loading: Promise<FrameDocument[] | undefined> | undefined
        await projectLoaded(tx, pieces[n]!, frames, {
          meanwhile() {
            // Begun under the lock, so no older than what any writer before us has written. What cannot be loaded now is loaded in its turn.
            loading = next && loadFrames(db, deepLink, next).catch(() => undefined)
          },
        })
        return loading && { state: (await stateOf(tx)) ?? '', frames: loading }
      }

      for (let n = 0; n < pieces.length - 1; n++) {
        signal.throwIfAborted()
        ahead = await db.transaction((tx) => step(tx, n))
      }
      return async (tx) => void (await step(tx, pieces.length - 1))
    },
  }
}

/** Frames of the piece to come, good as long as nobody else has written to the read model: another writer may have read newer rows. */
interface LoadedAhead {
  state: string
  frames: Promise<FrameDocument[] | undefined>
}

async function stateOf(tx: Tx): Promise<string | undefined> {
  const [row] = await rowsOf<{ state: string }>(
    tx,
    sql`select generation::text || ' ' || version as state from read_models where engine = 'postgres'`,
  )
  return row?.state
}

export async function projectLocked(tx: Tx, deepLink: DeepLink, affected: Affected): Promise<void> {
  await lockReadModel(tx)
  await project(tx, deepLink, affected)
}

/** Brings the documents of everything affected up to date, in the live generation or the one being built. The caller holds the lock of the live one. */
export async function project(tx: Tx, deepLink: DeepLink, affected: Affected, schema: string = LIVE): Promise<void> {
  await projectLoaded(tx, affected, await loadFrames(tx, deepLink, affected), { schema })
}

async function loadFrames(
  db: Db | Tx,
  deepLink: DeepLink,
  { videos: videoIds, frames: frameIds }: Affected,
): Promise<FrameDocument[]> {
  return [
    ...(await loadFramesOfVideos(db, [...videoIds], deepLink)),
    ...(await loadFramesByIds(db, [...frameIds], deepLink)),
  ]
}

/** `put`: the affected frames as they are now. `meanwhile` is called when the writing of them has begun. */
async function projectLoaded(
  tx: Tx,
  affected: Affected,
  put: readonly FrameDocument[],
  { schema = LIVE, meanwhile }: { schema?: string; meanwhile?: () => void } = {},
): Promise<void> {
  const model = sql.raw(schema)
  const videoIds = [...affected.videos]
  const frameIds = [...affected.frames]
  const current = new Set(put.map(({ id }) => id))
  const held = await rowsOf<{ id: string; video_id: string; author: string | null; technique: string | null }>(
    tx,
    sql`select id, video_id, author, technique from ${model}.frames where video_id = any(${sql.param(videoIds)}) or id = any(${sql.param(frameIds)})`,
  )
  const heldVideos = await rowsOf<{ author: string | null }>(
    tx,
    sql`select author from ${model}.entries where kind = 'videos' and id = any(${sql.param(videoIds)}) and author is not null`,
  )
  const gone = new Set([...held.map(({ id }) => id), ...frameIds].filter((id) => !current.has(id)))
  const writing = applyToReadModel(tx, { put: { frames: [...put] }, remove: { frames: [...gone] } }, schema)
  meanwhile?.()
  await writing

  const groups: Groups = { videos: new Set(videoIds), authors: new Set(), techniques: new Set(affected.techniques) }
  for (const { video_id, author, technique } of [...held, ...put]) {
    groups.videos.add(video_id)
    if (author !== null) groups.authors.add(author)
    if (technique !== null) groups.techniques.add(technique)
  }
  for (const { author } of heldVideos) groups.authors.add(author!)
  await projectGroups(tx, groups, schema)
}

/** The vocabulary as it is now. For the start of the workers: the seeded one comes without events. */
export async function projectVocabulary({ db }: Pick<ProjectionDeps, 'db'>): Promise<void> {
  await db.transaction(async (tx) => {
    await lockReadModel(tx)
    const rows = await rowsOf<{ slug: string }>(
      tx,
      sql`select slug from techniques union select id from ${sql.raw(LIVE)}.documents where kind = 'techniques' and doc is not null`,
    )
    await projectGroups(tx, {
      videos: new Set(),
      authors: new Set(),
      techniques: new Set(rows.map(({ slug }) => slug)),
    })
  })
}

export interface Groups {
  videos: Set<string>
  authors: Set<string>
  techniques: Set<string>
}

/** Videos, brands and techniques are told by the frames of the read model itself, so that they agree with what a reader can find. */
export async function projectGroups(tx: Tx, groups: Groups, schema: string = LIVE): Promise<void> {
  const videoIds = [...groups.videos]
  const rows = await loadPublicVideos(tx, videoIds)
  const byVideo = await summaries(tx, schema, 'video_id', [...rows.keys()])
  const put: VideoDocument[] = [...rows.values()].map((row) => toVideoDocument(row, byVideo.get(row.id) ?? NO_FRAMES))
  for (const { author } of put) if (author !== null) groups.authors.add(author)
  await applyToReadModel(
    tx,
    { put: { videos: put }, remove: { videos: videoIds.filter((id) => !rows.has(id)) } },
    schema,
  )

  const authors = [...groups.authors]
  const byAuthor = await summaries(tx, schema, 'author', authors)
  const counts = new Map(
    (
      await rowsOf<{ author: string; n: number }>(
        tx,
        sql`select author, count(*)::int as n from ${sql.raw(schema)}.entries where kind = 'videos' and author = any(${sql.param(authors)}) group by author`,
      )
    ).map(({ author, n }) => [author, n]),
  )
  const brands: BrandDocument[] = authors
    .filter((name) => counts.has(name))
    .map((name) => toBrandDocument(name, { ...(byAuthor.get(name) ?? NO_FRAMES), videoCount: counts.get(name)! }))
  const goneBrands = authors.filter((name) => !counts.has(name)).map(brandIdOf)

  const slugs = [...groups.techniques]
  const bySlug = await summaries(tx, schema, 'technique', slugs)
  const techniques = await loadTechniques(tx, slugs, (slug) => bySlug.get(slug) ?? NO_FRAMES)
  const known = new Set(techniques.map(({ slug }) => slug))
  await applyToReadModel(
    tx,
    {
      put: { brands, techniques },
      remove: { brands: goneBrands, techniques: slugs.filter((slug) => !known.has(slug)) },
    },
    schema,
  )
}

const NO_FRAMES: GroupSummary = { frameCount: 0, imagePath: null, strength: 0 }

async function summaries(
  tx: Tx,
  schema: string,
  column: 'video_id' | 'author' | 'technique',
  keys: readonly string[],
): Promise<Map<string, GroupSummary>> {
  if (keys.length === 0) return new Map()
  const by = sql.raw(column)
  const rows = await rowsOf<{ key: string; n: number; strength: number; image: string }>(
    tx,
    sql`select k.key, c.n, best.strength, d.doc->>'image_path' as image
          from unnest(${sql.param([...keys])}::text[]) as k(key)
          cross join lateral (select count(*)::int as n from ${sql.raw(schema)}.frames where ${by} = k.key) c
          cross join lateral (select id, strength from ${sql.raw(schema)}.frames where ${by} = k.key order by strength desc, id limit 1) best
          join ${sql.raw(schema)}.documents d on d.kind = 'frames' and d.id = best.id`,
  )
  return new Map(rows.map(({ key, n, strength, image }) => [key, { frameCount: n, imagePath: image, strength }]))
}

/** Every public video and technique there is, for a rebuild or a thorough check. */
export async function allGroups(tx: Tx, schema: string = LIVE): Promise<Groups> {
  const rows = await tx
    .select({ id: videos.id, author: videos.author })
    .from(videos)
    .where(sql`first_ready_at is not null`)
  const held = await rowsOf<{ kind: string; id: string; name: string | null }>(
    tx,
    sql`select kind, id, doc->>'name' as name from ${sql.raw(schema)}.documents where kind <> 'frames' and doc is not null`,
  )
  const slugs = await rowsOf<{ slug: string }>(tx, sql`select slug from techniques`)
  return {
    videos: new Set([...rows.map(({ id }) => id), ...held.filter(({ kind }) => kind === 'videos').map(({ id }) => id)]),
    authors: new Set([
      ...rows.flatMap(({ author }) => author ?? []),
      ...held.filter(({ kind }) => kind === 'brands').map(({ name }) => String(name)),
    ]),
    techniques: new Set([
      ...slugs.map(({ slug }) => slug),
      ...held.filter(({ kind }) => kind === 'techniques').map(({ id }) => id),
    ]),
  }
}

const GROUPS_AT_ONCE = 500

/** Videos in parts; brands and techniques are few and come last, when the videos they count are there. */
export function* groupPieces({ videos, authors, techniques }: Groups): Iterable<Groups> {
  const none = (): Groups => ({ videos: new Set(), authors: new Set(), techniques: new Set() })
  const list = [...videos]
  for (let from = 0; from < list.length; from += GROUPS_AT_ONCE)
    yield { ...none(), videos: new Set(list.slice(from, from + GROUPS_AT_ONCE)) }
  yield { ...none(), authors, techniques }
}
