import { createReadStream, existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { VERSION } from '../config.ts'
import { MEDIA_REMOVAL_LOCK, MIGRATION_LOCK } from '../db/client.ts'
import { loadMigrations } from '../db/migrate.ts'
import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'
import { COPIES_AT_ONCE, copyFile, copyOf, type ListedFile, listFiles } from './files.ts'
import {
  folderOf,
  listBackups,
  type Manifest,
  manifestKey,
  nameFor,
  readManifest,
  type StoredTable,
  writeManifest,
} from './manifest.ts'
import { takePlace } from './place.ts'
import { linesOf, type Progress, putCompressed, putStream, type StoredFile } from './streams.ts'
import { copyTarget, loadSequences, loadTables, withClient } from './tables.ts'

export interface BackupOptions {
  databaseUrl: string
  media: MediaStore
  place: MediaStore
  /** Names the library, so that no other one backs up into this place. */
  library: () => Promise<string>
  /** A file to back up too, if it exists. */
  operatorKeyFile?: string
  /** Keeps this many of the newest backups and removes the older ones. Absent: keeps all. */
  keep?: number | undefined
  onProgress?: (progress: Progress) => void
}

export type BackupReport = Awaited<ReturnType<typeof writeBackup>>

/** Missing images that are named in the manifest and in the report. */
const MOST_NAMED = 100

/**
 * Backs up a library while it runs: every table in one snapshot, then the files that its rows name. The manifest is
 * written last; without it a backup is not whole, and the next whole one removes it.
 * @throws BackupFailure
 */
export async function writeBackup(options: BackupOptions) {
  const { place } = options
  const createdAt = new Date()
  const name = nameFor(createdAt)
  return withClient(options.databaseUrl, 'frames backup', async (client) => {
    if ((await loadMigrations(client)).length === 0)
      throw new BackupFailure('The database holds no library: it was never migrated. Check DATABASE_URL.')
    await takePlace(place, await options.library())
    await keepMedia(client)
    const snapshot = await copyTables(client, options, name)
    const files = await copyImages(options, name, snapshot.keys)
    const operatorKey = await copyOperatorKey(options, name)
    await requireKept(client)
    const { tables, sequences, migrations, postgres } = snapshot
    await writeManifest(place, name, {
      format: 1,
      version: VERSION,
      created_at: createdAt.toISOString(),
      postgres,
      migrations,
      tables,
      sequences,
      images: files.manifest,
      operator_key: operatorKey,
    })
    return {
      backup: name,
      /** Older whole backups that were removed. */
      removed: await pruneBackups(place, options.keep),
      tables: tables.length,
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      /** Size of the compressed tables. */
      bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
      images: files.manifest.files,
      image_bytes: files.manifest.bytes,
      images_copied: files.copied,
      images_missing: files.manifest.missing,
      missing_keys: files.manifest.missing_keys,
    }
  })
}

/** Until this connection ends nothing is removed from the media store, so every file of the snapshot can be copied. */
async function keepMedia(client: pg.Client): Promise<void> {
  const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [MEDIA_REMOVAL_LOCK])
  if (!rows[0].taken)
    throw new BackupFailure(
      'Another backup of this library is running, or files are being removed. Try again in a minute.',
    )
}

/** What a lost connection let go may be removed by now, and another backup may have begun. */
async function requireKept(client: pg.Client): Promise<void> {
  await client.query('select').catch((error: unknown) => {
    const told = 'The connection to the database ended while files were copied: some may be gone. Back up again.'
    throw new BackupFailure(told, { cause: error })
  })
}

async function copyTables(client: pg.Client, { place, onProgress }: BackupOptions, name: string) {
  // Before the snapshot: no migration changes a table between the snapshot and its copy.
  await client.query('select pg_advisory_lock_shared($1)', [MIGRATION_LOCK])
  await client.query('begin isolation level repeatable read read only')
  const migrations = await loadMigrations(client)
  const list = await loadTables(client)
  const tables: StoredTable[] = []
  for (const table of list) {
    onProgress?.({ step: 'tables', done: tables.length, total: list.length })
    const rows = client.query(copyTo(`copy ${copyTarget(table)} to stdout`))
    const stored = await putCompressed(
      place,
      `${folderOf(name)}/tables/${table.name.replaceAll('_', '-')}.copy.zst`,
      rows,
    )
    tables.push({ table: table.name, columns: table.columns, ...stored, rows: rows.rowCount })
  }
  const keys: string[] = []
  for await (const key of linesOf(client.query(copyTo(`copy (${NAMED_FILES}) to stdout`)))) keys.push(key)
  const sequences = await loadSequences(client)
  const { rows: server } = await client.query<{ server_version: string }>('show server_version')
  await client.query('commit')
  await client.query('select pg_advisory_unlock_shared($1)', [MIGRATION_LOCK])
  onProgress?.({ step: 'tables', done: list.length, total: list.length })
  return { migrations, tables, sequences, postgres: server[0]!.server_version, keys }
}

/** SQL: the keys of all files that rows name. */
const NAMED_FILES = `
  select key from frames, unnest(array[image_key, thumb_key, loop_key]) key where key is not null
   union select upload_key from videos where upload_key is not null`

/** Files that are listed together. */
const CHUNK = 1_000

async function copyImages({ place, media, onProgress }: BackupOptions, name: string, keys: readonly string[]) {
  const known = await knownFiles(place)
  const missing: string[] = []
  let [files, bytes, copied, done] = [0, 0, 0, 0]
  async function* lines(): AsyncGenerator<Buffer> {
    for (let at = 0; at < keys.length; at += CHUNK) {
      const listed: string[] = []
      await forEachAtOnce(COPIES_AT_ONCE, keys.slice(at, at + CHUNK), async (key) => {
        const before = await findCopy(place, known.get(key))
        const content = before ?? (await copyFile({ store: media, key }, { store: place, key: copyOf(key) }))
        done++
        onProgress?.({ step: 'images', done, total: keys.length })
        if (!content) return void missing.push(key)
        files++
        bytes += content.bytes
        if (!before) copied++
        listed.push(`${JSON.stringify({ key, bytes: content.bytes, sha256: content.sha256 } satisfies ListedFile)}\n`)
      })
      yield Buffer.from(listed.join(''))
    }
  }
  const list = await putCompressed(place, `${folderOf(name)}/files.ndjson.zst`, Readable.from(lines()))
  const manifest: Manifest['images'] = {
    files,
    bytes,
    list,
    missing: missing.length,
    missing_keys: missing.slice(0, MOST_NAMED),
  }
  return { manifest, copied }
}

/**
 * The files of the newest whole backup by their keys. None of a list that cannot be read: then each file is copied
 * again.
 */
async function knownFiles(place: MediaStore): Promise<Map<string, ListedFile>> {
  const known = new Map<string, ListedFile>()
  const newest = (await listBackups(place)).findLast(({ whole }) => whole)
  try {
    if (newest)
      for await (const file of listFiles(place, await readManifest(place, newest.name))) known.set(file.key, file)
    return known
  } catch (error) {
    if (error instanceof BackupFailure) return new Map()
    throw error
  }
}

/** A file that the newest backup has copied is not read again: its key names its content. */
async function findCopy(place: MediaStore, known: ListedFile | undefined): Promise<ListedFile | undefined> {
  const found = known && (await place.stat(copyOf(known.key)))
  return found && found.bytes === known.bytes ? known : undefined
}

async function copyOperatorKey({ place, operatorKeyFile }: BackupOptions, name: string): Promise<StoredFile | null> {
  if (!operatorKeyFile || !existsSync(operatorKeyFile)) return null
  const file = `${folderOf(name)}/operator-key`
  return { file, ...(await putStream(place, file, [createReadStream(operatorKeyFile)], { type: 'text/plain' })) }
}

/**
 * Removes interrupted backups and all but the newest `keep` whole ones, then the files that no kept one names. No other
 * backup may write there meanwhile. A list that cannot be read ends it before anything is removed.
 */
async function pruneBackups(place: MediaStore, keep: number | undefined): Promise<number> {
  const all = await listBackups(place)
  const whole = all.filter((backup) => backup.whole)
  const kept = whole.slice(-(keep ?? whole.length)).map(({ name }) => name)
  const old = all.filter(({ name }) => !kept.includes(name))
  if (old.length === 0) return 0
  const named = new Set<string>()
  for (const name of kept)
    for await (const { key } of listFiles(place, await readManifest(place, name))) named.add(copyOf(key))
  for (const { name } of old) {
    // The manifest goes first, so that a backup half removed does not look whole.
    await place.delete(manifestKey(name))
    await place.deletePrefix(`${folderOf(name)}/`)
  }
  for await (const { key } of place.list(copyOf(''))) if (!named.has(key)) await place.delete(key)
  return whole.length - kept.length
}
