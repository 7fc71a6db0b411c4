import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { MIGRATION_LOCK } from '../db/client.ts'
import { applyMigrations, knownMigrations } from '../db/migrate.ts'
import type { Cursor } from '../events/catalogue.ts'
import { continueRestoredLog, returnCheckpoints } from '../events/positions.ts'
import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure, damaged } from './failure.ts'
import { COPIES_AT_ONCE, copyFile, copyOf, listFiles } from './files.ts'
import { chooseBackup, type Manifest, readManifest, type StoredTable } from './manifest.ts'
import { Measure, type Progress } from './streams.ts'
import { copyTarget, quote, withClient } from './tables.ts'

export interface RestoreOptions {
  databaseUrl: string
  media: MediaStore
  place: MediaStore
  /** The place as the operator wrote it. */
  at: string
  /** Absent: the newest whole backup. */
  backup?: string | undefined
  operatorKeyFile?: string
  /** Consumers whose effect is not in the backup: they start at the beginning of the log until `rebuild` resolves. */
  rebuilt: readonly string[]
  /** Builds that effect. If it fails, the library is still whole: the consumers build it from the log. */
  rebuild(): Promise<void>
  onProgress?: (progress: Progress) => void
}

/**
 * Restores a backup into an empty database: files first, then all tables in one transaction. An interrupted restore
 * leaves the database as it was.
 * @throws BackupFailure
 */
export async function restoreBackup(options: RestoreOptions) {
  const { name, manifest } = await chooseRestorable(options)
  return withClient(options.databaseUrl, 'frames restore', async (client) => {
    await requireFreeDatabase(client)
    await restoreFiles(options, manifest)
    const cursors = await restoreTables(client, options, manifest)
    await client.query('analyze')
    const failure = await options.rebuild().then(
      () => null,
      (error: unknown) => error as Error,
    )
    if (failure === null) await returnCheckpoints(client, cursors)
    return {
      backup: name,
      created_at: manifest.created_at,
      tables: manifest.tables.length,
      rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
      images: manifest.images.files,
      images_missing: manifest.images.missing,
      /** Why the effect of the consumers is not built yet; null when it is. */
      rebuild_failed: failure?.message ?? null,
    }
  })
}

/**
 * The backup that would be restored. @throws BackupFailure when there is none, or this version does not know its schema
 */
export async function chooseRestorable({
  place,
  at,
  backup,
}: Pick<RestoreOptions, 'place' | 'at' | 'backup'>): Promise<{ name: string; manifest: Manifest }> {
  const name = await chooseBackup(place, at, backup)
  const manifest = await readManifest(place, name)
  requireKnownSchema(manifest)
  return { name, manifest }
}

async function restoreFiles({ place, media, onProgress }: RestoreOptions, manifest: Manifest): Promise<void> {
  let done = 0
  await forEachAtOnce(COPIES_AT_ONCE, listFiles(place, manifest), async ({ key, ...content }) => {
    const copied = await copyFile({ store: place, key: copyOf(key) }, { store: media, key }, content)
    if (!copied) throw damaged(`${copyOf(key)} is missing`)
    done++
    onProgress?.({ step: 'images', done, total: manifest.images.files })
  })
  await media.settle?.()
}

async function restoreTables(
  client: pg.Client,
  options: RestoreOptions,
  manifest: Manifest,
): Promise<Map<string, Cursor>> {
  const { tables, migrations, sequences } = manifest
  await client.query('begin')
  await applyMigrations(client, { from: 0, to: migrations.length })
  // Migrations make rows of their own. Tables that are in no backup are empty, and may refer to these.
  if (tables.length > 0)
    await client.query(`truncate ${tables.map(({ table }) => `public.${quote(table)}`).join(', ')} cascade`)
  for (const [n, table] of tables.entries()) {
    options.onProgress?.({ step: 'tables', done: n, total: tables.length })
    await fillTable(client, options.place, table)
  }
  for (const { sequence, last_value } of sequences)
    await client.query('select setval($1::regclass, $2::bigint)', [`public.${quote(sequence)}`, last_value])
  await applyMigrations(client, { from: migrations.length })
  const cursors = await continueRestoredLog(client, options)
  const publishKey = await restoreOperatorKey(options, manifest)
  await client.query('commit')
  publishKey()
  options.onProgress?.({ step: 'tables', done: tables.length, total: tables.length })
  return cursors
}

async function fillTable(client: pg.Client, place: MediaStore, stored: StoredTable): Promise<void> {
  const body = await place.open(stored.file)
  if (!body) throw damaged(`${stored.file} is missing`)
  const target = copyTarget({ name: stored.table, columns: stored.columns })
  const rows = client.query(copyFrom(`copy ${target} from stdin`))
  try {
    await pipeline(body, new Measure(stored), createZstdDecompress(), rows)
  } catch (error) {
    throw isUnreadable(error) ? damaged(`${stored.file} cannot be read`) : error
  }
  if (rows.rowCount !== stored.rows) throw damaged(`${stored.file} has ${rows.rowCount} rows instead of ${stored.rows}`)
}

/** Not a compressed stream any more, or rows that the table does not take. */
function isUnreadable(error: unknown): boolean {
  return /^(ZSTD_|Z_|ERR_ZSTD|22...$|23...$)/i.test(String((error as { code?: unknown }).code))
}

/** Writes the key beside its place. The returned function puts it there. */
async function restoreOperatorKey(
  { place, operatorKeyFile }: RestoreOptions,
  { operator_key }: Manifest,
): Promise<() => void> {
  if (!operator_key || !operatorKeyFile) return () => undefined
  const key = await place.get(operator_key.file)
  if (!key) throw damaged(`${operator_key.file} is missing`)
  mkdirSync(dirname(operatorKeyFile), { recursive: true, mode: 0o700 })
  const unfinished = `${operatorKeyFile}.new`
  writeFileSync(unfinished, key, { mode: 0o600 })
  return () => renameSync(unfinished, operatorKeyFile)
}

/** @throws BackupFailure for a backup whose schema this version does not know */
function requireKnownSchema({ migrations, version }: Manifest): void {
  const known = knownMigrations()
  for (const [n, { when, hash }] of migrations.entries())
    if (known[n]?.when !== when || known[n].hash !== hash)
      throw new BackupFailure(
        `The backup was made by version ${version}, whose database this version does not know. ` +
          'Install that version or a newer one, then restore.',
      )
}

/**
 * Makes sure that the database holds nothing to lose. A service that starts meanwhile waits for the migrations.
 * @throws BackupFailure
 */
async function requireFreeDatabase(client: pg.ClientBase): Promise<void> {
  const { rows: locks } = await client.query('select pg_try_advisory_lock($1) as taken', [MIGRATION_LOCK])
  if (!locks[0].taken)
    throw new BackupFailure('Another restore or migration of this database is running. Wait for its end.')
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by 1 limit 1`,
  )
  if (tables[0])
    throw new BackupFailure(
      `The database is not empty: it has the table ${tables[0].name}. Restore into an empty one: set DATA_DIR to a ` +
        'new folder, or DATABASE_URL to a new database.',
    )
}
