import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import type { Db } from './client.ts'

const folder = fileURLToPath(new URL('../../drizzle', import.meta.url))
const MIGRATION_LOCK = 7_310_001

/**
 * Migrates the database to the current schema. Safe when many processes start at once: an advisory lock admits one at a
 * time, however long it takes.
 */
export async function migrateDatabase(db: Db): Promise<void> {
  const client = await db.$client.connect()
  try {
    await client.query('set statement_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await migrate(drizzle(client), { migrationsFolder: folder })
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
    // Closed instead of released, because it has no statement timeout any more.
    client.release(true)
  }
}
