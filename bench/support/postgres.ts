import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { sharedBuffersMb, startLocalPostgres } from '../../src/local/postgres.ts'
import { openEnding } from './ending.ts'

export interface TemporaryDatabase {
  db: Db
  url: string
  [Symbol.asyncDispose](): Promise<void>
}

/** The memory that a start gives to a large library, although the cluster is empty yet. Commits skip the disk. */
const SETTINGS_WHEN_FILLED = {
  shared_buffers: `${sharedBuffersMb(Number.POSITIVE_INFINITY)}MB`,
  fsync: 'off',
  full_page_writes: 'off',
}

/**
 * A migrated PostgreSQL in a temporary folder, set up as by the service. Unless `durable`, commits skip the disk. A
 * signal that ends the bench stops it.
 */
export async function openTemporaryDatabase({
  durable = false,
}: {
  durable?: boolean
} = {}): Promise<TemporaryDatabase> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-'))
  chmodSync(dir, 0o755)
  const ending = openEnding()
  ending.defer(() => rmSync(dir, { recursive: true, force: true }))
  const settings = durable ? { shared_buffers: SETTINGS_WHEN_FILLED.shared_buffers } : SETTINGS_WHEN_FILLED
  const postgres = await ending.use(startLocalPostgres({ dir: join(dir, 'postgres'), settings }), (started) =>
    started.stop(),
  )
  const db = openDb({ url: postgres.url, statementTimeoutMs: 0 })
  await migrateDatabase(db)
  return {
    db,
    url: postgres.url,
    async [Symbol.asyncDispose]() {
      await db.$client.end()
      await ending.leave()
    },
  }
}
