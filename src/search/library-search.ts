import type { Kind, Platform, Shot, Source, Subject, Surface, Tone, Zone } from '../vocabulary.ts'

/**
 * The read contract. The API and the tool server ask a `LibrarySearch`; Postgres serves it by default and when Meilisearch is away, Meilisearch in production.
 * The projection writes the same documents through a `DocumentSink` with the same two homes. One suite (`test/search/contract.ts`) states what both must do.
 */

/* ---------- documents: what the projection writes and every reader gets ---------- */

export interface VideoRef {
  id: string
  title: string
  author: string | null
  platform: Platform
  source_url: string | null
  duration_sec: number | null
}

/** A frame as decided in section 1, but with paths for the images: the API makes them absolute with PUBLIC_URL. */
export interface ShownFrame {
  id: string
  video_id: string
  t_sec: number
  kind: Kind
  subject: Subject | null
  surface: Surface | null
  shot: Shot | null
  technique: string | null
  zone: Zone | null
  tone: Tone
  author: string | null
  platform: Platform
  caption: string | null
  composition: string | null
  steal: string | null
  on_screen_text: string | null
  palette: string[]
  image_path: string
  thumb_path: string
  placeholder: string
  width: number
  height: number
  save_count: number
  /** Deep link to this second, where the platform has such links. */
  source_url: string | null
  annotation: {
    model: string | null
    confidence: Partial<
      Record<
        'subject' | 'surface' | 'shot' | 'technique' | 'zone' | 'caption' | 'composition' | 'steal' | 'on_screen_text',
        number
      >
    >
    reviewed: boolean
  }
  video: VideoRef
  /** Provenance of every attribute, for `?provenance=1`; hits of a query that did not ask for it may lack it. */
  provenance?: Record<
    string,
    { source: Source; confidence: number | null; by: string; at: string; reason?: string } | null
  >
}

export interface FrameDocument extends ShownFrame {
  /* For ranking and comparison; not part of the public frame. */
  luma: number
  palette_shares: number[]
  phash: string
  /** Milliseconds since the epoch: the video's arrival. `newest` is (added_ms desc, video_id asc, t_ms asc), a total order. */
  added_ms: number
  t_ms: number
  /** Orders blank searches, best first; see projections/search/strength. */
  strength: number
  /** Hash of everything above: the reconciler compares it. */
  revision: string
}

export interface VideoDocument {
  id: string
  title: string
  author: string | null
  platform: Platform
  source_url: string | null
  duration_sec: number | null
  width: number | null
  height: number | null
  fps: number | null
  frame_count: number
  published_at: string | null
  added_at: string
  /** Its strongest frame's. */
  image_path: string | null
  added_ms: number
  strength: number
  /** The canonical source key (`youtube:<id>`, `url:<…>`, `sha256:<…>`): a pasted URL is looked up by it. */
  source_key: string
  revision: string
}

export interface BrandDocument {
  /** URL-safe hash of the name: Meilisearch keys allow no spaces. */
  id: string
  name: string
  video_count: number
  frame_count: number
  image_path: string | null
  strength: number
  revision: string
}

export interface TechniqueDocument {
  slug: string
  name: string
  description: string
  aliases: string[]
  frame_count: number
  image_path: string | null
  strength: number
  revision: string
}

export interface LibraryDocuments {
  frames: FrameDocument
  videos: VideoDocument
  brands: BrandDocument
  techniques: TechniqueDocument
}
export type DocumentKind = keyof LibraryDocuments

/* ---------- reading ---------- */

/** OR within an attribute, AND across attributes. An absent or empty list does not filter. */
export interface FrameFilters {
  subject?: readonly Subject[]
  surface?: readonly Surface[]
  shot?: readonly Shot[]
  /** Slugs, also those of before a rename or a merge. */
  technique?: readonly string[]
  zone?: readonly Zone[]
  tone?: readonly Tone[]
  kind?: readonly Kind[]
  author?: readonly string[]
  platform?: readonly Platform[]
  video?: readonly string[]
  /** Hex colours `#rrggbb`: near in OKLab, weighted by area. */
  color?: readonly string[]
}

export const FACETS = ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author', 'platform'] as const
export type Facet = (typeof FACETS)[number]
/** Count per value, computed as if the attribute's own filter were off. */
export type FacetCounts = Record<Facet, Record<string, number>>

export type FrameSort = 'relevance' | 'newest' | 'strength'

export interface FrameQuery {
  filters: FrameFilters
  /** Free text over caption, composition, steal and on-screen text; empty for none. */
  q: string
  sort: FrameSort
  /** 1-based. */
  page: number
  pageSize: number
  facets: boolean
  /** At most one of each cluster of near-duplicates across videos. */
  variety: boolean
  /** Documents must come with their provenance. */
  provenance?: boolean
}

export interface Match {
  /** 0–1. */
  score: number
  /** Field → HTML-escaped text with `<em>` around what matched. */
  matched: Record<string, string>
}
export type Hit<T> = { readonly document: T } & Match

/** `text`: the document as JSON, its fields in the order of `ShownFrame`, from an engine that keeps it so: an answer is put together without reading it. */
export type FrameHit = Hit<ShownFrame> & { readonly text?: string }

export interface FramePage {
  frames: FrameHit[]
  total?: number
  facets?: FacetCounts
}

export interface SearchGroups {
  videos: Hit<VideoDocument>[]
  frames: Hit<ShownFrame>[]
  brands: Hit<BrandDocument>[]
  techniques: Hit<TechniqueDocument>[]
}

export interface CursorPage<T> {
  items: T[]
  /** Opaque; null at the end. */
  next: string | null
}

export interface LibrarySearch {
  readonly engine: 'postgres' | 'meilisearch'
  /** Changes whenever an answer may change (save counts enter in batches). Cheap: ETags are made from it before any search runs. */
  version(): Promise<string>
  /** How often another engine has begun to answer; absent where there is but one. What was asked before the last time may be either's answer: no version names it. */
  engineEpoch?(): number
  /** When the read model was last brought up to date. */
  asOf(): Promise<Date | null>
  /** `sourceKey`: set when the term is a video's URL; then `videos` holds that one alone and `frames` its strongest frames. */
  search(query: { q: string; limit: number; sourceKey?: string | undefined }): Promise<SearchGroups>
  /** @throws AppError invalid_request past the documented depth of `relevance`. */
  frames(query: FrameQuery): Promise<FramePage>
  /** Time order; undefined for a video that is not public. */
  videoFrames(videoId: string): Promise<FrameDocument[] | undefined>
  frame(
    id: string,
  ): Promise<{ frame: FrameDocument; previous: FrameDocument | null; next: FrameDocument | null } | undefined>
  /** In the order of `ids`; unknown ones are left out. */
  framesByIds(ids: readonly string[]): Promise<FrameDocument[]>
  similar(id: string, query: { filters: FrameFilters; limit: number }): Promise<Hit<FrameDocument>[] | undefined>
  video(id: string): Promise<VideoDocument | undefined>
  /** Newest first. */
  videos(query: {
    after: string | undefined
    limit: number
    author?: string | undefined
    platform?: Platform | undefined
  }): Promise<CursorPage<VideoDocument>>
  brands(query: { after: string | undefined; limit: number }): Promise<CursorPage<BrandDocument>>
  /** The whole vocabulary, by slug. */
  techniques(): Promise<TechniqueDocument[]>
}

/* ---------- writing ---------- */

export interface DocumentChanges {
  put: Partial<{ [K in DocumentKind]: LibraryDocuments[K][] }>
  remove: Partial<Record<DocumentKind, string[]>>
}

/** Where the projection writes. Every call resolves only when the engine has made it durable and searchable. */
export interface DocumentSink {
  readonly engine: 'postgres' | 'meilisearch'
  apply(changes: DocumentChanges): Promise<void>
  /** Id → revision of everything held, for the reconciler; streamed in batches. */
  revisions(kind: DocumentKind): AsyncIterable<{ id: string; revision: string }[]>
  /** A second, empty home beside the live one; readers see it only after `swap`. */
  beginRebuild(): Promise<RebuildTarget>
}

export interface RebuildTarget {
  apply(changes: DocumentChanges): Promise<void>
  swap(): Promise<void>
  abandon(): Promise<void>
}
