import type pg from 'pg'
import { MIGRATION_LOCK, RESTORE_LOCK } from '../db/locks.ts'
import { knownMigrations, loadMigrations } from '../db/migrate.ts'
import { BackupFailure } from './failure.ts'
import type { Manifest } from './manifest.ts'
import { quote } from './tables.ts'

/** @throws BackupFailure for a backup whose schema this version does not know */
export function requireKnownSchema({ migrations, version }: Manifest): void {
  const known = knownMigrations()
  for (const [n, { when, hash }] of migrations.entries())
    if (known[n]?.when !== when || known[n].hash !== hash)
      throw new BackupFailure(
        `The backup was made by version ${version}, whose database this version does not know. ` +
          'Install that version or a newer one, then restore.',
      )
}

/**
 * Makes sure that only this restore uses the database, and that it holds nothing to lose: nothing at all, or what the
 * first start makes. A service that starts meanwhile waits.
 * @throws BackupFailure
 */
export async function requireFreeDatabase(client: pg.ClientBase): Promise<void> {
  const { rows: services } = await client.query<{ names: string | null }>(
    `select string_agg(distinct application_name, ', ') as names from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and application_name ~ '^(frame-library|consumer |frames start)'`,
  )
  if (services[0]!.names)
    throw new BackupFailure(`A service uses this database (${services[0]!.names}). Stop it, then restore.`)
  for (const lock of [RESTORE_LOCK, MIGRATION_LOCK]) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [lock])
    if (!rows[0].taken)
      throw new BackupFailure('Another restore or migration of this database is running. Wait for its end.')
  }
  await requireEmpty(client)
}

async function requireEmpty(client: pg.ClientBase): Promise<void> {
  if ((await loadMigrations(client)).length === 0) {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
          and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e') limit 1`,
    )
    if (rows[0])
      throw new BackupFailure(
        `The database holds tables of another program (${rows[0].name}). Restore into an empty one.`,
      )
    return
  }
  const { rows } = await client.query<{ videos: string; accounts: string; boards: string; saves: string }>(
    `select (select count(*) from videos) as videos, (select count(*) from boards) as boards,
            (select count(*) from saves) as saves,
            (select count(*) from accounts where email <> 'operator@localhost') as accounts`,
  )
  const held = Object.entries(rows[0]!).filter(([, n]) => n !== '0')
  if (held.length === 0) return
  const counts = held.map(([what, n]) => `${n} ${what}`).join(', ')
  throw new BackupFailure(
    `The database is not empty (${counts}). Restore into an empty one: set DATA_DIR to a new folder, or DATABASE_URL ` +
      'to a new database.',
  )
}

/** Removes what migrations have made, so that those of the backup can run. Call it in the restoring transaction. */
export async function dropLibrary(client: pg.ClientBase): Promise<void> {
  await client.query('drop schema if exists library_search, library_search_next, library_search_old, drizzle cascade')
  const own = `not exists (select from pg_depend d where d.objid = o.oid and d.deptype = 'e')`
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class o where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'p') and pg_has_role(relowner, 'member') and ${own}`,
  )
  for (const { name } of tables) await client.query(`drop table if exists public.${quote(name)} cascade`)
  const { rows: functions } = await client.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc o where pronamespace = 'public'::regnamespace
        and pg_has_role(proowner, 'member') and ${own}`,
  )
  for (const { name } of functions) await client.query(`drop function if exists ${name} cascade`)
}
