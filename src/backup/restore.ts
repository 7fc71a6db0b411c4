import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { applyMigrations } from '../db/migrate.ts'
import type { Cursor } from '../events/catalogue.ts'
import { continueRestoredLog, returnCheckpoints } from '../events/restored.ts'
import type { MediaStore } from '../media/media-store.ts'
import { COPIES_AT_ONCE, copyFile, forEachFolder } from './copy-files.ts'
import { BackupFailure } from './failure.ts'
import { copyOf, type ListedFile } from './file-lists.ts'
import { chooseBackup, type Manifest, readManifest, type StoredTable } from './manifest.ts'
import type { Progress } from './streams.ts'
import { decompress, forEachAtOnce } from './streams.ts'
import { copyTarget, quote } from './tables.ts'
import { dropLibrary, requireFreeDatabase, requireKnownSchema } from './target.ts'
import { damaged, listFiles, requireFiles } from './verify.ts'

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

export interface RestoreReport {
  backup: string
  created_at: string
  tables: number
  rows: number
  images: number
  images_copied: number
  images_missing: number
  /** Why the effect of the consumers is not built yet; null when it is. */
  rebuild_failed: string | null
}

/**
 * Restores a backup into an empty database: files first, then all tables in one transaction. An interrupted restore
 * leaves the database as it was, and the next one continues with the files.
 * @throws BackupFailure
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { place } = options
  const { name, manifest } = await chooseRestorable(options)
  await requireFiles(place, manifest)
  const client = new pg.Client({ connectionString: options.databaseUrl, application_name: 'frames restore' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
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
      rebuild_failed: failure?.message ?? null,
    }
  } finally {
    await client.end().catch(() => undefined)
  }
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

interface RestoredFiles {
  copied: number
  missing: number
}

async function restoreFiles({ place, media, onProgress }: RestoreOptions, manifest: Manifest): Promise<RestoredFiles> {
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
async function findFiles(options: RestoreOptions, manifest: Manifest): Promise<RestoredFiles> {
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
  // Migrations make rows of their own.
  if (tables.length > 0)
    await client.query(`truncate ${tables.map(({ table }) => `public.${quote(table)}`).join(', ')}`)
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
