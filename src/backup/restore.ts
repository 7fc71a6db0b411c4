import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { MIGRATION_LOCK, RESTORE_LOCK } from '../db/client.ts'
import { applyMigrations, knownMigrations, loadMigrations } from '../db/migrate.ts'
import type { Cursor } from '../events/catalogue.ts'
import { continueRestoredLog, returnCheckpoints } from '../events/positions.ts'
import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { COPIES_AT_ONCE, copyFile, copyOf, forEachFolder, type ListedFile, listFiles } from './copy-files.ts'
import { BackupFailure, damaged } from './failure.ts'
import { chooseBackup, type Manifest, readManifest, type StoredTable } from './manifest.ts'
import { decompress, type Progress } from './streams.ts'
import { copyTarget, quote, withClient } from './tables.ts'
import { requireFiles } from './verify.ts'

export interface RestoreOptions {
  databaseUrl: string
  media: MediaStore
  /** The bucket of `media`; null for a folder. */
  mediaBucket: string | null
  place: MediaStore
  /** The place as the operator wrote it. */
  at: string
  /** Absent: the newest whole backup. */
  backup?: string | undefined
  /** Where the operator's key goes. */
  operatorKeyFile?: string
  /** Consumers whose effect is not in the backup: they start at the beginning of the log until `rebuild` resolves. */
  rebuilt: readonly string[]
  /** Builds that effect. If it fails, the library is still whole: the consumers build it from the log. */
  rebuild(): Promise<void>
  onProgress?: (progress: Progress) => void
}

/**
 * Restores a backup into an empty database: files first, then all tables in one transaction. An interrupted restore
 * leaves the database as it was, and the next one continues with the files.
 * @throws BackupFailure
 */
export async function restoreBackup(options: RestoreOptions) {
  const { place } = options
  const { name, manifest } = await chooseRestorable(options)
  await requireFiles(place, manifest)
  return withClient(options.databaseUrl, 'frames restore', async (client) => {
    await requireFreeDatabase(client)
    const images =
      manifest.images.mode === 'copy' ? await restoreFiles(options, manifest) : await findFiles(options, manifest)
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
      images_copied: images.copied,
      images_missing: images.missing + manifest.images.missing,
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

/** Files that are made durable together. */
const SETTLE_FILES = 10_000

async function restoreFiles({ place, media, onProgress }: RestoreOptions, manifest: Manifest) {
  let done = 0
  let copied = 0
  let unsettled = 0
  const target = { store: media, toKey: (key: string) => key }
  await forEachFolder<ListedFile>(listFiles(place, manifest), target, async (folder, sizes) => {
    await forEachAtOnce(COPIES_AT_ONCE, folder, async ({ key, bytes, sha256 }) => {
      const expected = { present: sizes.get(key) === bytes, sha256: sha256 ?? undefined }
      const file = await copyFile({ store: place, key: copyOf(key) }, { store: media, key }, expected)
      if (!file) throw damaged(`${copyOf(key)} is missing`)
      if (file.sha256 !== sha256) throw damaged(`${copyOf(key)} has another checksum`)
      if (file.isNew) copied++
    })
    done += folder.length
    unsettled += folder.length
    if (unsettled >= SETTLE_FILES) {
      await media.settle?.()
      unsettled = 0
    }
    onProgress?.({ step: 'images', done, total: manifest.images.files })
  })
  await media.settle?.()
  return { copied, missing: 0 }
}

/** The images stayed in their bucket: checks that the service will find them. */
async function findFiles(options: RestoreOptions, manifest: Manifest) {
  const { place, media, mediaBucket, onProgress } = options
  const { bucket, files } = manifest.images
  let done = 0
  let missing = 0
  await forEachFolder(listFiles(place, manifest), { store: media, toKey: (key) => key }, async (folder, sizes) => {
    for (const { key, bytes } of folder) if (sizes.get(key) !== bytes) missing++
    done += folder.length
    onProgress?.({ step: 'images', done, total: files })
  })
  if (files > 0 && missing === files)
    throw new BackupFailure(
      `The images of this backup are in the bucket ${bucket}, and ${mediaBucket ?? 'DATA_DIR'} has none of them. ` +
        `Set S3_BUCKET=${bucket} and its keys, then restore.`,
    )
  return { copied: 0, missing }
}

async function restoreTables(
  client: pg.Client,
  options: RestoreOptions,
  manifest: Manifest,
): Promise<Map<string, Cursor>> {
  const { tables, migrations, sequences } = manifest
  await client.query('begin')
  await dropLibrary(client)
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
  const { content, measure, done } = decompress(body)
  const target = copyTarget({ name: stored.table, columns: stored.columns })
  const rows = client.query(copyFrom(`copy ${target} from stdin`))
  const results = await Promise.allSettled([pipeline(content, rows), done])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed && isUnreadable(failed.reason)) throw damaged(`${stored.file} cannot be read`)
  if (failed) throw failed.reason
  if (measure.bytes !== stored.bytes || measure.sha256() !== stored.sha256)
    throw damaged(`${stored.file} has another checksum`)
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
 * Makes sure that only this restore uses the database, and that it holds nothing to lose: nothing at all, or what the
 * first start makes. A service that starts meanwhile waits.
 * @throws BackupFailure
 */
async function requireFreeDatabase(client: pg.ClientBase): Promise<void> {
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
  const content = Object.entries(rows[0]!).filter(([, n]) => n !== '0')
  const held = content.length > 0 ? content : await findSettingUp(client)
  if (held.length === 0) return
  const counts = held.map(([what, n]) => `${n} ${what}`).join(', ')
  throw new BackupFailure(
    `The database is not empty (${counts}). Restore into an empty one: set DATA_DIR to a new folder, or DATABASE_URL ` +
      'to a new database.',
  )
}

/** What people set up before the first video: their tables, and which rows the first start does not make. */
const SET_UP = [
  ['webhooks', 'webhook_endpoints', 'true'],
  ['keys', 'api_keys', `name <> 'first start'`],
  ['connected apps', 'grants', 'true'],
  [
    'changed techniques',
    'events',
    `type = 'technique.changed' and time > (select min(time) from events where type = 'technique.changed')`,
  ],
] as const

async function findSettingUp(client: pg.ClientBase): Promise<[string, string][]> {
  const held: [string, string][] = []
  for (const [what, table, condition] of SET_UP) {
    // An older version may not have the table.
    const { rows: known } = await client.query('select 1 where to_regclass($1) is not null', [table])
    if (known.length === 0) continue
    const { rows } = await client.query<{ n: string }>(`select count(*) as n from ${table} where ${condition}`)
    if (rows[0]!.n !== '0') held.push([what, rows[0]!.n])
  }
  return held
}

/** Removes what migrations have made, so that those of the backup can run. Call it in the restoring transaction. */
async function dropLibrary(client: pg.ClientBase): Promise<void> {
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
