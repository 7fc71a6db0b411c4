import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { TechniqueRow } from '../../db/schema/techniques.ts'
import { notFound } from '../../errors.ts'
import { loadVocabulary } from './vocabulary.ts'

/** A technique as operators see it, with its frames and old slugs. */
export interface TechniqueUsage {
  technique: TechniqueRow
  frames: number
  videos: number
  /** Frames whose technique a person set. */
  corrected: number
  /** Some of its frames, the best-described first. */
  frameIds: string[]
  /** Old slugs that lead to it. */
  oldSlugs: string[]
}

const PICTURES = 6

/** Every technique, retired ones last, by its number of frames. */
export async function listTechniqueUsage(db: Db): Promise<TechniqueUsage[]> {
  const { bySlug, redirects } = await loadVocabulary(db)
  const { rows } = await db.execute<{
    slug: string
    frames: string
    videos: string
    corrected: string
    frame_ids: string[]
  }>(sql`
    select technique as slug, count(*) as frames, count(distinct video_id) as videos,
           count(*) filter (where technique_provenance->>'source' = 'person') as corrected,
           (array_agg(id order by save_count desc, id))[1:${sql.raw(String(PICTURES))}] as frame_ids
      from frames where technique is not null group by technique`)
  const used = new Map(rows.map((row) => [row.slug, row]))
  return [...bySlug.values()]
    .map((technique) => {
      const row = used.get(technique.slug)
      const aliases = new Set(technique.aliases)
      return {
        technique,
        frames: Number(row?.frames ?? 0),
        videos: Number(row?.videos ?? 0),
        corrected: Number(row?.corrected ?? 0),
        frameIds: row?.frame_ids ?? [],
        oldSlugs: [...redirects].filter(([old, to]) => to === technique.slug && !aliases.has(old)).map(([old]) => old),
      }
    })
    .sort(
      (a, b) => Number(a.technique.retiredAt !== null) - Number(b.technique.retiredAt !== null) || b.frames - a.frames,
    )
}

/** @throws AppError not_found */
export async function findTechniqueUsage(db: Db, slug: string): Promise<TechniqueUsage> {
  const found = (await listTechniqueUsage(db)).find(({ technique }) => technique.slug === slug)
  if (!found) throw notFound('technique')
  return found
}
