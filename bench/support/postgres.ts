import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'

export interface TemporaryDatabase {
  db: Db
  url: string
  [Symbol.asyncDispose](): Promise<void>
}

/** A migrated PostgreSQL in a temporary folder, set up as by the service. Unless `durable`, commits skip the disk. */
export async function openTemporaryDatabase({
  durable = false,
}: {
  durable?: boolean
} = {}): Promise<TemporaryDatabase> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-'))
  chmodSync(dir, 0o755)
  const postgres = await startLocalPostgres({
    dir: join(dir, 'postgres'),
    settings: durable ? {} : { fsync: 'off', full_page_writes: 'off' },
  })
  const db = openDb({ url: postgres.url, statementTimeoutMs: 0 })
  await migrateDatabase(db)
  return {
    db,
    url: postgres.url,
    async [Symbol.asyncDispose]() {
      await db.$client.end()
      await postgres.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
