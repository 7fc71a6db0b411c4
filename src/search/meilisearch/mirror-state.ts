import { sql } from 'drizzle-orm'
import { type Executor, rowsOf } from '../postgres/sink.ts'

export interface MirrorState {
  /** Of the read model, up to which Meilisearch holds everything. */
  version: string
  appliedAt: Date | null
  /** False while an index is missing or emptied. */
  ready: boolean
}

/** What has been copied into Meilisearch; undefined before the first time. */
export async function mirrorState(db: Executor): Promise<MirrorState | undefined> {
  const [row] = await rowsOf<{ version: string; applied_at: string | null; ready: boolean }>(
    db,
    sql`select version, applied_at, ready from read_models where engine = 'meilisearch'`,
  )
  return row && { version: row.version, appliedAt: row.applied_at === null ? null : new Date(row.applied_at), ready: row.ready }
}
