import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'

export interface VisionErrors {
  calls: number
  failed: number
}

/** Calls to the model in the last 24 hours, and how many of them failed. */
export async function findVisionErrors(db: Db): Promise<VisionErrors> {
  const { rows } = await db.execute<{ calls: number; failed: number }>(sql`
    select count(*)::int as calls, (count(*) filter (where outcome = 'failed'))::int as failed
      from vision_calls where at > now() - interval '24 hours'`)
  return rows[0]!
}

/** The size of the database on its disk. */
export async function databaseBytes(db: Db): Promise<number> {
  const { rows } = await db.execute<{ bytes: string }>(sql`select pg_database_size(current_database()) as bytes`)
  return Number(rows[0]!.bytes)
}
