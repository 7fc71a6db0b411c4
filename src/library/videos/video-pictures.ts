import { sql } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'
import { toImageName } from '../../media/image-name.ts'

/** The path of a small picture for each video that has frames: its most saved one, else its sharpest. */
export async function findVideoPictures(db: DbOrTx, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.execute<{ video_id: string; thumb_key: string }>(sql`
    select distinct on (video_id) video_id, thumb_key from frames
     where video_id = any(${sql.param([...ids])}::text[])
     order by video_id, save_count desc, sharpness desc nulls last, t_ms`)
  return new Map(rows.map(({ video_id, thumb_key }) => [video_id, `/media/${toImageName(thumb_key)}`]))
}
