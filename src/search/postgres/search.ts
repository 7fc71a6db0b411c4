import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type {
  FramePage,
  FrameQuery,
  GroupsQuery,
  LibrarySearch,
  SearchGroups,
  SequencePage,
} from '../library-search.ts'
import type { Read } from '../query.ts'
import type { Question } from '../text/question.ts'
import {
  documentsOf,
  findFrame,
  findVideo,
  loadBrands,
  loadTechniques,
  loadVideoFrames,
  loadVideos,
} from './documents.ts'
import { findFrames } from './frames.ts'
import { searchGroups } from './groups.ts'
import { findSequences, type ReadSequences } from './sequences.ts'
import { findSimilar } from './similar.ts'
import { inSnapshot, versionOf } from './tables.ts'
import { type KnownSenses, openTermStats, readSenses, type Scope } from './words.ts'

/** More matches than this are not all ranked: reading so many frames takes long. */
const MANY_FRAMES = 10_000

/** The engine that answers every question. Techniques of filters are current slugs. */
export interface ReadModelSearch extends Omit<LibrarySearch, 'search' | 'frames' | 'sequences'> {
  /** What the words of a question mean in the library now. */
  senses(question: Question, scopes: readonly Scope[]): Promise<KnownSenses>
  /** `known`: as another engine had them. They are read again if the library has changed. */
  search(query: Read<GroupsQuery>, known?: KnownSenses): Promise<SearchGroups>
  frames(query: Read<FrameQuery>, known?: KnownSenses): Promise<FramePage>
  sequences(query: ReadSequences): Promise<SequencePage>
}

/** Search and reads on the read model in PostgreSQL. The pool stays the caller's. */
export function openReadModel(
  pool: pg.Pool,
  { manyFrames = MANY_FRAMES }: { manyFrames?: number } = {},
): ReadModelSearch {
  const db = drizzle(pool)
  const readModel = { pool, common: openTermStats(db, manyFrames) }
  return {
    version: () => versionOf(db),
    senses: ({ wanted }, scopes) =>
      inSnapshot(pool, async (reads) => ({
        version: await versionOf(reads),
        in: await readSenses(reads, wanted, scopes),
      })),
    search: (query, known) => searchGroups(readModel, query, known),
    frames: (query, known) => findFrames(readModel, query, known),
    videoFrames: (videoId) => loadVideoFrames(db, videoId),
    frame: (id) => findFrame(db, id),
    documents: (kind, ids) => documentsOf(db, kind, ids),
    async framesByIds(ids) {
      const documents = await documentsOf(db, 'frames', ids)
      return ids.flatMap((id) => documents.get(id) ?? [])
    },
    similar: (id, query) => inSnapshot(pool, (reads) => findSimilar(reads, id, query)),
    video: (id) => findVideo(db, id),
    videos: (query) => loadVideos(db, query),
    brands: (query) => loadBrands(db, query),
    sequences: (query) => findSequences(readModel, query),
    techniques: () => loadTechniques(db),
  }
}
