import pg from 'pg'
import { expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { openStores } from '../support/stores.ts'

test(
  'migrating has no time limit: neither waiting for another process that migrates, ' + 'nor a slow statement ends it',
  async () => {
    await using stores = await openStores()
    const statementTimeoutMs = 100
    const db = openDb({ url: stores.databaseUrl, max: 1, statementTimeoutMs })
    const other = new pg.Client({ connectionString: stores.databaseUrl })
    await other.connect()
    /** Waits for this lock, longer than any statement may take. */
    const outlast = async (type: string) => {
      await expect
        .poll(
          async () =>
            (await other.query('select 1 from pg_locks where not granted and locktype = $1', [type])).rowCount,
        )
        .toBeGreaterThan(0)
      await other.query('select pg_sleep($1)', [(statementTimeoutMs * 4) / 1_000])
    }
    try {
      await other.query('select pg_advisory_lock(7310001)')
      await other.query('begin')
      await other.query('lock table drizzle.__drizzle_migrations')
      const migrated = migrateDatabase(db).then(
        () => 'migrated',
        (error: unknown) => error,
      )
      await Promise.race([outlast('advisory'), migrated])
      await other.query('select pg_advisory_unlock(7310001)')
      await Promise.race([outlast('relation'), migrated])
      await other.query('rollback')
      expect(await migrated).toBe('migrated')
      expect((await db.$client.query('show statement_timeout')).rows).toEqual([
        { statement_timeout: `${statementTimeoutMs}ms` },
      ])
    } finally {
      await other.end()
      await db.$client.end()
    }
  },
)

test('a database that another version before 0.1.0 began is refused, untouched, with what to do', async () => {
  await using stores = await openStores()
  const client = new pg.Client({ connectionString: stores.databaseUrl })
  await client.connect()
  try {
    await client.query(`update drizzle.__drizzle_migrations set hash = 'of another text'`)
    await expect(migrateDatabase(stores.db)).rejects.toThrow(/start anew\. Use an empty database/)
    expect((await client.query('select hash from drizzle.__drizzle_migrations')).rows).toEqual([
      { hash: 'of another text' },
    ])
  } finally {
    await client.end()
  }
})
