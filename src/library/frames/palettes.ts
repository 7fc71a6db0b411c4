import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'

/** Frames whose palettes stand for the library: reading them takes milliseconds in a library of any size. */
const SAMPLE = 2_000

/**
 * Palettes of at most SAMPLE public frames from all over the library, or of all. The same table gives the same sample,
 * so that every process shows the same colours.
 */
export async function samplePalettes(db: DbOrTx): Promise<string[][]> {
  const { rows: sizes } = await db.execute<{ n: number }>(
    sql`select reltuples::float8 as n from pg_class where oid = 'frames'::regclass`,
  )
  // Nobody has counted a table that is new: it is read whole, up to the limit.
  const share = Math.min(100, (100 * SAMPLE) / Math.max(1, sizes[0]!.n))
  const { rows } = await db.execute<{ palette: string[] }>(sql`
    select f.palette from frames f tablesample system (${sql.raw(String(share))}) repeatable (1)
      join videos v on v.id = f.video_id
     where v.first_ready_at is not null limit ${SAMPLE}`)
  return rows.map(({ palette }) => palette)
}
