import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import type { LibrarySearch } from '../library-search.ts'
import { refuseDepth, withCurrentSlugs } from '../query.ts'
import { openTechniqueWords } from '../text/named-words.ts'
import type { Question } from '../text/question.ts'
import type { Sense } from '../text/senses.ts'
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
import { findSequences } from './sequences.ts'
import { findSimilar } from './similar.ts'
import { inSnapshot, rowsOf } from './tables.ts'
import { openTermStats, readSenses } from './words.ts'

/** More matches than this are not all ranked: reading so many frames takes long. */
const MANY_FRAMES = 10_000

/** The search of the read model, which also tells another engine what the words of a question mean in the library. */
export interface ReadModelSearch extends LibrarySearch {
  senses(question: Question): Promise<readonly Sense[]>
}

/** Search and reads on the read model in PostgreSQL. The pool stays the caller's. */
export function openPostgresSearch(
  pool: pg.Pool,
  { manyFrames = MANY_FRAMES }: { manyFrames?: number } = {},
): ReadModelSearch {
  const db = drizzle(pool)
  const readModel = { pool, common: openTermStats(db, manyFrames) }
  const techniques = () => loadTechniques(db)
  const version = async () => {
    const [row] = await rowsOf<{ version: string }>(
      db,
      sql`select left(generation::text, 8) || '-' || version as version from read_models where engine = 'postgres'`,
    )
    return row?.version ?? '0'
  }
  const techniqueWords = openTechniqueWords({ version, techniques })

  return {
    engine: 'postgres',

    version,

    senses: ({ wanted }) => inSnapshot(pool, async (reads) => (await readSenses(reads, wanted, ['frames']))('frames')),

    search: async (query) => searchGroups(readModel, query, await techniqueWords()),

    async frames(query) {
      refuseDepth(query)
      return findFrames(readModel, await withCurrentSlugs(query, techniques), techniqueWords)
    },

    videoFrames: (videoId) => loadVideoFrames(db, videoId),
    frame: (id) => findFrame(db, id),

    documents: (kind, ids) => documentsOf(db, kind, ids),

    async framesByIds(ids) {
      const documents = await documentsOf(db, 'frames', ids)
      return ids.flatMap((id) => documents.get(id) ?? [])
    },

    async similar(id, query) {
      const current = await withCurrentSlugs(query, techniques)
      return inSnapshot(pool, (reads) => findSimilar(reads, id, current))
    },
    video: (id) => findVideo(db, id),
    videos: (query) => loadVideos(db, query),
    brands: (query) => loadBrands(db, query),
    async sequences(query) {
      const steps = await Promise.all(query.steps.map((step) => withCurrentSlugs(step, techniques)))
      return findSequences(readModel, { ...query, steps }, await techniqueWords())
    },
    techniques,
  }
}
