import { mkdirSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { openDiskStore } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'

/** Where backups are: a folder, or a prefix in an S3 bucket. */
export interface Place {
  /** As the operator wrote it. */
  at: string
  store: MediaStore
  close(): void
}

/**
 * Opens `<folder>` or `s3://<bucket>/<prefix>`. A folder is created for its owner alone if `create` is set.
 * @throws BackupFailure
 */
export async function openPlace(
  at: string,
  { backupS3 }: Pick<Config, 'backupS3'>,
  { create = false }: { create?: boolean } = {},
): Promise<Place> {
  const bucket = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(at)
  if (bucket) {
    if (!backupS3)
      throw new BackupFailure(
        'A backup in a bucket needs BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY, or S3_ACCESS_KEY and S3_SECRET_KEY.',
      )
    const prefix = bucket[2] ? `${bucket[2]}/` : ''
    const { openS3Store } = await import('../media/s3-store.ts')
    const store = openS3Store({ ...backupS3, bucket: bucket[1]!, prefix })
    return { at, store, close: () => store.close() }
  }
  if (/^[a-z0-9]+:\/\//i.test(at))
    throw new BackupFailure(`${at} is neither a folder nor an address such as s3://bucket/prefix.`)
  const folder = resolve(at)
  if (create) makeFolder(folder)
  else if (!(await stat(folder).catch(() => undefined))?.isDirectory())
    throw new BackupFailure(`There is no folder ${at}. Check the name of the destination.`)
  return { at, store: openDiskStore(folder, { syncLater: true }), close: () => undefined }
}

const OWNER = 'library.json'

const Owner = z.object({ library: z.string() })

/**
 * Reserves a place for one library by the file `library.json`: two libraries in one place would remove each other's
 * files. The first library that backs up there takes it.
 * @throws BackupFailure when the place belongs to another library
 */
export async function takePlace(place: MediaStore, library: string): Promise<void> {
  const bytes = await place.get(OWNER)
  if (!bytes) {
    await place.put(OWNER, Buffer.from(`${JSON.stringify({ library })}\n`), 'application/json')
    return
  }
  if (ownerIn(bytes.toString()) !== library)
    throw new BackupFailure(
      'This destination holds backups of another library. Choose another folder or prefix: ' +
        'each library needs one of its own.',
    )
}

/** Undefined for a text that names no library. */
function ownerIn(text: string): string | undefined {
  try {
    return Owner.parse(JSON.parse(text)).library
  } catch {
    return undefined
  }
}

/**
 * Creates a folder and those above it, for its owner alone; no fault where it exists. Node's own `recursive` never ends
 * where the system answers ENOENT beside an existing parent, as /proc does.
 * @throws the error of mkdir(2)
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
