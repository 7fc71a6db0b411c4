import { sql } from 'drizzle-orm'
import { type Executor, rowsOf } from '../postgres/tables.ts'
import { WORDS_VERSION } from '../text/tokens.ts'

export interface MirrorState {
  /** The read-model version up to which Meilisearch holds every change. */
  version: string
  appliedAt: Date | null
  /** False while an index is missing or emptied, or holds words or documents as another version cuts them. */
  ready: boolean
}

/** What has been copied into Meilisearch; undefined before the first time. */
export async function mirrorState(db: Executor): Promise<MirrorState | undefined> {
  const [row] = await rowsOf<{ version: string; applied_at: string | null; ready: boolean }>(
    db,
    sql`select version, applied_at, ready and words = ${WORDS_VERSION} as ready
          from read_models where engine = 'meilisearch'`,
  )
  return (
    row && {
      version: row.version,
      appliedAt: row.applied_at === null ? null : new Date(row.applied_at),
      ready: row.ready,
    }
  )
}
