import { createHash } from 'node:crypto'
import type {
  Annotated,
  Asker,
  ChosenValues,
  CountedName,
  Derived,
  Kind,
  Platform,
  Source,
  Tone,
  ValueOf,
} from '../vocabulary.ts'
import type { Met } from './text/match.ts'

/**
 * The read contract: the API, the tools and the pages ask a `LibrarySearch`.
 * Two engines serve it. PostgreSQL answers from the read model that the search projection writes.
 * Meilisearch, where it is set up, ranks words and counts facets in a replica of that read model.
 * One suite (`test/search/contract.ts`) states what both must do.
 */

/* ---------- documents: what the projection writes and every reader gets ---------- */

interface VideoRef {
  id: string
  title: string
  author: string | null
  platform: Platform
  source_url: string | null
  duration_sec: number | null
}

/** A frame as docs/interface.md §1 shows it, but with paths for the images: the API puts PUBLIC_URL before them. */
export interface ShownFrame extends ChosenValues {
  id: string
  video_id: string
  t_sec: number
  /** From and to of its shot. Null where its shots are not known. */
  shot_sec: [number, number] | null
  kind: Kind
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
  /** Two seconds of its motion, animated. */
  loop_path?: string
  placeholder: string
  width: number
  height: number
  save_count: number
  /** Deep link to this second, where the platform has such links. */
  source_url: string | null
  annotation: {
    model: string | null
    confidence: Partial<Record<Annotated, number>>
    reviewed: boolean
  }
  /** Its caption is made of measured facts: `searchedText` says which of its words are searched. */
  has_measured_caption?: true
  measures: { faces: number | null; empty_share: number | null; ink: string | null; ground: string | null }
  video: VideoRef
  /** Provenance of every attribute, for `?provenance=1`. Hits of a query without it may lack it. */
  provenance?: Record<
    string,
    { source: Source; confidence: number | null; by: string; at: string; reason?: string } | null
  >
}

export interface FrameDocument extends ShownFrame {
  /* For ranking and comparison; not part of the public frame. */
  luma: number
  palette_shares: number[]
  colored_share: number
  phash: string
  /** The signs of its vector in hexadecimal. Absent where nothing with a meaning is known of it. */
  bits?: string
  /** The video's arrival in milliseconds since the epoch. `newest` is a total order: added_ms desc, video_id, t_ms. */
  added_ms: number
  t_ms: number
  /** Orders blank searches, best first; see projections/search/document. */
  strength: number
  /** Hash of everything above: the reconciler compares it. */
  revision: string
}

export interface VideoDocument extends VideoRef {
  width: number | null
  height: number | null
  fps: number | null
  frame_count: number
  published_at: string | null
  added_at: string
  /** The image of its strongest frame. */
  image_path: string | null
  added_ms: number
  strength: number
  /** The canonical source key (`youtube:<id>`, `url:<…>`, `sha256:<…>`), by which a pasted URL is found. */
  source_key: string
  /** The version that read its file: with it answers about its shots change, though no frame may. */
  extraction?: string
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

/** The id of a brand: a URL-safe hash of its name. */
export function brandIdOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url').slice(0, 16)
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
export const DOCUMENT_KINDS: readonly DocumentKind[] = ['frames', 'videos', 'brands', 'techniques']

export interface DocumentChanges {
  put: Partial<{ [K in DocumentKind]: LibraryDocuments[K][] }>
  remove: Partial<Record<DocumentKind, string[]>>
}

/* ---------- reading ---------- */

/** A renamed or merged slug of a technique selects its successor. */
type StoredFilters = { [N in CountedName]?: readonly ValueOf<N>[] }

interface AttributeFilters extends StoredFilters, Partial<Record<Derived, readonly string[]>> {
  video?: readonly string[]
  /** Hex colours `#rrggbb`: frames near one in OKLab, weighted by area. Or names (`COLOR_NAMES`) of their colours. */
  color?: readonly string[]
}
export type FilterName = keyof AttributeFilters
type Opposites = { [K in keyof AttributeFilters as `not_${K}`]?: readonly string[] }

/**
 * OR within an attribute, AND across attributes. An absent or empty list does not filter. `not_…` leaves out the frames
 * that have one of the values; those without a known value stay.
 */
export interface FrameFilters extends AttributeFilters, Opposites {}

/** Frames per value, ignoring that attribute's own filter. */
export type FacetCounts = Record<CountedName, Record<string, number>>

type FrameSort = 'relevance' | 'newest' | 'strength' | 'meaning'

export type EngineName = 'postgres' | 'meilisearch'

interface InWords {
  /** Plain words, met by a text or by the attribute that they name; empty for none. */
  q: string
}

interface Counted {
  /** Whose question it is: figures count it. Absent for one that nobody asked. */
  asker?: Asker | undefined
}

export interface FrameQuery extends InWords, Counted {
  filters: FrameFilters
  /** `meaning`: the nearest frames alone; counts stay those of the words. */
  sort: FrameSort
  /** 1-based. */
  page: number
  pageSize: number
  facets: boolean
  /** At most one of each cluster of near-duplicates across videos. */
  variety: boolean
  /** Documents must come with their provenance. */
  provenance?: boolean
  /** A first page with fewer frames is followed by partial matches, up to this number. */
  fill?: number
  /** Where fewer than a page meet every word, this many that are close in meaning follow a first page. */
  close?: number
  /** Count the frames, up to MOST_COUNTED; where nothing is found, what fewer conditions would find. */
  loosen?: boolean
  /** The engine of the pages before: the engines order some results differently. */
  engine?: EngineName | undefined
}

export interface GroupsQuery extends InWords, Counted {
  limit: number
  /** Set when `q` is a video's URL: the groups then hold that video and its strongest frames only. */
  sourceKey?: string | undefined
  /** No frames are looked for, which takes a fraction of the time. */
  namesOnly?: boolean
}

interface Match {
  /** 0–1. */
  score: number
  /** Field → HTML-escaped text with `<em>` around what matched. */
  matched: Record<string, string>
  /** How each word is met that is met, in the order of the question: of frames found by words. */
  met?: readonly Met[]
  /** Words that the document does not have as a word, an attribute or a synonym. Absent where it has all. */
  missing?: readonly string[]
}
export type Hit<T> = { readonly document: T } & Match

export type FrameHit = Hit<ShownFrame & Partial<Pick<FrameDocument, 'phash' | 'luma'>>>

export interface ReadAs {
  /** Each word that counts and what meets it: `text`, `exact text`, or `attribute=value`. */
  words: { word: string; as: string[] }[]
  /** What no frame may have. */
  without: string[]
  /** What weighs nothing: function words, words and exclusions past the tenth, and what was not read. */
  ignored: string[]
  /** Words that not every frame of the set meets in full, a guess among them. Empty where all frames meet all words. */
  let_go: string[]
  /** Of `words`, how many each frame of the set meets in full. */
  met: number
  /** What meaning added. Absent where it was not asked. */
  meaning?: MeaningSaid
}

/** The most frames that follow those found by words. */
export const MOST_CLOSE = 24

/** What a search by meaning has to say: there are frames close to the question, there are none, or it was not made. */
export const MEANING_SAID = ['close', 'nothing close', 'unavailable', 'not ready', 'english only'] as const
export type MeaningSaid = (typeof MEANING_SAID)[number]

/** The number of frames found without one filter, without all of them, or without the words. */
export interface Loosened {
  dropped: keyof FrameFilters | 'filters' | 'words'
  /** At most 20 are counted. */
  frames: number
  /** They meet some of the words, not always all. */
  partly: boolean
}

export interface FramePage {
  /** It holds for the version of the library at which it was asked. */
  engine: EngineName
  frames: FrameHit[]
  /** Frames outside the set that meet the most words; only of a query with `fill`. */
  partialMatches?: FrameHit[] | undefined
  /** Frames outside the set that mean what the question means; only of a query with `close`. */
  close?: FrameHit[]
  /** Only of a query with `loosen` that finds nothing. */
  loosened?: Loosened[]
  /** Only of a query with words. */
  readAs?: ReadAs
  /** How many frames have every word; only of a query with words and `loosen`. */
  full?: number | undefined
  /** How many frames the set has; only of a query with `facets` or `loosen`. */
  total?: number | undefined
  facets?: FacetCounts
}

export interface SearchGroups {
  videos: Hit<VideoDocument>[]
  frames: Hit<ShownFrame>[]
  brands: Hit<BrandDocument>[]
  techniques: Hit<TechniqueDocument>[]
  /** How the words were read for frames; absent where none were looked for by words. */
  readAs?: ReadAs | undefined
}

export interface CursorPage<T> {
  items: T[]
  /** Opaque; null at the end. */
  next: string | null
}

/** A step of a sequence: what its frames must have, and how soon it follows the step before. */
export interface SequenceStep {
  filters: FrameFilters
  /** Words that its frames must have. */
  q: string
  /** The most from the end of the step before to the beginning of this one. That of the first does not count. */
  withinSec: number
}

export interface SequenceQuery {
  /** Two to five. */
  steps: readonly SequenceStep[]
  /** Of the films. */
  author?: string | undefined
  platform?: string | undefined
  limit: number
  after?: string | undefined
}

export interface FoundSequence {
  videoId: string
  /** One for each step, with its first frame. */
  steps: readonly { frameId: string; from: number; to: number }[]
}

export interface SequencePage {
  sequences: FoundSequence[]
  /** Films that have every step somewhere, as far as they were looked at. */
  films: number
  next: string | null
}

export interface SimilarQuery {
  filters: FrameFilters
  limit: number
  otherVideos?: boolean | undefined
  /** What the text model can compare: the search sets it. */
  texts?: { space: string; canRead(text: string): boolean } | undefined
}

export interface LibrarySearch {
  /**
   * Of the read model, its replica and the text model. It changes whenever a result of either engine may change, and
   * with nothing else: what one engine answered stays right while the other one answers. Cheap, because ETags are made
   * from it. Save counts enter in batches.
   */
  version(): Promise<string>
  search(query: GroupsQuery): Promise<SearchGroups>
  /** @throws AppError invalid_request past the documented depth of `relevance`. */
  frames(query: FrameQuery): Promise<FramePage>
  /** Time order; undefined for a video that is not public. */
  videoFrames(videoId: string): Promise<FrameDocument[] | undefined>
  frame(
    id: string,
  ): Promise<{ frame: FrameDocument; previous: FrameDocument | null; next: FrameDocument | null } | undefined>
  /** Those that there are, by id. */
  documents<K extends DocumentKind>(kind: K, ids: readonly string[]): Promise<Map<string, LibraryDocuments[K]>>
  /** In the order of `ids`, without unknown ones. */
  framesByIds(ids: readonly string[]): Promise<FrameDocument[]>
  /**
   * Frames that are alike (`isAlike`). At most one is of the frame's own video, or none: unless the filters
   * name that video. Undefined for an unknown frame.
   */
  similar(id: string, query: SimilarQuery): Promise<Hit<FrameDocument>[] | undefined>
  video(id: string): Promise<VideoDocument | undefined>
  /** Newest first. */
  videos(query: {
    after: string | undefined
    limit: number
    author?: string | undefined
    platform?: Platform | undefined
  }): Promise<CursorPage<VideoDocument>>
  brands(query: { after: string | undefined; limit: number }): Promise<CursorPage<BrandDocument>>
  /** One thing after another in a film, newest films first. */
  sequences(query: SequenceQuery): Promise<SequencePage>
  /** The whole vocabulary, by slug. */
  techniques(): Promise<TechniqueDocument[]>
}
