import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { type MigrationMeta, readMigrationFiles } from '../sql/orm.ts'
import { type Db, MIGRATION_LOCK } from './client.ts'

const folder = fileURLToPath(new URL('../../drizzle', import.meta.url))

/**
 * Migrates the database to the current schema. Safe when many processes start at once: an advisory lock admits one at a
 * time, however long it takes.
 */
export async function migrateDatabase(db: Db): Promise<void> {
  const client = await db.$client.connect()
  try {
    await client.query('set statement_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const begun = await loadMigrations(client)
    refuseOtherBeginnings(begun)
    await client.query('begin')
    await applyMigrations(client, { from: begun.length })
    await client.query('commit')
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
    // Closed instead of released, because it has no statement timeout any more.
    client.release(true)
  }
}

/**
 * Until 0.1.0 is released, the one migration is made anew with each change of the schema.
 * @throws for a database that another one began
 */
function refuseOtherBeginnings([begun]: readonly MigrationMark[]): void {
  if (begun === undefined || begun.hash === knownMigrations()[0]!.hash) return
  throw new Error(
    'another version before 0.1.0 made its tables, and libraries of such versions start anew. ' +
      'Use an empty database; with npm start, set another DATA_DIR',
  )
}

/** A migration by the time of its making and the SHA-256 of its text, as the database records it. */
export interface MigrationMark {
  when: number
  hash: string
}

/** The migrations that this version has, in order. */
export function knownMigrations(): MigrationMark[] {
  return readMigrations().map(toMark)
}

/** The migrations that the database has, in order. Empty for a database that was never migrated. */
export async function loadMigrations(client: pg.ClientBase): Promise<MigrationMark[]> {
  const { rows: found } = await client.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as there`)
  if (!found[0]?.there) return []
  const { rows } = await client.query<{ when: string; hash: string }>(
    'select created_at as when, hash from drizzle.__drizzle_migrations order by id',
  )
  return rows.map(({ when, hash }) => ({ when: Number(when), hash }))
}

/** Applies this version's migrations from the one at `from` up to before `to`, in the caller's transaction. */
export async function applyMigrations(
  client: pg.ClientBase,
  { from, to }: { from: number; to?: number },
): Promise<void> {
  await client.query('create schema if not exists drizzle')
  await client.query(
    'create table if not exists drizzle.__drizzle_migrations ' +
      '(id serial primary key, hash text not null, created_at bigint)',
  )
  for (const migration of readMigrations().slice(from, to)) {
    const { when, hash } = toMark(migration)
    for (const statement of migration.sql) await client.query(statement)
    await client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [hash, when])
  }
}

function readMigrations(): MigrationMeta[] {
  return readMigrationFiles({ migrationsFolder: folder })
}

function toMark({ folderMillis, hash }: MigrationMeta): MigrationMark {
  return { when: folderMillis, hash }
}
