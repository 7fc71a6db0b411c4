import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'

/** Unfinished videos, and how many of their frames are described. */
export interface UnderWay {
  videos: number
  /** Frames of the videos that are being described. */
  frames: number
  described: number
}

export async function findUnderWay(db: DbOrTx): Promise<UnderWay> {
  const { rows } = await db.execute<UnderWay & Record<string, unknown>>(sql`
    select count(*)::int as videos, coalesce(sum((stage->>'total')::int), 0)::int as frames,
           coalesce(sum((stage->>'done')::int), 0)::int as described
      from videos v left join lateral (
        select stage from jsonb_array_elements(v.stages) stage where stage->>'stage' = 'annotating') s on true
     where status in ('queued', 'fetching', 'extracting', 'annotating')`)
  return rows[0]!
}
