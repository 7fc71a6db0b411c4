import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { openDiskStore } from '../media/disk-store.ts'
import type { MediaStore } from '../media/media-store.ts'
import { BackupFailure } from './failure.ts'

/**
 * Opens the folder that holds the backups. It is created for its owner alone if `create` is set.
 * @throws BackupFailure
 */
export function openPlace(at: string, { create = false }: { create?: boolean } = {}): MediaStore {
  if (/^[a-z0-9]+:\/\//i.test(at)) throw new BackupFailure(`${at} is an address. Name a folder of this machine.`)
  const folder = resolve(at)
  if (create) makeFolder(folder)
  else if (!isFolder(folder)) throw new BackupFailure(`There is no folder ${at}. Check its name.`)
  return openDiskStore(folder, { syncLater: true })
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
      'This folder holds backups of another library. Choose another folder: each library needs one of its own.',
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
