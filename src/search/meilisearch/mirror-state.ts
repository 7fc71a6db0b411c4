import { sql } from 'drizzle-orm'
import { type Executor, rowsOf } from '../postgres/sink.ts'
import { WORDS_VERSION } from '../text/tokens.ts'

export interface MirrorState {
  /** Of the read model, up to which Meilisearch holds everything. */
  version: string
  appliedAt: Date | null
  /** False while an index is missing, emptied, or as another version filled it: what this one asks of it, and how it reads its documents, would not fit. */
  ready: boolean
}

/** What has been copied into Meilisearch; undefined before the first time. */
export async function mirrorState(db: Executor): Promise<MirrorState | undefined> {
  const [row] = await rowsOf<{ version: string; applied_at: string | null; ready: boolean }>(
    db,
    sql`select version, applied_at, ready and words = ${WORDS_VERSION} as ready from read_models where engine = 'meilisearch'`,
  )
  return (
    row && {
      version: row.version,
      appliedAt: row.applied_at === null ? null : new Date(row.applied_at),
      ready: row.ready,
    }
  )
}
