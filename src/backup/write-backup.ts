import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { VERSION } from '../config.ts'
import { MEDIA_REMOVAL_LOCK, MIGRATION_LOCK } from '../db/client.ts'
import { loadMigrations } from '../db/migrate.ts'
import { forEachAtOnce } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import {
  COPIES_AT_ONCE,
  copyFile,
  copyOf,
  findIn,
  forEachFolder,
  type ListedFile,
  listFiles,
  measureFile,
  openKnownFiles,
  openListWriter,
} from './copy-files.ts'
import { BackupFailure } from './failure.ts'
import {
  folderOf,
  listBackups,
  type Manifest,
  manifestKey,
  nameFor,
  readManifest,
  type StoredFile,
  type StoredTable,
  writeManifest,
} from './manifest.ts'
import { takePlace } from './place.ts'
import { decompress, linesOf, type Progress, putCompressed } from './streams.ts'
import { copyTarget, loadSequences, loadTables, type Table, withClient } from './tables.ts'

export interface BackupOptions {
  databaseUrl: string
  media: MediaStore
  /** The bucket of `media`; null for a folder. */
  mediaBucket: string | null
  place: MediaStore
  /** Names the library, so that no other one backs up into this place. Without it nothing is checked. */
  library?: () => Promise<string>
  images: 'copy' | 'reference' | 'none'
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
 * written last; without it a backup is not whole, and the next one continues with its files.
 * @throws BackupFailure
 */
export async function writeBackup(options: BackupOptions) {
  const { place, images } = options
  if (images === 'reference' && options.mediaBucket === null)
    throw new BackupFailure('--images reference needs S3_BUCKET: images in DATA_DIR are copied. Leave it out.')
  const createdAt = new Date()
  const name = nameFor(createdAt)
  return withClient(options.databaseUrl, 'frames backup', async (client) => {
    if ((await loadMigrations(client)).length === 0)
      throw new BackupFailure('The database holds no library: it was never migrated. Check DATABASE_URL.')
    if (options.library) await takePlace(place, await options.library())
    await keepMedia(client)
    const snapshot = await copyTables(client, options, name)
    const files = await copyImages(options, name, snapshot.wanted)
    const operatorKey = await copyOperatorKey(options, name)
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
    await place.delete(wantedKey(name))
    await removeInterrupted(place, name)
    const removed = options.keep === undefined ? 0 : await pruneBackups(place, options.keep)
    return {
      backup: name,
      /** Older backups that were removed. */
      removed,
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
  const named = client.query(copyTo(`copy (${namedFiles(list)}) to stdout`))
  await putCompressed(place, wantedKey(name), named)
  const sequences = await loadSequences(client)
  const { rows: server } = await client.query<{ server_version: string }>('show server_version')
  await client.query('commit')
  await client.query('select pg_advisory_unlock_shared($1)', [MIGRATION_LOCK])
  onProgress?.({ step: 'tables', done: list.length, total: list.length })
  return { migrations, tables, sequences, postgres: server[0]!.server_version, wanted: named.rowCount }
}

const NAMING = { frames: ['image_key', 'thumb_key', 'build_key', 'loop_key'], videos: ['upload_key'] }

/** SQL: the keys of all files that the snapshot's rows name. An older schema lacks some of the columns. */
function namedFiles(tables: readonly Table[]): string {
  const named = Object.entries(NAMING).flatMap(([name, naming]) => {
    const columns = tables.find((table) => table.name === name)?.columns ?? []
    const known = naming.filter((column) => columns.includes(column))
    return known.map((column) => `select ${column} as key from ${name} where ${column} is not null`)
  })
  return `select key from (${named.join(' union ')}) files order by key collate "C"`
}

/** The list of files that the snapshot's rows name. It exists only while the backup runs. */
function wantedKey(name: string): string {
  return `${folderOf(name)}/wanted.zst`
}

async function* readWanted(place: MediaStore, name: string): AsyncGenerator<{ key: string }> {
  const body = await place.open(wantedKey(name))
  if (!body) throw new BackupFailure('The backup was removed while it was written. Run it again.')
  const { content, done } = decompress(body)
  for await (const key of linesOf(content)) yield { key }
  await done
}

async function copyImages(options: BackupOptions, name: string, total: number) {
  const { place, media, images, mediaBucket, onProgress } = options
  const lists = openListWriter(place, name)
  const isCopy = images === 'copy'
  const known = isCopy ? await openKnownFiles(place) : undefined
  let done = 0
  let copied = 0
  let bytes = 0
  const missing: string[] = []
  let missingCount = 0
  const wanted = images === 'none' ? (async function* () {})() : readWanted(place, name)
  const present = isCopy ? { store: place, toKey: copyOf } : { store: media, toKey: (key: string) => key }
  await forEachFolder<{ key: string }>(wanted, present, async (folder, sizes) => {
    const found = new Map<string, ListedFile>()
    const before = new Map<string, ListedFile>()
    for (const { key } of known ? folder : []) {
      const file = await known!.find(key)
      if (file) before.set(key, file)
    }
    await forEachAtOnce(COPIES_AT_ONCE, folder, async ({ key }) => {
      const size = sizes.get(isCopy ? copyOf(key) : key)
      const file = isCopy
        ? await backUpFile({ media, place, key, size, before: before.get(key) })
        : size !== undefined && { key, bytes: size, sha256: null, isNew: false }
      if (file) {
        found.set(key, { key, bytes: file.bytes, sha256: file.sha256 })
        if (file.isNew) copied++
      }
    })
    for (const { key } of folder) {
      const file = found.get(key)
      done++
      if (file) {
        bytes += file.bytes
        await lists.add(file)
      } else if (++missingCount <= MOST_NAMED) missing.push(key)
    }
    onProgress?.({ step: 'images', done, total })
  })
  const written = await lists.end()
  const manifest: Manifest['images'] = {
    mode: images === 'reference' ? 'reference' : 'copy',
    bucket: images === 'reference' ? mediaBucket : null,
    files: written.reduce((sum, { files }) => sum + files, 0),
    bytes,
    lists: written,
    missing: missingCount,
    missing_keys: missing,
  }
  return { manifest, copied }
}

/** A file that an earlier backup has copied is not read again: its key names its content. */
async function backUpFile(file: {
  media: MediaStore
  place: MediaStore
  key: string
  size: number | undefined
  before: ListedFile | undefined
}): Promise<(ListedFile & { isNew: boolean }) | undefined> {
  const { media, place, key, size, before } = file
  if (before && before.bytes === size) return { ...before, isNew: false }
  const to = { store: place, key: copyOf(key) }
  const copied = await copyFile({ store: media, key }, to, { present: size !== undefined })
  if (copied) return { key, bytes: copied.bytes, sha256: copied.sha256, isNew: copied.isNew }
  // Lost from the media store, but an earlier backup has it.
  const kept = size === undefined ? undefined : await measureFile(to)
  return kept && { key, ...kept, isNew: false }
}

async function copyOperatorKey({ place, operatorKeyFile }: BackupOptions, name: string): Promise<StoredFile | null> {
  if (!operatorKeyFile || !existsSync(operatorKeyFile)) return null
  const file = `${folderOf(name)}/operator-key`
  await place.put(file, await readFile(operatorKeyFile), 'text/plain')
  const { bytes, sha256 } = (await measureFile({ store: place, key: file }))!
  return { file, bytes, sha256 }
}

/** Removes what interrupted backups left. This backup has taken over their files. */
async function removeInterrupted(place: MediaStore, name: string): Promise<void> {
  for (const other of await listBackups(place))
    if (!other.whole && other.name < name) await place.deletePrefix(`${folderOf(other.name)}/`)
}

/**
 * Removes all but the newest `keep` whole backups of a place, then the files that none of these names. No other backup
 * may write there meanwhile. A list that cannot be read ends it before any file is removed.
 */
async function pruneBackups(place: MediaStore, keep: number): Promise<number> {
  const whole = (await listBackups(place)).filter((backup) => backup.whole)
  const old = whole.slice(0, -keep)
  if (old.length === 0) return 0
  const kept = await Promise.all(whole.slice(-keep).map(({ name }) => readManifest(place, name)))
  for (const manifest of kept) for await (const _file of listFiles(place, manifest));
  for (const { name } of old) {
    // The manifest goes first, so that a backup half removed does not look whole.
    await place.delete(manifestKey(name))
    await place.deletePrefix(`${folderOf(name)}/`)
  }
  const copied = kept.filter(({ images }) => images.mode === 'copy')
  await removeUnnamed(place, await findIn(copied.map((manifest) => listFiles(place, manifest))))
  return old.length
}

async function removeUnnamed(place: MediaStore, kept: Awaited<ReturnType<typeof findIn>>): Promise<void> {
  let last = ''
  for await (const { key } of place.list(copyOf(''))) {
    // The lists are read along with the listing, so both must be sorted.
    if (key <= last) throw new Error('the destination does not list its files in order')
    last = key
    if (!(await kept.find(key.slice(copyOf('').length)))) await place.delete(key)
  }
}
